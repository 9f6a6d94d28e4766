package checkpoint

import "errors"

// Die leaves the locks of the run as a killed process does: their files stay, and nobody holds them.
func (r *Run) Die() error { return errors.Join(r.owner.Release(), r.shared.Release()) }
