package measure_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

var named = regexp.MustCompile("`ypcrawl_([a-z0-9_]+)`")

// TestDocumented: docs/monitoring.md names every metric, and no other.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/monitoring.md")
	storetest.NoError(t, err)
	metrics, _, found := strings.Cut(string(text), "## The metrics file")
	if !found {
		t.Fatal("docs/monitoring.md lacks a section")
	}
	b := setup(t)
	storetest.Execute(t, b.db, `UPDATE runs SET outcome = 'done', finished_at = heartbeat_at`,
		`INSERT INTO targets (source_id, kind, state, population, priority, max_pages, created_at) VALUES (1, 'index', 'CA', 0, 0, 3, 'x')`,
		`INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms)
			SELECT 1, 'x', 'listing', 'u', at, at, 'failure', 'timeout', 0 FROM (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute') AS at)`,
		`INSERT INTO request_spans (source_id, span, began_at, requests) VALUES (1, 'ever', '', 1)`,
		`INSERT INTO run_passes (source_id, run_id, selection, began_at) SELECT 1, id, '{}', started_at FROM runs`, `UPDATE runs SET pages = 1`)
	m, err := report.New(b.db).Measure(t.Context(), t.TempDir())
	storetest.NoError(t, err)
	slow, err := report.New(b.db).MeasureSlowly(t.Context())
	storetest.NoError(t, err)
	names := map[string]bool{}
	for _, x := range append(m.Metrics, slow.Metrics...) {
		if names[x.Name] = true; x.Help == "" {
			t.Errorf("%s has no help", x.Name)
		}
	}
	for name := range names {
		if !strings.Contains(metrics, "`ypcrawl_"+name+"`") {
			t.Errorf("docs/monitoring.md does not tell of %s", name)
		}
	}
	for _, m := range named.FindAllStringSubmatch(metrics, -1) {
		if !names[m[1]] {
			t.Errorf("docs/monitoring.md tells of %s, which is no metric", m[1])
		}
	}
}
