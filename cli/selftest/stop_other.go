//go:build !unix

package selftest

// stopped does nothing: no process can be stopped and continued here.
func (r *runner) stopped() error { return nil }
