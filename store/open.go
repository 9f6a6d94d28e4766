package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// Config says which file to open and how. Schema is required when the file may
// have to be made; the other zero values have the defaults named.
type Config struct {
	Path        string           // of the database file
	Schema      string           // the text of schema.sql
	Synchronous string           // FULL (default: what was acknowledged survives a power cut), NORMAL or OFF
	BusyTimeout time.Duration    // how long to wait for another process; default 10 s
	MustExist   bool             // ErrNotFound instead of a new file
	ReadOnly    bool             // no writer; implies MustExist
	Now         func() time.Time // default time.Now

	KeyHash func(key string) int64 // of 54 bits, of a strong key of companies; only tests give one

	// BeforeCommit, when set, is called inside every write transaction just
	// before it is committed: crash tests die there.
	BeforeCommit func()

	// LoseCommit, when set, is asked before every commit: with true the transaction is
	// rolled back and reported as committed, so that tests of crashes can be seen to fail.
	LoseCommit func() bool

	// Rewrite, when set, may change each statement of the writer, so that a test can take a rule away.
	Rewrite func(statement string) string

	seen fs.FileInfo // the file before it was opened, nil = it was not there
}

// DB is an open database: one writer and a pool of readers.
type DB struct {
	path     string
	file     os.FileInfo // that was opened; nil = not known
	now      func() time.Time
	keyHash  func(string) int64
	read     *sql.DB
	prepared sync.Map // what Row asks: its text, and its *sql.Stmt
	writeDB  *sql.DB
	writer   *writer
}

// Open opens the database at cfg.Path, makes or upgrades its schema, and starts
// the writer. It returns ErrNotFound, ErrReadOnly, ErrCorrupt or a *VersionError
// where those apply.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if err := checkFile(cfg); err != nil {
		return nil, err
	}
	cfg.seen, _ = os.Stat(cfg.Path) // it was looked at just before
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	// Stored times have milliseconds, and are compared with the clock again and again:
	// with a finer one, a time would seem to have changed by being stored.
	if cfg.KeyHash == nil {
		cfg.KeyHash = keyHash
	}
	db := &DB{path: cfg.Path, keyHash: cfg.KeyHash, now: func() time.Time { return now().UTC().Truncate(time.Millisecond) }}
	if err := db.open(ctx, cfg); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open database %s: %w", cfg.Path, explain(err, filepath.Dir(RealPath(cfg.Path)), unlockable))
	}
	db.file, _ = os.Stat(cfg.Path)
	return db, nil
}

// InPlace returns ErrReplaced when the file no longer stands under its name, as after a restore beside a program
// that lives for long: what it reads is never written again, and nobody finds what it writes.
func (db *DB) InPlace() error {
	if now, err := os.Stat(db.path); db.file == nil || err == nil && os.SameFile(now, db.file) {
		return nil
	}
	return fmt.Errorf("%s was %w", filepath.Base(db.path), ErrReplaced)
}

func (db *DB) open(ctx context.Context, cfg Config) (err error) {
	if !cfg.ReadOnly {
		if db.writeDB, err = sql.Open("sqlite", dsn(cfg, false)); err != nil {
			return err
		}
		db.writeDB.SetMaxOpenConns(1)
		conn, err := db.writeDB.Conn(ctx)
		if err != nil {
			return err
		}
		if err := migrate(ctx, conn, cfg, db.now()); err != nil {
			return errors.Join(err, conn.Close())
		}
		db.writer = startWriter(conn, db.now, cfg)
	}
	if err := db.openReaders(dsn(cfg, true)); err != nil || !cfg.ReadOnly {
		return err
	}
	err = checkVersion(ctx, db.read, cfg.Path, SchemaVersion)
	if !errors.Is(classify(err), ErrReadOnly) {
		return err
	}
	// A file that stands for itself, with no journal or an empty one beside it, can be read where
	// no journal can be made: on a read-only disk.
	if standsAlone(cfg.Path) {
		if err := errors.Join(db.read.Close(), db.openReaders(dsn(cfg, true)+"&immutable=1")); err != nil {
			return err
		}
		return checkVersion(ctx, db.read, cfg.Path, SchemaVersion)
	}
	return err
}

