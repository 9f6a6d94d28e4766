package kept_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"

	"ypcrawl/crawl/kept"
	"ypcrawl/store/storetest"
)

// formerPages is the table as it was before the columns of what was asked.
const formerPages = `
CREATE TABLE pages (
	id INTEGER PRIMARY KEY, key TEXT NOT NULL, page INTEGER NOT NULL, kind TEXT NOT NULL, final_url TEXT NOT NULL, status INTEGER NOT NULL,
	content_type TEXT NOT NULL, fetched_at TEXT NOT NULL, target TEXT NOT NULL, base_url TEXT NOT NULL, filter TEXT NOT NULL,
	unknown TEXT NOT NULL, body BLOB NOT NULL
) STRICT`

// TestAsked: what was asked is kept with a page, in a file that an earlier version has made, too.
func TestAsked(t *testing.T) {
	t.Parallel()
	for name, former := range map[string]bool{"a new file": false, "an earlier one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := kept.Config{Path: filepath.Join(t.TempDir(), "a.db.pages"), Days: 30, MaxBytes: 1 << 30}
			if former {
				w := open(t, cfg)
				w.Keep(page("z", 1, now), []byte("z1"))
				asFormer(t, cfg.Path, w)
				storetest.Equal(t, read(t, cfg.Path, "")[0], "z1", "before anything was written")
			}
			w, p := open(t, cfg), page("z", 2, now)
			p.Method, p.Asked, p.Header = "POST", []byte(`{"token":"${TOKEN}"}`), http.Header{"X-Wp-Total": {"7"}}
			id := w.Keep(p, []byte("z2"))
			r, err := kept.OpenReader(cfg.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			got, _, err := r.Read(t.Context(), id)
			if err != nil || got.Method != "POST" || string(got.Asked) != string(p.Asked) || !reflect.DeepEqual(got.Header, p.Header) {
				t.Errorf("%+v, %v", got, err)
			}
			if former {
				if got, _, err := r.Read(t.Context(), 1); err != nil || got.Method != "GET" || got.Asked != nil {
					t.Errorf("of the earlier version: %+v, %v", got, err)
				}
			}
		})
	}
}

// asFormer makes of a file one of an earlier version, with the pages it has.
func asFormer(t *testing.T, path string, w *kept.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"ALTER TABLE pages RENAME TO newer", formerPages,
		`INSERT INTO pages SELECT id, key, page, kind, final_url, status, content_type, fetched_at, target, base_url, filter, unknown, body
			FROM newer`, "DROP TABLE newer",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
