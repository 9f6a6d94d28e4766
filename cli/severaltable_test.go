package cli

import (
	"testing"

	"ypcrawl/crawl"
)

// TestSeveralTable: the summary of several sources has the figures of one: what waits for its next try is no work that is left to do now.
func TestSeveralTable(t *testing.T) {
	t.Parallel()
	of := sourceSummary{Source: "a", Outcome: "done", Stats: crawl.Stats{Empty: 4}, Scope: selected{Targets: 15, Planned: 9, Waiting: 6, InProgress: 1, Done: 5}}
	all := severalTable(summary{Outcome: "done", Stats: of.Stats, Scope: of.Scope, Sources: []sourceSummary{of}})
	for _, row := range all.Rows {
		for name, want := range map[string]int64{"done": 5, "empty": 4, "to_try_again": 6, "to_do": 4, "failed": 0} {
			if got := all.Value(row, name); got != want {
				t.Errorf("%s of %v: %v, want %d", name, row[0], got, want)
			}
		}
	}
}
