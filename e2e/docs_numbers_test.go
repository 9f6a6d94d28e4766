package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestNumbers holds numbers that documents and the schema repeat to the constants that they are of.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for file, sentences := range map[string][]string{
		"docs/health.md": {
			fmt.Sprintf("%d failures in a row, spread over half a minute or more → %d minutes of cooldown; within less → a pause of %d s",
				yp.ProxyFailures, yp.ProxyRest/time.Minute, yp.ProxyPause/time.Second),
			fmt.Sprintf("wait Retry-After (clamped to %d s to %d h;", yp.MinRetryAfter/time.Second, yp.MaxRetryAfter/time.Hour),
			fmt.Sprintf("else %d s; retry | without Retry-After", yp.DefaultRetryAfter/time.Second),
			fmt.Sprintf("(a 429 without one: %d s)", yp.DefaultRetryAfter/time.Second),
			fmt.Sprintf("already failing or quarantined %d minutes ago or longer", health.QuarantineAfter/time.Minute),
			fmt.Sprintf("After the %d-minute cooldown **one** probe", health.Cooldown/time.Minute),
			fmt.Sprintf("cooldown doubled, at most %d h", health.MaxCooldown/time.Hour),
			fmt.Sprintf("doubles it, at most to %d s", health.MaxDelay/time.Second),
			fmt.Sprintf("`request_timeout` (%d s)", fetch.DefaultTimeout/time.Second),
		},
		"schema.sql": {
			fmt.Sprintf("cooldown_minutes INTEGER NOT NULL DEFAULT %d CHECK (cooldown_minutes BETWEEN %[1]d AND %d)", health.Cooldown/time.Minute, health.MaxCooldown/time.Minute),
			fmt.Sprintf("cooldown_minutes = %d WHERE source_id = new.id", health.Cooldown/time.Minute),
		},
	} {
		data, err := os.ReadFile(file)
		storetest.NoError(t, err)
		for _, s := range sentences {
			if !strings.Contains(string(data), s) {
				t.Errorf("%s doesn't say %q", file, s)
			}
		}
	}
	if yp.ProxySpread != 30*time.Second {
		t.Errorf("docs/health.md says that failures of a proxy are spread over half a minute, and not %s", yp.ProxySpread)
	}
}
