package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// readChild keeps a read transaction of a database open until its input ends.
func readChild(args []string) error {
	db, err := sql.Open("sqlite", "file:"+args[0]+"?mode=ro")
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	if err := tx.QueryRowContext(context.Background(), "SELECT count(*) FROM listings").Scan(new(int)); err != nil {
		return err
	}
	fmt.Println("reading")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return tx.Rollback()
}

// much is more than a journal has before it is folded in.
const much = "INSERT INTO blobs VALUES (zeroblob(85000000))"

func journal(t *testing.T, db *store.DB) store.Journal {
	t.Helper()
	j, err := db.Journal(t.Context())
	noErr(t, err)
	return j
}

// A journal that grows because a reader keeps an old state is told from one that is only large, and the reader is named.
func TestJournal(t *testing.T) {
	t.Parallel()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Synchronous: "OFF"})
	if j := journal(t, db); j.Held || j.Name != "a.db-wal" || j.Database == 0 {
		t.Errorf("a new one: %+v", j)
	}
	storetest.Execute(t, db, "CREATE TABLE blobs (b)", much)
	if j := journal(t, db); j.Held || j.Bytes < 85_000_000 || j.Pages < 20_000 || j.Folded != j.Pages {
		t.Errorf("a large commit that was folded in: %+v", j)
	}
	p := start(t, "read", db.Path())
	p.Await(t, "reading")
	storetest.Execute(t, db, "DELETE FROM blobs", much)
	j := journal(t, db)
	if !j.Held || j.Pages < 20_000 || j.Folded >= j.Pages {
		t.Errorf("beside a reader: %+v", j)
	}
	if text := j.HeldText(); !strings.Contains(text, "a.db-wal has grown to ") || !strings.Contains(text, " MB beside a database of ") {
		t.Error(text)
	}
	if reader := fmt.Sprintf("(process %d)", p.Process.Pid); runtime.GOOS == "linux" && !strings.HasSuffix(j.HeldText(), reader+" is reading an old state of it") {
		t.Errorf("%s: want %s", j.HeldText(), reader)
	}
	noErr(t, p.In.Close())
	noErr(t, p.Wait())
	storetest.Execute(t, db, "DELETE FROM blobs")
	if j := journal(t, db); j.Held {
		t.Errorf("after the reader: %+v", j)
	}
}

func TestJournalText(t *testing.T) {
	many := make([]store.Process, 7)
	for i := range many {
		many[i] = store.Process{PID: i + 1, Name: "a\x1b"}
	}
	const head = "the journal a.db-wal has grown to 171.5 MB beside a database of 0.4 MB, and can't be merged into it: "
	for _, tt := range []struct {
		readers, openers []store.Process
		want             string
	}{
		{nil, nil, "another program is reading an old state of it (Datasette, DB Browser, a query in a shell)"},
		{[]store.Process{{PID: 7}}, nil, "process 7 is reading an old state of it"},
		{[]store.Process{{7, "python3"}, {8, "sqlite3"}}, nil, "python3 (process 7), sqlite3 (process 8) are reading old states of it"},
		{nil, []store.Process{{7, "datasette"}}, "another program is reading an old state of it; these have the file open: datasette (process 7)"},
		{many, nil, `a\x1b (process 1), a\x1b (process 2), a\x1b (process 3), a\x1b (process 4), a\x1b (process 5), 2 more are reading old states of it`},
	} {
		j := store.Journal{Name: "a.db-wal", Bytes: 171_500_000, Database: 420_000, Held: true, Readers: tt.readers, Openers: tt.openers}
		storetest.Equal(t, j.HeldText(), head+tt.want, "text")
	}
}

// TestJournalSize: the journal is half as long as the database at most. A reader lets it grow to twice of that; then each
// transaction waits for the reader a little. When the reader has gone, what is too long is cut off.
func TestJournalSize(t *testing.T) {
	t.Parallel()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db")})
	storetest.Execute(t, db, "CREATE TABLE blobs (id INTEGER PRIMARY KEY, b)")
	size := func() int64 {
		info, err := os.Stat(db.Path() + "-wal")
		noErr(t, err)
		return info.Size()
	}
	most := int64(0)
	run := func(statement string) time.Duration {
		began := time.Now()
		noErr(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.Run(statement) }))
		most = max(most, size())
		return time.Since(began)
	}
	const mega, rewrite = 1 << 20, "UPDATE blobs SET b = randomblob(100000) WHERE id = (SELECT max(id) FROM blobs)"
	for range 200 {
		run("INSERT INTO blobs (b) VALUES (randomblob(100000))")
	}
	if most > 12*mega {
		t.Errorf("%d MiB beside 20 MB", most/mega)
	}
	p := start(t, "read", db.Path())
	p.Await(t, "reading")
	for waits := 0; waits < 3; {
		if run(rewrite) > 300*time.Millisecond && size() > 18*mega {
			waits++
		}
		if most > 26*mega {
			t.Fatalf("%d MiB beside a reader, and %d waits", most/mega, waits)
		}
	}
	noErr(t, p.In.Close())
	noErr(t, p.Wait())
	for range 10 {
		run(rewrite)
	}
	if now := size(); now > 12*mega {
		t.Errorf("%d MiB when the reader has gone", now/mega)
	}
}
