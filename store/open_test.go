package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// open opens cfg and closes it again; it returns what Open and QuickCheck said.
func open(t *testing.T, cfg store.Config) error {
	t.Helper()
	cfg.Schema = storetest.Schema(t)
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		return err
	}
	return errors.Join(db.QuickCheck(t.Context()), db.Close())
}

// filled makes a database with some pages of data and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
	noErr(t, err)
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 2000 {
			if _, err := tx.Exec(putMeta, fmt.Sprint("k", i), strings.Repeat("v", 100)); err != nil {
				return err
			}
		}
		return nil
	})
	noErr(t, errors.Join(err, db.Close()))
	return path
}

// foreign makes a SQLite file that is not ours.
func foreign(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	noErr(t, err)
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	noErr(t, db.Close())
}

func TestOpenFile(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema(t)
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		cfg  store.Config
		want error // nil = opens
	}{
		{name: "a new file"},
		{name: "a new file in new folders", cfg: store.Config{Path: "x/y/z.db"}},
		{name: "missing where it must exist", cfg: store.Config{MustExist: true}, want: store.ErrNotFound},
		{name: "missing for a reader", cfg: store.Config{ReadOnly: true}, want: store.ErrNotFound},
		{name: "a zero-byte file becomes a database", make: func(t *testing.T, p string) { write(t, p, nil) }},
		{
			name: "a zero-byte file for a reader", cfg: store.Config{ReadOnly: true}, want: store.ErrNotFound,
			make: func(t *testing.T, p string) { write(t, p, nil) },
		},
		{
			name: "a file without tables for a reader", cfg: store.Config{ReadOnly: true}, want: store.ErrNotFound,
			make: func(t *testing.T, p string) { foreign(t, p, "PRAGMA journal_mode = WAL") },
		},
		{name: "garbage", want: store.ErrCorrupt, make: func(t *testing.T, p string) { write(t, p, bytes.Repeat([]byte("garbage "), 2000)) }},
		{name: "a short text", want: store.ErrCorrupt, make: func(t *testing.T, p string) { write(t, p, []byte("id,name\n1,x\n")) }},
		{
			name: "another program's file", want: &store.VersionError{},
			make: func(t *testing.T, p string) { foreign(t, p, "CREATE TABLE notes (x)", "INSERT INTO notes VALUES (1)") },
		},
		{
			name: "another program's file of the same version", want: &store.VersionError{},
			make: func(t *testing.T, p string) {
				foreign(t, p, "CREATE TABLE notes (x)", fmt.Sprintf("PRAGMA user_version = %d", store.SchemaVersion))
			},
		},
		{
			name: "another program's file for a reader", want: &store.VersionError{}, cfg: store.Config{ReadOnly: true},
			make: func(t *testing.T, p string) {
				foreign(t, p, "CREATE TABLE notes (x)", fmt.Sprintf("PRAGMA user_version = %d", store.SchemaVersion))
			},
		},
		{
			name: "a development version's file", want: &store.VersionError{},
			make: func(t *testing.T, p string) {
				write(t, p, read(t, filled(t)))
				foreign(t, p, "PRAGMA application_id = 0x79706372", "PRAGMA user_version = 8")
			},
		},
		{
			name: "a newer version", want: &store.VersionError{},
			make: func(t *testing.T, p string) { foreign(t, p, schema, "PRAGMA user_version = 99") },
		},
		{
			name: "a newer version for a reader", want: &store.VersionError{}, cfg: store.Config{ReadOnly: true},
			make: func(t *testing.T, p string) { foreign(t, p, schema, "PRAGMA user_version = 99") },
		},
		{
			name: "a negative version", want: &store.VersionError{},
			make: func(t *testing.T, p string) { foreign(t, p, schema, "PRAGMA user_version = -1") },
		},
		{name: "cut in half", want: store.ErrCorrupt, make: func(t *testing.T, p string) {
			whole := read(t, filled(t))
			write(t, p, whole[:len(whole)/2])
		}},
		{name: "cut in its last page", want: store.ErrCorrupt, make: func(t *testing.T, p string) {
			whole := read(t, filled(t))
			write(t, p, whole[:len(whole)-1])
		}},
		{name: "cut in its last page, for a reader", want: store.ErrCorrupt, cfg: store.Config{ReadOnly: true}, make: func(t *testing.T, p string) {
			whole := read(t, filled(t))
			write(t, p, whole[:len(whole)-2000])
		}},
		{name: "empty beside its journal", want: store.ErrCorrupt, make: func(t *testing.T, p string) {
			write(t, p, nil)
			write(t, p+"-wal", bytes.Repeat([]byte("frame "), 2000))
		}},
		{name: "one byte beside its journal, for a reader", want: store.ErrCorrupt, cfg: store.Config{ReadOnly: true}, make: func(t *testing.T, p string) {
			write(t, p, []byte("S"))
			write(t, p+"-wal", bytes.Repeat([]byte("frame "), 2000))
		}},
		{name: "empty beside an empty journal", make: func(t *testing.T, p string) {
			write(t, p, nil)
			write(t, p+"-wal", nil)
		}},
		{name: "cut in its first page", want: store.ErrCorrupt, make: func(t *testing.T, p string) { write(t, p, read(t, filled(t))[:700]) }},
		{name: "a damaged page", want: store.ErrCorrupt, make: func(t *testing.T, p string) {
			whole := read(t, filled(t))
			copy(whole[len(whole)-2*4096:], bytes.Repeat([]byte{0xa5}, 4096))
			write(t, p, whole)
		}},
		{name: "an undamaged copy", make: func(t *testing.T, p string) { write(t, p, read(t, filled(t))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.cfg.Path == "" {
				c.cfg.Path = "a.db"
			}
			c.cfg.Path = filepath.Join(dir, c.cfg.Path)
			var before []byte
			if c.make != nil {
				c.make(t, c.cfg.Path)
				before = read(t, c.cfg.Path)
			}
			err := open(t, c.cfg)
			var version *store.VersionError
			switch {
			case c.want == nil && err != nil:
				t.Fatal(err)
			case errors.As(c.want, &version) && !errors.As(err, &version):
				t.Fatalf("got %v, want a VersionError", err)
			case version == nil && !errors.Is(err, c.want):
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), filepath.Base(c.cfg.Path)) && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("the error does not name the file: %v", err)
			}
			if before != nil && !bytes.Equal(before, read(t, c.cfg.Path)) {
				t.Error("the file that was refused was changed")
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := open(t, store.Config{Path: dir}); err == nil || !strings.Contains(err.Error(), "is a folder") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("below a file", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, nil)
		if err := open(t, store.Config{Path: filepath.Join(file, "a.db")}); err == nil {
			t.Error("opened")
		}
	})
	t.Run("no schema", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		if _, err := store.Open(t.Context(), store.Config{Path: path}); err == nil {
			t.Fatal("opened")
		}
		if err := open(t, store.Config{Path: path}); err != nil {
			t.Errorf("the file that was left is no use: %v", err)
		}
	})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	noErr(t, os.WriteFile(path, data, 0o644))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	noErr(t, err)
	return data
}

func TestOpenPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"with space.db", "a?b.db", "a#b.db", "100%.db", "%20.db", "a&b=c.db", "a+b.db", "naïve ✓.db", "a;b.db", "'quoted\".db", "file:x.db", "a?mode=memory.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			path := filepath.Join(dir, name)
			noErr(t, open(t, store.Config{Path: path}))
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != name {
				t.Errorf("the folder holds %v (%v), want the file alone", entries, err)
			}
			if err := open(t, store.Config{Path: path, ReadOnly: true}); err != nil {
				t.Errorf("read-only: %v", err)
			}
		})
	}
	t.Run("relative", func(t *testing.T) {
		wd, err := os.Getwd()
		noErr(t, err)
		path, err := filepath.Rel(wd, filepath.Join(t.TempDir(), "a.db"))
		noErr(t, err)
		db := storetest.OpenConfig(t, store.Config{Path: path})
		if db.Path() != path || !exists(path) {
			t.Errorf("path is %s, and there: %v", db.Path(), exists(path))
		}
	})
}

// createChild opens a database that may be new, and says so.
func createChild(args []string) error {
	schema, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	db, err := store.Open(context.Background(), store.Config{Path: args[0], Schema: string(schema)})
	if err != nil {
		return err
	}
	if err := db.Write(context.Background(), put(args[2])); err != nil {
		return err
	}
	fmt.Println("made")
	return db.Close()
}

