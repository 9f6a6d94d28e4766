package wal

import (
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestRightToCut: Windows sets the end of a file through a handle with FILE_WRITE_DATA alone (SetEndOfFile). Wine does it
// through any, so the right is looked at.
func TestRightToCut(t *testing.T) {
	t.Parallel()
	file, err := createLogFile(filepath.Join(t.TempDir(), "worker_0_pid_1.jsonl"))
	noErr(t, err)
	defer func() { noErr(t, file.Close()) }()
	const fileAccessInformation = 8 // FILE_ACCESS_INFORMATION: the rights of the handle
	var rights uint32
	err = windows.NtQueryInformationFile(windows.Handle(file.(osFile).Fd()), &windows.IO_STATUS_BLOCK{},
		(*byte)(unsafe.Pointer(&rights)), uint32(unsafe.Sizeof(rights)), fileAccessInformation)
	noErr(t, err)
	if rights&windows.FILE_WRITE_DATA == 0 {
		t.Errorf("the file's end can't be set: rights %#x", rights)
	}
}