// standsAlone reports whether a file has no journal beside it, or an empty one.
func standsAlone(path string) bool {
	info, err := os.Stat(RealPath(path) + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func (db *DB) openReaders(name string) (err error) {
	if db.read, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	db.read.SetMaxOpenConns(4)
	db.read.SetMaxIdleConns(4) // each new one reads the whole schema
	return nil
}

// checkFile gives the plain causes their plain names before SQLite does. It tries the file
// itself: SQLite opens a write-protected one read-only and complains only at the first write.
// A new file is made so that nobody but its owner reads it: it will hold the passwords of
// proxies. SQLite would make it as wide as the umask allows, and gives the files beside it
// ("-wal", "-shm") the mode of this one. A file that is there keeps the mode that somebody may
// have given it; doctor warns of a wide one.
func checkFile(cfg Config) error {
	if _, err := Absent(cfg.Path); err != nil {
		return err
	}
	info, err := os.Stat(cfg.Path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err == nil && info.IsDir():
		return fmt.Errorf("--db %s is a folder; name a file", cfg.Path)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("--db %s is a pipe or a device; name a file", cfg.Path)
	case err == nil && cfg.ReadOnly:
		return readable(cfg.Path)
	case err != nil && !missing:
		return fmt.Errorf("database %s: %w", cfg.Path, folder.Denied(cfg.Path, err))
	case missing && (cfg.MustExist || cfg.ReadOnly):
		return notFound(cfg.Path)
	case missing:
		if err := folder.Make(filepath.Dir(cfg.Path)); err != nil {
			return fmt.Errorf("make the folder of database %s: %w", cfg.Path, err)
		}
	}
	if err := MakeFile(cfg.Path, ""); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return OneName(cfg.Path)
}

// readable returns an error for a database that this user may not read, or whose journal: SQLite says no more than that
// it can't open them.
func readable(path string) error {
	for _, ending := range []string{"", "-wal", "-shm"} {
		if err := folder.Readable(path + ending); errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("database %s can't be read: %w", path, err)
		}
	}
	return nil
}

// OneName returns ErrLinked for a file that has a second name (a hard link). SQLite finds the journal of a file by its
// name: two programs that open it by different names do not see each other's, and damage it (sqlite.org/howtocorrupt.html, 2.5).
func OneName(path string) error {
	info, err := os.Stat(path)
	if err != nil || yp.HardLinks(info) < 2 {
		return err
	}
	return fmt.Errorf("%w: %s has %d names (hard links), and writing it under two names would damage it; find them with `find / -samefile %[2]s`, keep one name, and copy with `ypcrawl backup`",
		ErrLinked, path, yp.HardLinks(info))
}

// MakeFile makes an empty file for its owner alone where there is none, and returns an error where a file
// can't be written. It opens none that is there: this process may have it open by SQLite, and to close any
// handle on it releases the locks on it (POSIX). What root makes gets owner, group and mode of the file beside, or, where
// that is "", owner and group of the folder.
func MakeFile(path, beside string) error {
	err := makeBeside(path, beside)
	if errors.Is(err, fs.ErrExist) {
		// A link to a file that is not there: nobody has that open.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return folder.Denied(path, mayWrite(path))
		}
		err = makeBehind(path)
	}
	return err
}

// makeBehind makes the file that a link leads to.
func makeBehind(path string) error {
	at, err := folder.Find(path)
	if err != nil {
		return err
	}
	f, err := at.New(at.Name, os.O_RDWR, 0o600, nil)
	if err == nil {
		err = f.Close()
	}
	return errors.Join(err, at.Close())
}

func makeBeside(path, beside string) error {
	dir, err := folder.Hold(filepath.Dir(path))
	if err != nil {
		return err
	}
	var like fs.FileInfo
	if beside != "" {
		like = dir.Beside(filepath.Base(beside))
	}
	f, err := dir.New(filepath.Base(path), os.O_RDWR, 0o600, like)
	if err == nil {
		err = f.Close()
	}
	return errors.Join(err, dir.Close())
}

// notFound is also said of a file that was made, and in which nothing stands yet: the disk was full, or a
// kill came before the schema.
func notFound(path string) error {
	return fmt.Errorf("%w: %s (start a crawl with `ypcrawl run`, or name the file with --db)", ErrNotFound, path)
}

// Absent reports whether Open would make a new database at path: there is no file, or one in which
// nothing stands. SQLite takes one byte for none, too, and it removes a journal whose file is
// gone, which is why that is an error here.
func Absent(path string) (bool, error) {
	if _, err := os.Lstat(RestoreMark(path)); err == nil {
		return false, fmt.Errorf("database %s: %w", path, ErrRestoring)
	}
	// In this order: a file that another process is making is not empty any more once there is a journal.
	journal := journaled(path)
	info, err := os.Stat(path)
	absent := errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() <= 1
	if absent && journal {
		return true, fmt.Errorf("%w: %s is empty or missing, but its journal %[2]s-wal is there; put the file back, or move the journal elsewhere, too", ErrCorrupt, path)
	}
	return absent, nil
}

