//go:build !unix || aix

package frame

// Foreground tells whether w is no terminal that other processes have: there is no such thing here.
func Foreground(any) bool { return true }
