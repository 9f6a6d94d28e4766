package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// TestClosings: a listing counts once, by the last of what was said of it, and the list that `changes --lasting` shows is what is counted.
func TestClosings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string // "days ago, kind, listing" in the order in which they came
		want   string
	}{
		"none":                      {nil, "0 0 0"},
		"dropped":                   {[]string{"6 dropped a", "1 dropped b"}, "2 0 0"},
		"dropped too long ago":      {[]string{"8 dropped a", "1 dropped b"}, "1 0 0"},
		"came back":                 {[]string{"6 dropped a", "5 restored a", "1 dropped b"}, "1 1 0"},
		"dropped earlier, and back": {[]string{"20 dropped a", "5 restored a"}, "0 1 0"},
		"back, and dropped again":   {[]string{"6 dropped a", "5 restored a", "4 dropped a"}, "1 0 0"},
		"twice, and back":           {[]string{"6 dropped a", "5 restored a", "4 dropped a", "4 restored a"}, "0 1 0"},
		"all in the same moment":    {[]string{"1 dropped a", "1 restored a", "1 dropped b"}, "1 1 0"},
		"rejected":                  {[]string{"1 rejected c", "1 dropped a"}, "1 0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 1, "CA")
			execute(t, b.DB(), `INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (7, 'A', 1, 'a', 'x')`,
				`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at) VALUES (1, 1, 'a', 7, 'A', 'CA', 0, 'x', 'x'), (2, 1, 'b', 7, 'B', 'CA', 0, 'x', 'x')`)
			for _, event := range c.events {
				words := strings.Fields(event)
				days := 0
				_, err := fmt.Sscan(words[0], &days)
				noErr(t, err)
				execute(t, b.DB(), fmt.Sprintf(`INSERT INTO listing_events (at, kind, source_id, listing, listing_id, company_id)
					SELECT '%s', '%s', 1, nullif(instr('ab', '%[3]s'), 0), iif(instr('ab', '%[3]s'), NULL, '%[3]s'), iif(instr('ab', '%[3]s'), 7, NULL)`,
					storetest.Ago(time.Duration(days)*24*time.Hour), words[1], words[2]))
			}
			got, err := b.Closings(t.Context(), 7)
			noErr(t, err)
			if text := fmt.Sprint(got.Dropped, got.Restored, got.Rejected); text != c.want || got.Days != 7 {
				t.Errorf("counted %s in %d days, want %s", text, got.Days, c.want)
			}
			since := report.ChangesSince(time.Now().AddDate(0, 0, -7), nil)
			var shown []string
			for _, kind := range []string{"dropped", "restored", "rejected"} {
				var rows rows
				noErr(t, b.List(t.Context(), report.Find("changes"), report.Choice{Values: map[string]any{"since": since, "kind": []string{kind}, "lasting": true}}, &rows))
				shown = append(shown, fmt.Sprint(len(rows.texts)))
			}
			if text := strings.Join(shown, " "); text != c.want {
				t.Errorf("shown %s, want %s", text, c.want)
			}
		})
	}
}
