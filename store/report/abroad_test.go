package report_test

import (
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestAbroad: each source means its own states by a word, a target whose slug two states have is named by its id, and what is counted by
// state can be counted of one country.
func TestAbroad(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA", "WA")
	id, err := b.Register(t.Context(), checkpoint.NewSource{
		Name: "au", BaseURL: "http://au.test", Country: "AU", States: []yp.State{{Code: "WA", Name: "Western Australia"}, {Code: "VIC", Name: "Victoria"}},
	})
	noErr(t, err)
	_, err = b.Plan(t.Context(), checkpoint.Plan{SourceID: id, Categories: []yp.Category{{Slug: "a", Name: "A"}}, Cities: []yp.City{
		{Slug: "perth", Name: "Perth", State: "WA", Tier: 1, Country: "AU"}, {Slug: "perth", Name: "Perth", State: "VIC", Tier: 1, Country: "AU"},
	}})
	noErr(t, err)
	_, err = b.FindTarget(t.Context(), "au/perth/a", 0)
	if err == nil || !strings.Contains(err.Error(), "au has several targets") || !strings.Contains(err.Error(), "by its id") {
		t.Errorf("a slug of two states: %v", err)
	}
	for _, c := range []struct {
		source int64
		words  string
		want   string // codes, or the error
	}{
		{0, "wa", "WA"},
		{0, "Washington|western australia|vic", "WA VIC"},
		{id, "victoria", "VIC"},
		{0, "California", "CA"},
		{id, "Washington", `unknown state "Washington": want one of Victoria (VIC), Western Australia (WA)`},
		{0, "Victora", `unknown state "Victora": did you mean Victoria (VIC)?`},
		{id, "NSW", `unknown state "NSW": want one of Victoria (VIC), Western Australia (WA)`},
	} {
		known, err := b.KnownStates(t.Context(), c.source)
		noErr(t, err)
		codes, err := known.Parse(strings.Split(c.words, "|"))
		got := strings.Join(codes, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of source %d: %s, want %s", c.words, c.source, got, c.want)
		}
	}
	for country, want := range map[string]int64{"AU": 1, "": 3, "US": 2} {
		all, err := b.States(t.Context(), store.Scope{States: []string{"WA"}}, report.StateMeasures[0], country)
		if err != nil || len(all.Rows) != 1 || all.Value(all.Rows[0], "targets") != want {
			t.Errorf("targets of WA in %q: %v, %v; want %d", country, all.Rows, err, want)
		}
	}
}
