package cli

import (
	"strings"
	"testing"
)

// TestNameOfDelivery: what is remembered under a name is shown again, on terminals too.
func TestNameOfDelivery(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	if code := s.types(t.Context(), "", "proxies", "add", "http://127.0.0.1:9"); code != ExitOK { // makes the file
		t.Fatalf("exit %d: %s", code, s.err.text())
	}
	if code := s.types(t.Context(), "", "export", "-o", "x.csv", "--as", "boss\x1b[31m"); code != ExitUsage || !strings.Contains(s.err.text(), "without control characters") {
		t.Errorf("exit %d: %s", code, s.err.text())
	}
}
