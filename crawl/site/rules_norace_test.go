//go:build !race

package site

import "testing"

// TestCheckAllocatesNothing is not parallel: it counts allocations. The race
// detector makes pools lose what regular expressions keep in them.
func TestCheckAllocatesNothing(t *testing.T) {
	s, l := builtin(t, "yellowpages"), soundListing()
	if n := testing.AllocsPerRun(100, func() { _ = s.Check(&l) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
