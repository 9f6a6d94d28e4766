package report_test

import (
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// TestSnapshot: what is asked in one look belongs together, whatever a crawl writes meanwhile.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	planned := int64(0)
	noErr(t, b.Snapshot(t.Context(), func(k *report.Reader) error {
		before, err := k.Progress(t.Context(), store.Scope{})
		noErr(t, err)
		execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x' WHERE status = 'PLANNED' AND wait_reason IS NULL`)
		counts := report.Choice{Values: map[string]any{"status": []string{"PLANNED"}}, Columns: []string{"id"}}
		if listed(t, k, "targets list", counts) == "" {
			t.Error("a list of the same look has what was written after it began")
		}
		after, err := k.Standing(t.Context(), store.Scope{})
		if err != nil || after.Overall.Targets != before.Overall.Targets || after.Overall.Planned == 0 {
			t.Errorf("%+v, %v", after.Overall, err)
		}
		planned = after.Overall.Planned
		return nil
	}))
	if s, err := b.Standing(t.Context(), store.Scope{}); err != nil || s.Overall.Planned >= planned {
		t.Errorf("%+v, %v", s.Overall, err)
	}
}
