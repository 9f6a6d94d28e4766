package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// coded is an error of SQLite with a code, which the driver makes of none but its own calls.
func coded(code int) error {
	e := new(sqlite.Error)
	shape := (*struct {
		msg  string
		code int
	})(unsafe.Pointer(e))
	shape.msg, shape.code = "made up", code
	return e
}

// TestExplain: what a file system can't do is said, instead of what SQLite makes of it.
func TestExplain(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]error{
		sqlite3.SQLITE_IOERR_SHMOPEN: ErrNoSharedMemory, sqlite3.SQLITE_IOERR_SHMSIZE: ErrNoSharedMemory,
		sqlite3.SQLITE_IOERR_SHMLOCK: ErrNoSharedMemory, sqlite3.SQLITE_IOERR_SHMMAP: ErrNoSharedMemory,
		sqlite3.SQLITE_BUSY: ErrNoLocks, sqlite3.SQLITE_PROTOCOL: ErrNoLocks, sqlite3.SQLITE_IOERR_LOCK: ErrNoLocks, sqlite3.SQLITE_FULL: ErrDiskFull,
	} {
		err := explain(coded(code), "", func(string) bool { return true })
		if !errors.Is(err, want) || !Fatal(err) || code != sqlite3.SQLITE_FULL && !strings.Contains(err.Error(), "keep the database on a local disk") {
			t.Errorf("%d: %v", code, err)
		}
	}
	if err := explain(coded(sqlite3.SQLITE_BUSY), "", func(string) bool { return false }); !errors.Is(err, ErrBusy) || Fatal(err) {
		t.Errorf("busy: %v", err)
	}
	if err := explain(coded(sqlite3.SQLITE_IOERR_READ), "", nil); !strings.Contains(err.Error(), "is it full") {
		t.Errorf("a disk that failed: %v", err)
	}
	if dir := t.TempDir(); unlockable(dir) || unlockable(filepath.Join(dir, "none")) {
		t.Error("this disk has locks")
	}
}
