package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrBusy means another process held the database longer than the busy timeout.
	ErrBusy = errors.New("the database is busy: another process is using it")
	// ErrNoLocks means that the file system refuses the locks without which several connections damage a file (ENOLCK),
	// which SQLite takes for a lock of somebody else.
	ErrNoLocks = errors.New("the file system of the database has no locks, like some network drives; keep the database on a local disk")
	// ErrNoSharedMemory means that the file FILE-shm can't be made or shared as memory.
	ErrNoSharedMemory = errors.New("the file system of the database has no shared memory for its -shm file, like FAT and some network drives; keep the database on a local disk")
	// ErrDiskFull means the disk (or quota) under the database is full.
	ErrDiskFull = errors.New("the disk is full")
	// ErrReadOnly means the database or its folder can't be written.
	ErrReadOnly = errors.New("the database can't be written")
	// ErrLinked means that the file has several names; it wraps ErrReadOnly, for it can be read.
	ErrLinked = fmt.Errorf("%w", ErrReadOnly)
	// ErrCorrupt means the file is no sound SQLite database.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrOlderRun means that a run of an older version works on a file that this
	// one would have to upgrade.
	ErrOlderRun = errors.New("a run of an older ypcrawl is using this database; wait until it ends, or stop it, then try again")
	// ErrNotFound means a file that must be there is not.
	ErrNotFound = errors.New("no such database")
	// ErrReplaced means that another file, or none, has the name of the one that was opened.
	ErrReplaced = errors.New("removed, moved or replaced while this program had it open; start the program again")
	// ErrClosed means the writer was closed before it took the transaction.
	ErrClosed = errors.New("the database is closed")
	// ErrLocked means another process holds the lock that was asked for.
	ErrLocked = errors.New("another process holds the lock")
)

// VersionError says that a file was written by another version of the schema.
type VersionError struct {
	Path      string
	Have, Max int
}

func (e *VersionError) Error() string {
	switch {
	case e.Have > e.Max:
		return fmt.Sprintf("%s has schema version %d, newer than this program's %d; use a newer ypcrawl or another --db", e.Path, e.Have, e.Max)
	case e.Upgradable():
		return fmt.Sprintf("%s has schema version %d, older than this program's %d; `ypcrawl recover` upgrades it now, or the next `ypcrawl run` does", e.Path, e.Have, e.Max)
	}
	return fmt.Sprintf("%s was not made by a released ypcrawl: it is another program's file, or a development version's; use another --db", e.Path)
}

// Upgradable reports whether the file is upgraded when it is opened for writing.
func (e *VersionError) Upgradable() bool { return e.Have > 0 && e.Have < e.Max }

// classify adds the sentinel that callers decide by to a SQLite error, told
// apart by code, never by text.
func classify(err error) error {
	var se *sqlite.Error
	if err == nil || !errors.As(err, &se) {
		return err
	}
	var kind error
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL: // the last: the locks of a journal were refused again and again
		kind = ErrBusy
	case sqlite3.SQLITE_FULL:
		kind = ErrDiskFull
	case sqlite3.SQLITE_IOERR:
		switch se.Code() {
		case sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_IOERR_SHMMAP:
			return fmt.Errorf("%w (%w)", ErrNoSharedMemory, err)
		}
		return fmt.Errorf("the disk of the database failed (is it full, or no longer mounted?): %w", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		kind = ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		kind = ErrCorrupt
	default:
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

// explain is classify for a database in a folder: where the file system has no locks, it says so.
func explain(err error, dir string, unlockable func(dir string) bool) error {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err
	}
	lock := se.Code() == sqlite3.SQLITE_PROTOCOL
	for _, code := range []int{
		sqlite3.SQLITE_IOERR_LOCK, sqlite3.SQLITE_IOERR_RDLOCK, sqlite3.SQLITE_IOERR_UNLOCK,
		sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
	} {
		lock = lock || se.Code() == code
	}
	if (lock || errors.Is(classify(err), ErrBusy)) && unlockable(dir) {
		return fmt.Errorf("%w (%v)", ErrNoLocks, err) //nolint:errorlint // who waits for ErrBusy would wait for ever
	}
	return classify(err)
}

// Corrupt reports whether an error says that the file is damaged, also one of a query
// that went to SQLite directly.
func Corrupt(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(classify(err), ErrCorrupt)
}

// Fatal reports whether no further write to this database can succeed, so that
// a crawl must stop and keep what is committed; also of an error in the middle of a transaction.
func Fatal(err error) bool {
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_IOERR {
		return true
	}
	err = classify(err)
	for _, kind := range []error{ErrDiskFull, ErrReadOnly, ErrCorrupt, ErrReplaced, ErrClosed, ErrNoLocks} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// RefusedError says why something was left as it is: what was asked for means nothing, or would change nothing.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}
