package measure_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ypcrawl/cli/measure"
	"ypcrawl/store/storetest"
)

// TestDocumented: docs/monitoring.md names every metric, and every key of status.json.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/monitoring.md")
	storetest.NoError(t, err)
	metrics, rest, found := strings.Cut(string(text), "## The metrics file")
	_, keys, ok := strings.Cut(rest, "## status.json")
	if !found || !ok {
		t.Fatal("docs/monitoring.md lacks a section")
	}
	names := parse(t, measure.Text(full(), "a.db"))
	for name := range names {
		if !strings.Contains(metrics, "`"+name+"`") {
			t.Errorf("docs/monitoring.md does not tell of %s", name)
		}
	}
	if n := strings.Count(metrics, "`ypcrawl_") - 1; n != len(names) { // the prefix alone stands there, too
		t.Errorf("it names %d metrics of %d", n, len(names))
	}
	m := full()
	m.Passes = nil // said elsewhere
	var all map[string]any
	storetest.NoError(t, json.Unmarshal(measure.JSON(m), &all))
	var look func(v any, below bool)
	look = func(v any, below bool) {
		switch v := v.(type) {
		case map[string]any:
			for key, v := range v {
				if !strings.Contains(keys, "`"+key+"`") && below {
					t.Errorf("docs/monitoring.md does not tell of the key %s", key)
				}
				look(v, key != "pages_1h" && key != "failures_1h")
			}
		case []any:
			for _, v := range v {
				look(v, below)
			}
		}
	}
	look(all, true)
}
