package yp

import (
	"slices"
	"strings"
	"testing"
)

func TestStates(t *testing.T) {
	all := States()
	if len(all) != 51 {
		t.Fatalf("%d states, want 50 and DC", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b State) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("not sorted by code")
	}
	for _, st := range all {
		for _, in := range []string{
			st.Code, strings.ToLower(st.Code), " " + st.Name + " ", strings.ToUpper(st.Name), strings.ReplaceAll(st.Name, " ", "-"),
			strings.ReplaceAll(strings.ToLower(st.Name), " ", "_"),
		} {
			if got, ok := LookupState(in); got != st || !ok {
				t.Errorf("LookupState(%q) = %v, %t", in, got, ok)
			}
		}
	}
	all[0] = State{}
	if States()[0].Code != "AK" {
		t.Error("a caller changed the states")
	}
}

func TestLookupState(t *testing.T) {
	for in, want := range map[string]string{
		"D.C.": "DC", "Washington, D.C.": "DC", "washington dc": "DC", "Washington": "WA", "N.Y.": "NY",
		"": "", "PR": "", "Californi": "", "New": "", "C A": "", "--": "", strings.Repeat("a", 1<<20): "", "C\x00A": "", "\xff": "",
	} {
		if got, ok := LookupState(in); got.Code != want || ok != (want != "") {
			t.Errorf("LookupState(%.20q) = %v, want %q", in, got, want)
		}
	}
}

func TestParseStates(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{nil, nil},
		{[]string{"CA", "TX"}, []string{"CA", "TX"}},
		{[]string{"TX,CA"}, []string{"TX", "CA"}},
		{[]string{"ca, New York ,,texas", "CA"}, []string{"CA", "NY", "TX"}},
		{[]string{"", ","}, nil},
		{[]string{" All "}, nil},
	} {
		if got, err := ParseStates(test.args); !slices.Equal(got, test.want) || err != nil {
			t.Errorf("ParseStates(%q) = %q, %v; want %q", test.args, got, err, test.want)
		}
	}
	for in, want := range map[string]string{
		"Califronia":   `unknown state "Califronia": did you mean California (CA)?`,
		"Texes":        `unknown state "Texes": did you mean Texas (TX)?`,
		"new yrok":     `unknown state "new yrok": did you mean New York (NY)?`,
		"CF":           `unknown state "CF": did you mean California (CA)?`,
		"Narnia-Land!": `unknown state "Narnia-Land!": want a two-letter code or a full name, such as CA or California`,
	} {
		if _, err := ParseStates([]string{"TX", in}); err == nil || err.Error() != want {
			t.Errorf("ParseStates(%q): got %v\nwant %s", in, err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"plumbers", "Electricians", "dentists", "auto-repair", "restaurants"}
	for in, want := range map[string]string{
		"plumber": "plumbers", "PLUMBRES": "plumbers", "electricans": "Electricians", "dentits": "dentists", "resturants": "restaurants",
		"": "", "zebra": "", "x": "", strings.Repeat("plumbers", 1<<16): "", "\xff\xfe": "",
	} {
		if got, ok := Nearest(in, words); got != want || ok != (want != "") {
			t.Errorf("Nearest(%.20q) = %q, %t; want %q", in, got, ok, want)
		}
	}
	t.Run("FirstLetterWins", func(t *testing.T) {
		if got, _ := Nearest("cat", []string{"bat", "car", "can"}); got != "car" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("None", func(t *testing.T) {
		if got, ok := Nearest("a", []string{"", strings.Repeat("a", 1000)}); ok {
			t.Errorf("got %q", got)
		}
	})
}
