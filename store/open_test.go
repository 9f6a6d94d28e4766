package store_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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
	schema, current, frames := storetest.Schema(t), fmt.Sprintf("PRAGMA user_version = %d", store.SchemaVersion), strings.Repeat("frame ", 2000)
	reader, version := store.Config{ReadOnly: true}, &store.VersionError{}
	type maker = func(t *testing.T, path string)
	bytesOf := func(b []byte) maker { return func(t *testing.T, p string) { write(t, p, b) } }
	file := func(statements ...string) maker { return func(t *testing.T, p string) { foreign(t, p, statements...) } }
	changed := func(change func(whole []byte) []byte) maker {
		return func(t *testing.T, p string) { write(t, p, change(read(t, filled(t)))) }
	}
	beside := func(file, journal string) maker {
		return func(t *testing.T, p string) { write(t, p, []byte(file)); write(t, p+"-wal", []byte(journal)) }
	}
	for _, c := range []struct {
		name string
		make maker
		cfg  store.Config
		want error // nil = opens
	}{
		{name: "a new file"},
		{name: "a new file in new folders", cfg: store.Config{Path: "x/y/z.db"}},
		{name: "missing where it must exist", cfg: store.Config{MustExist: true}, want: store.ErrNotFound},
		{name: "missing for a reader", cfg: store.Config{ReadOnly: true}, want: store.ErrNotFound},
		{name: "a zero-byte file becomes a database", make: bytesOf(nil)},
		{name: "a zero-byte file for a reader", cfg: reader, want: store.ErrNotFound, make: bytesOf(nil)},
		{name: "a file without tables for a reader", cfg: reader, want: store.ErrNotFound, make: file("PRAGMA journal_mode = WAL")},
		{name: "garbage", want: store.ErrCorrupt, make: bytesOf(bytes.Repeat([]byte("garbage "), 2000))},
		{name: "a short text", want: store.ErrCorrupt, make: bytesOf([]byte("id,name\n1,x\n"))},
		{name: "another program's file", want: version, make: file("CREATE TABLE notes (x)", "INSERT INTO notes VALUES (1)")},
		{name: "another program's file of the same version", want: version, make: file("CREATE TABLE notes (x)", current)},
		{name: "another program's file for a reader", want: version, cfg: reader, make: file("CREATE TABLE notes (x)", current)},
		{name: "a development version's file", want: version, make: func(t *testing.T, p string) {
			write(t, p, read(t, filled(t)))
			foreign(t, p, "PRAGMA application_id = 0x79706372", "PRAGMA user_version = 8")
		}},
		{name: "a newer version", want: version, make: file(schema, "PRAGMA user_version = 99")},
		{name: "a newer version for a reader", want: version, cfg: reader, make: file(schema, "PRAGMA user_version = 99")},
		{name: "a negative version", want: version, make: file(schema, "PRAGMA user_version = -1")},
		{name: "cut in half", want: store.ErrCorrupt, make: changed(func(whole []byte) []byte { return whole[:len(whole)/2] })},
		{name: "cut in its last page", want: store.ErrCorrupt, make: changed(func(whole []byte) []byte { return whole[:len(whole)-1] })},
		{
			name: "cut in its last page, for a reader", want: store.ErrCorrupt, cfg: reader,
			make: changed(func(whole []byte) []byte { return whole[:len(whole)-2000] }),
		},
		{name: "empty beside its journal", want: store.ErrCorrupt, make: beside("", frames)},
		{name: "one byte beside its journal, for a reader", want: store.ErrCorrupt, cfg: reader, make: beside("S", frames)},
		{name: "empty beside an empty journal", make: beside("", "")},
		{name: "cut in its first page", want: store.ErrCorrupt, make: changed(func(whole []byte) []byte { return whole[:700] })},
		{name: "a damaged page", want: store.ErrCorrupt, make: changed(func(whole []byte) []byte {
			copy(whole[len(whole)-2*4096:], bytes.Repeat([]byte{0xa5}, 4096))
			return whole
		})},
		{name: "an undamaged copy", make: changed(func(whole []byte) []byte { return whole })},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Path = filepath.Join(t.TempDir(), cmp.Or(c.cfg.Path, "a.db"))
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
		dir := t.TempDir()
		if err := open(t, store.Config{Path: dir}); err == nil || !strings.Contains(err.Error(), "is a folder") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, nil)
		if err := open(t, store.Config{Path: filepath.Join(file, "a.db")}); err == nil {
			t.Error("opened")
		}
	})
	t.Run("no schema", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		if _, err := store.Open(t.Context(), store.Config{Path: path}); err == nil {
			t.Fatal("opened")
		}
		noErr(t, open(t, store.Config{Path: path})) // the file that was left is of use
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

// relativeTo is a path from the working folder; on another drive of Windows none leads there.
func relativeTo(t *testing.T, path string) string {
	t.Helper()
	wd, err := os.Getwd()
	noErr(t, err)
	if filepath.VolumeName(wd) != filepath.VolumeName(path) {
		return path
	}
	relative, err := filepath.Rel(wd, path)
	noErr(t, err)
	return relative
}

func TestOpenPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"with space.db", "a?b.db", "a#b.db", "100%.db", "%20.db", "a&b=c.db", "a+b.db", "naïve ✓.db", "a;b.db", "'quoted\".db", "file:x.db", "a?mode=memory.db",
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(name, `?":`) {
				t.Skip("no file can have this name here")
			}
			dir := filepath.Join(t.TempDir(), name)
			path := filepath.Join(dir, name)
			noErr(t, open(t, store.Config{Path: path}))
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != name {
				t.Errorf("the folder holds %v (%v), want the file alone", entries, err)
			}
			noErr(t, open(t, store.Config{Path: path, ReadOnly: true})) // read-only
		})
	}
	t.Run("relative", func(t *testing.T) {
		path := relativeTo(t, filepath.Join(t.TempDir(), "a.db"))
		db := storetest.OpenConfig(t, store.Config{Path: path})
		if db.Path() != path || !exists(path) {
			t.Errorf("path is %s, and there: %v", db.Path(), exists(path))
		}
	})
}

