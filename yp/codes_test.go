package yp

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseErrorCode(t *testing.T) {
	for _, c := range ErrorCodes() {
		if got, err := ParseErrorCode(strings.ToLower(string(c))); got != c || err != nil {
			t.Errorf("ParseErrorCode(%q) = %q, %v", c, got, err)
		}
	}
	if _, err := ParseErrorCode("http_403"); err == nil || !strings.Contains(err.Error(), "RATE_LIMITED") {
		t.Errorf("an error class is taken for a code: %v", err)
	}
}

// TestTimesOfSchema holds the times in the view targets_and_waits, which says what may be claimed, to the
// constants: a longer backoff would else be taken for the mark of a clock that was set back.
func TestTimesOfSchema(t *testing.T) {
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, view, _ := strings.Cut(string(schema), "CREATE VIEW targets_and_waits")
	view, _, _ = strings.Cut(view, "\n\n")
	for name, want := range map[string]string{
		"gap":  fmt.Sprintf("'+%.0f minutes'", MinCrawlGap.Minutes()),
		"far":  fmt.Sprintf("'+%.0f hours'", BeyondBackoff.Hours()),
		"week": fmt.Sprintf("'+%.0f hours'", (RecrawlAfter + 24*time.Hour).Hours()),
	} {
		if !strings.Contains(view, want+") AS "+name) {
			t.Errorf("targets_and_waits in schema.sql: want %s for %q, as the constants in status.go say", want, name)
		}
	}
}
