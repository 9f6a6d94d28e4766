package kept_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ypcrawl/crawl/kept"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

var now = time.Now().UTC().Truncate(time.Millisecond)

func page(city string, number int, at time.Time) kept.Page {
	return kept.Page{
		Target: wal.Target{Kind: yp.KindSearch, Source: "demo", Place: yp.Place{CitySlug: city, State: "CA", CategorySlug: "plumbers"}},
		Number: number, URL: "http://x/" + city, FetchedAt: at, Status: 200, BaseURL: "http://x", Filter: "{}",
	}
}

func open(t *testing.T, cfg kept.Config) *kept.Writer {
	t.Helper()
	w, err := kept.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// read returns the bodies of the newest pages.
func read(t *testing.T, path string, source string) (bodies []string) {
	t.Helper()
	r, err := kept.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ids, err := r.Newest(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		p, body, err := r.Read(t.Context(), id)
		if err != nil || p.Source != "demo" || p.Status != 200 || p.BaseURL != "http://x" || p.Kind != yp.KindSearch {
			t.Fatalf("%+v, %v", p, err)
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}

// TestNewest: of each page the newest, in the order of the targets' time and the pages' numbers, of two writers.
func TestNewest(t *testing.T) {
	t.Parallel()
	cfg := kept.Config{Path: filepath.Join(t.TempDir(), "a.db.pages"), Days: 30, MaxBytes: 1 << 30}
	if _, err := kept.OpenReader(cfg.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	a, b := open(t, cfg), open(t, cfg)
	a.Keep(page("z", 2, now.Add(-3*time.Hour)), []byte("z2"))
	b.Keep(page("z", 1, now.Add(-4*time.Hour)), []byte("z1 old"))
	a.Keep(page("a", 1, now.Add(-2*time.Hour)), []byte("a1"))
	b.Keep(page("z", 1, now.Add(-time.Hour)), []byte("z1"))
	if got := read(t, cfg.Path, ""); !slices.Equal(got, []string{"z1", "z2", "a1"}) {
		t.Errorf("%q", got)
	}
	if got := read(t, cfg.Path, "other"); len(got) > 0 {
		t.Errorf("of another source: %q", got)
	}
	if info, err := os.Stat(cfg.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestUnknown: pages of unknown layout are kept where no others are, the newest 10 of each source, and neither age nor
// size removes them.
func TestUnknown(t *testing.T) {
	t.Parallel()
	cfg := kept.Config{Path: filepath.Join(t.TempDir(), "a.db.pages"), MaxBytes: 1}
	w := open(t, cfg)
	if id := w.Keep(page("a", 1, now), []byte("known")); id != 0 {
		t.Errorf("a page of known layout has the id %d", id)
	}
	if _, err := os.Stat(cfg.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file is there before the first page")
	}
	last := int64(0)
	for i := range 2 * kept.MaxUnknown {
		p := page("a", i+1, now.AddDate(-1, 0, 0))
		p.Unknown = "no list"
		if i == 0 {
			p.Source = "other"
		}
		last = w.Keep(p, []byte{byte(i)})
	}
	cfg.Days = 1
	w = open(t, cfg)
	for i := range 2 * kept.MaxUnknown { // of known layout, too large together
		w.Keep(page("b", i+1, now), make([]byte, 1000))
	}
	r, err := kept.OpenReader(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for id := int64(1); id <= last; id++ {
		p, body, err := r.Read(t.Context(), id)
		if there := id == 1 || id > last-kept.MaxUnknown; there && (err != nil || p.Unknown != "no list" || body[0] != byte(id-1)) || !there && !errors.Is(err, kept.ErrRemoved) {
			t.Errorf("page %d: %+v, %v", id, p, err)
		}
	}
}

// TestBounds: the oldest go first, by age and by size; a disk that is nearly full ends it.
func TestBounds(t *testing.T) {
	t.Parallel()
	cfg := kept.Config{Path: filepath.Join(t.TempDir(), "a.db.pages"), Days: 1, MaxBytes: 1 << 20}
	w := open(t, cfg)
	w.Keep(page("old", 1, now.AddDate(0, 0, -2)), []byte("old"))
	random, noise := rand.NewChaCha8([32]byte{}), make([]byte, 20_000)
	for i := range 300 {
		_, _ = random.Read(noise)
		w.Keep(page("a", i+1, now), bytes.Clone(noise))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	free := int64(1)
	cfg.Free = func(string) (int64, error) { return free, nil }
	if _, err := kept.Open(cfg); err == nil {
		t.Error("a full disk is no error")
	}
	cfg.Free = nil
	_ = open(t, cfg).Close()
	got := read(t, cfg.Path, "")
	if len(got) > 55 || len(got) < 10 || got[len(got)-1] != string(noise) {
		t.Errorf("%d pages of 20 kB are left", len(got))
	}
	if info, err := os.Stat(cfg.Path); err != nil || info.Size() > 4<<20 {
		t.Errorf("%d bytes", info.Size())
	}
}
