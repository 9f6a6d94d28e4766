package checkpoint

// Die leaves the lock of the run as a killed process does: its file stays, and nobody holds it.
func (r *Run) Die() error { return r.owner.Release() }
