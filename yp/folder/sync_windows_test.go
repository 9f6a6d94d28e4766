package folder

import (
	"testing"
)

// TestFlush: a folder of a usual disk is really flushed.
func TestFlush(t *testing.T) {
	t.Parallel()
	if err := flush("."); err != nil {
		t.Fatal(err)
	}
}
