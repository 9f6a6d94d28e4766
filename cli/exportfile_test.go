package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// TestUntilStopped: after Ctrl-C no more of a file is written: the rest of a large XLSX takes seconds.
func TestUntilStopped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	w := untilStopped{ctx, &out}
	if n, err := w.Write([]byte("one")); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	stop()
	if n, err := w.Write([]byte("two")); n != 0 || !errors.Is(err, context.Canceled) || out.String() != "one" {
		t.Errorf("%d, %v: %q", n, err, &out)
	}
}
