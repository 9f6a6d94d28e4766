package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Sync makes the names in a folder durable: of files that are new, renamed or removed. Windows flushes a folder only
// through a handle that may write to it (FlushFileBuffers wants GENERIC_WRITE, golang/go#75541), and os.Open gives none.
// Where no such handle is to be had (other rights, FAT, a network drive), names are as durable as NTFS' own journal or
// that file system makes them.
func Sync(dir string) error {
	err := flush(dir)
	for _, cannot := range []error{
		windows.ERROR_ACCESS_DENIED, windows.ERROR_SHARING_VIOLATION, windows.ERROR_INVALID_FUNCTION,
		windows.ERROR_INVALID_PARAMETER, windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_HANDLE,
	} {
		if errors.Is(err, cannot) {
			_, err = os.Stat(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

func flush(dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	d, err := windows.CreateFile(name, windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	if err := windows.FlushFileBuffers(d); err != nil {
		return errors.Join(&fs.PathError{Op: "sync", Path: dir, Err: err}, windows.CloseHandle(d))
	}
	return windows.CloseHandle(d)
}