// openChild opens the database of a part, with the schema in a file.
func openChild(args []string) (*store.DB, error) {
	schema, err := os.ReadFile(args[1])
	if err != nil {
		return nil, err
	}
	return store.Open(context.Background(), store.Config{Path: args[0], Schema: string(schema)})
}

// createChild opens a database that may be new, and says so.
func createChild(args []string) error {
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	db, err := openChild(args)
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
	noErr(t, errors.Join(gate.Close(), opener.Close())) // the start shot: all see the end of their input
	for _, p := range racers {
		p.Await(t, "made")
		noErr(t, p.Wait())
	}
	db := storetest.OpenConfig(t, store.Config{Path: path})
	storetest.Equal(t, metaKeys(t, db, "k"), len(racers), "rows")
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
	if s, err := store.TakeSnapshot(context.Background(), args[0], func() error { return nil }); err != nil {
		fmt.Println(err)
	} else {
		s.Close()
		fmt.Println("copied")
	}
	return nil
}

// TestOpenUnwritable asks as a user without rights: root may write everything.
func TestOpenUnwritable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights of files are no bits here")
	}
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
	try := func(path string) *process {
		p := storetest.Command(t, "modes", path)
		p.Path, p.SysProcAttr = program, asNobody()
		p.Begin(t).Await(t, "refused")
		return p
	}
	p := try(path)
	p.Await(t, "opened <nil> <nil>")
	p.Await(t, "copied")
	noErr(t, p.Wait())
	try(filepath.Join(dir, "new.db"))
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	want := map[string]string{"busy_timeout": "10000", "query_only": "1", "cache_size": "-1000", "journal_mode": "wal"}
	for range 4 { // every connection of the pool, held at once
		c, err := db.Read().Conn(t.Context())
		noErr(t, err)
		defer func() { noErr(t, c.Close()) }()
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