func TestOpenRace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, schema := filepath.Join(dir, "a.db"), filepath.Join(dir, "schema.sql")
	write(t, schema, []byte(storetest.Schema(t)))
	gate, opener, err := os.Pipe()
	noErr(t, err)
	racers := make([]*process, 8)
	for i := range racers {
		racers[i] = storetest.Command(t, "create", path, schema, fmt.Sprint("k", i))
		racers[i].Stdin = gate
		racers[i].Begin(t)
		racers[i].Await(t, "ready")
	}
	if err := errors.Join(gate.Close(), opener.Close()); err != nil { // the start shot: all see the end of their input
		t.Fatal(err)
	}
	for _, p := range racers {
		p.Await(t, "made")
		noErr(t, p.Wait())
	}
	db := storetest.OpenConfig(t, store.Config{Path: path})
	if n := metaKeys(t, db, "k"); n != len(racers) {
		t.Errorf("%d rows, want one of each process", n)
	}
	noErr(t, db.IntegrityCheck(t.Context()))
}

// modesChild tells how a database that it may not write opens.
func modesChild(args []string) error {
	for _, readOnly := range []bool{false, true} {
		db, err := store.Open(context.Background(), store.Config{Path: args[0], ReadOnly: readOnly})
		switch {
		case errors.Is(err, store.ErrReadOnly):
			fmt.Println("refused")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("opened", db.QuickCheck(context.Background()), db.Close())
		}
	}
	return nil
}

// TestOpenUnwritable asks as a user without rights: root may write everything.
func TestOpenUnwritable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ypcrawl-modes-")
	noErr(t, err)
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700); _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "a.db")
	write(t, path, read(t, filled(t)))
	self, err := os.Executable()
	noErr(t, err)
	program := filepath.Join(dir, "program")
	syscall.ForkLock.RLock() // a process that another test starts meanwhile would have it open for writing
	write(t, program, read(t, self))
	syscall.ForkLock.RUnlock()
	noErr(t, errors.Join(os.Chmod(program, 0o755), os.Chmod(path, 0o444), os.Chmod(dir, 0o555)))
	p := storetest.Command(t, "modes", path)
	p.Path = program
	p.SysProcAttr = asNobody()
	p.Begin(t)
	p.Await(t, "refused")
	p.Await(t, "opened <nil> <nil>")
	noErr(t, p.Wait())
	p = storetest.Command(t, "modes", filepath.Join(dir, "new.db"))
	p.Path = program
	p.SysProcAttr = asNobody()
	noErr(t, os.Chmod(dir, 0o555))
	p.Begin(t)
	p.Await(t, "refused")
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	want := map[string]string{"busy_timeout": "10000", "query_only": "1", "cache_size": "-1000", "journal_mode": "wal"}
	var conns []*sql.Conn
	for range 4 { // every connection of the pool, held at once
		c, err := db.Read().Conn(t.Context())
		noErr(t, err)
		conns = append(conns, c)
		for pragma, value := range want {
			var got string
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != value {
				t.Errorf("reader: %s is %s (%v), want %s", pragma, got, err, value)
			}
		}
		if _, err := c.ExecContext(t.Context(), `SELECT "no such column"`); err == nil {
			t.Error("reader: a name in double quotes passes for a text")
		}
	}
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	writer := map[string]string{
		"busy_timeout": "10000", "foreign_keys": "1", "synchronous": "2", "journal_mode": "wal", "wal_autocheckpoint": "16000",
		"cache_size": "-2000", "journal_size_limit": "67108864",
	}
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for pragma, value := range writer {
			var got string
			if err := tx.Get("PRAGMA "+pragma, nil, &got); err != nil || got != value {
				t.Errorf("writer: %s is %s (%v), want %s", pragma, got, err, value)
			}
		}
		_, err := tx.Exec(`SELECT "no such column"`)
		if err == nil {
			t.Error("writer: a name in double quotes passes for a text")
		}
		_, err = tx.Exec("INSERT INTO delivered VALUES ('x', 99, 'open', 1)")
		return err
	})
	if err == nil {
		t.Error("a row that refers to nothing was taken")
	}
	for level, want := range map[string]string{"normal": "1", "OFF": "0", "Full": "2"} {
		db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Synchronous: level})
		var got string
		err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.Get("PRAGMA synchronous", nil, &got) })
		if err != nil || got != want {
			t.Errorf("synchronous %s: %s (%v), want %s", level, got, err, want)
		}
	}
}
