package selftest

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// fileSystem names that of a folder, and what is known against it.
func fileSystem(dir string) (name, doubt string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(abs) + `\`)
	if err != nil {
		return "", ""
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "network", doubtOf("network")
	}
	text := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformation(root, nil, 0, nil, nil, nil, &text[0], uint32(len(text))); err != nil { //nolint:gosec // a small constant
		return "", ""
	}
	return windows.UTF16ToString(text), ""
}