// journaled reports whether something is in the journal of a file.
func journaled(path string) bool {
	info, err := os.Stat(RealPath(path) + "-wal")
	return err == nil && info.Size() > 0
}

// sameFile makes sure that what was opened is still what the path means: a restore may have
// replaced it meanwhile, and the journal of the one must not come to be beside the other.
func (cfg *Config) sameFile() error {
	info, err := os.Stat(cfg.Path)
	if err != nil || cfg.seen == nil || os.SameFile(info, cfg.seen) {
		return err
	}
	return fmt.Errorf("%w: it was replaced while it was being opened", ErrBusy)
}

// dsn carries every pragma of a connection, so that each one of a pool has them;
// the journal mode is the file's (see useWAL).
func dsn(cfg Config, reader bool) string {
	q := url.Values{}
	busy := cmp.Or(cfg.BusyTimeout, 10*time.Second)
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()))
	q.Add("_dqs", "0")
	if reader {
		q.Add("mode", "ro")
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-1000)")
	} else {
		q.Add("_txlock", "immediate")
		q.Add("_pragma", fmt.Sprintf("synchronous(%s)", strings.ToUpper(cmp.Or(cfg.Synchronous, "FULL"))))
		q.Add("_pragma", "foreign_keys(1)")
		q.Add("_pragma", "temp_store(2)") // what a savepoint needs for its undoing stays in memory: a third of a commit's cost
		// At 500,000 listings every page touches fifty leaves of two indexes without order: the longer a journal, the fewer of
		// them are written twice.
		q.Add("_pragma", fmt.Sprintf("wal_autocheckpoint(%d)", foldAt))
		q.Add("_pragma", "cache_size(-2000)") // more finds no more of those leaves, nor less work
		q.Add("_pragma", "journal_size_limit(67108864)")
	}
	path := cfg.Path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

// Path returns the path of the database file as it was given.
func (db *DB) Path() string { return db.path }

// Now returns the time by the database's clock, in UTC, to the millisecond.
func (db *DB) Now() time.Time { return db.now() }

// ID returns the id of the database, which its logs name: random, made with the file, and
// taken over by a file that is rebuilt from them.
func (db *DB) ID(ctx context.Context) (id string, err error) {
	if err := db.read.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'database_id'").Scan(&id); err != nil {
		return "", fmt.Errorf("read the id of database %s: %w", db.path, classify(err))
	}
	return id, nil
}

// Untouched reports whether nothing was planned, crawled or replayed into the file yet.
func (db *DB) Untouched(ctx context.Context) (yes bool, err error) {
	const query = "SELECT NOT EXISTS (SELECT 1 FROM targets) AND NOT EXISTS (SELECT 1 FROM runs)"
	if err := db.read.QueryRowContext(ctx, query).Scan(&yes); err != nil {
		return false, fmt.Errorf("see whether database %s is empty: %w", db.path, classify(err))
	}
	return yes, nil
}

// TakeOver makes an untouched file the database id: rebuilt from its logs, it goes on as
// that database. Any other file keeps the id that it has.
func TakeOver(tx *Tx, id string) error {
	_, err := tx.Exec(`UPDATE meta SET value = ? WHERE key = 'database_id'
		AND NOT EXISTS (SELECT 1 FROM targets) AND NOT EXISTS (SELECT 1 FROM runs)`, id)
	if err != nil {
		return fmt.Errorf("take over the id of the logs' database: %w", err)
	}
	return nil
}

// Read returns the pool of read-only connections.
func (db *DB) Read() *sql.DB { return db.read }

// Close lets the writer finish what it has, and closes every connection: the
// writing one last, because only it can fold the journal into the file and
// remove it.
func (db *DB) Close() error {
	var errs []error
	if db.writer != nil {
		db.writer.stop()
	}
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	if db.writeDB != nil {
		errs = append(errs, db.writeDB.Close())
	}
	return errors.Join(errs...)
}

// QuickCheck runs PRAGMA quick_check and returns ErrCorrupt with what it found.
func (db *DB) QuickCheck(ctx context.Context) error {
	return check(db.Reader(ctx), "PRAGMA quick_check(5)")
}

// IntegrityCheck is the thorough form: it also compares every index with its table.
func (db *DB) IntegrityCheck(ctx context.Context) error {
	return check(db.Reader(ctx), "PRAGMA integrity_check(5)")
}

func check(q Querier, pragma string) error {
	found, err := Column[string](q, pragma)
	if err != nil {
		return classify(err)
	}
	if found = slices.DeleteFunc(found, func(line string) bool { return line == "ok" }); len(found) > 0 {
		return fmt.Errorf("%w: %s", ErrCorrupt, yp.Printable(strings.Join(found, "; ")))
	}
	return nil
}
