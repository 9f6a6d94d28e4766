//go:build !linux && !darwin && !freebsd && !windows

package selftest

// fileSystem is not known on this system.
func fileSystem(string) (name, doubt string) { return "", "" }
