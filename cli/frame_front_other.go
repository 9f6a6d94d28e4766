//go:build !unix || aix

package cli

// foreground tells whether w is no terminal that other processes have: there is no such thing here.
func foreground(any) bool { return true }
