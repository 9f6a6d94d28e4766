package yp

import (
	"slices"
	"strings"
	"testing"
)

func TestStateSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ country, in, read string }{
		{"DE", "Bayern", "BY"},
		{"DE", "by", "BY"},
		{"DE", "Bavaria", "BY"},
		{"DE", "Baden-Württemberg", "BW"},
		{"DE", "baden wuerttemberg", "BW"},
		{"DE", "THÜRINGEN", "TH"},
		{"DE", "Oberpfalz", "Oberpfalz"},
		{"DE", "CA", "CA"},
		{"DE", "80331", ""},
		{"DE", "", ""},
		{"AU", "wa", "WA"},
		{"AU", "Western Australia", "WA"},
		{"AU", "New South Wales", "NSW"},
		{"CA", "Ontario", "ON"},
		{"CA", "Québec", "QC"},
		{"CA", "quebec", "QC"},
		{"AT", "Vienna", "Wien"},
		{"CH", "Zürich", "ZH"},
		{"CH", "Zuerich", "ZH"},
		{"GB", "Scotland", "SCT"},
		{"GB", "Greater London", "Greater London"},
		{"BR", "São Paulo", "SP"},
		{"MX", "CDMX", "CMX"},
		{"IN", "Tamil Nadu", "TN"},
		{"IT", "lombardy", "Lombardia"},
		{"IT", "MI", "MI"},
		{"ES", "Cataluña", "CT"},
		{"FR", "Ile de France", "IDF"},
		{"JP", "東京都", "東京都"},
		{"DE", strings.Repeat("x", MaxState+1), ""},
		{"US", "washington", "WA"},
		{"US", "ON", "ON"},
		{"US", "Ontario", ""},
		{"US", "Bayern", ""},
	} {
		if got := StatesOf(test.country).Read(test.in); got != test.read {
			t.Errorf("%s: Read(%q) = %q, want %q", test.country, test.in, got, test.read)
		}
	}
	if st, ok := StatesOf("DE").Lookup("Alabama"); ok {
		t.Errorf("Alabama is %v in Germany", st)
	}
}

func TestStateSetOfASource(t *testing.T) {
	t.Parallel()
	some := StatesOf("DE").Only([]State{{"Bayern", "Bayern"}, {"SN", "SN"}, {"Franken", "Franken"}}, false)
	if got, want := some.All(), []State{{"BY", "Bayern"}, {"Franken", "Franken"}, {"SN", "Sachsen"}}; !slices.Equal(got, want) {
		t.Errorf("All() = %v, want %v", got, want)
	}
	own := StatesOf("DE").Only([]State{{"BAV", "Bayern"}, {"SN", "Sachsen"}}, true)
	for in, want := range map[string]string{"Bayern": "BAV", "bav": "BAV", "sachsen": "SN", "Saxony": "SN", "Hessen": "Hessen", "BY": "BY"} {
		if got := own.Read(in); got != want {
			t.Errorf("Read(%q) = %q, want %q", in, got, want)
		}
	}
	for _, test := range []struct {
		set  *StateSet
		args []string
		want string
		err  string
	}{
		{some, []string{"bayern", "Sachsen,BY"}, "BY SN", ""},
		{some, []string{"all"}, "", ""},
		{some, []string{"Bayer"}, "", `unknown state "Bayer": did you mean Bayern (BY)?`},
		{some, []string{"Hessen"}, "", `unknown state "Hessen": want one of Bayern (BY), Franken, Sachsen (SN)`},
		{StatesOf("AU"), []string{"WA"}, "WA", ""},
		{StatesOf("AU"), []string{"Western Australa"}, "", `unknown state "Western Australa": did you mean Western Australia (WA)?`},
		{StatesOf("JP").Only([]State{{}}, false), []string{"Tokyo"}, "", `unknown state "Tokyo": the source's places have no states`},
		{StatesOf("US"), []string{"wa", "texas"}, "WA TX", ""},
	} {
		got, err := test.set.Parse(test.args)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if strings.Join(got, " ") != test.want || text != test.err {
			t.Errorf("Parse(%q) = %q, %q; want %q, %q", test.args, got, text, test.want, test.err)
		}
	}
}

// TestSubdivisions: codes and names of the table are well formed, and no name is that of two.
func TestSubdivisions(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(strings.TrimSpace(subdivisions)) {
		country := line[:2]
		if !slices.Contains(countries, country) {
			t.Errorf("%q is no country", country)
		}
		had := map[string]string{}
		for _, d := range subdivisionsOf(country) {
			if d.Name == "" || d.Code != d.Name && (len(d.Code) > 3 || strings.ToUpper(d.Code) != d.Code) {
				t.Errorf("%s has %q", country, d)
			}
			for _, name := range append(d.others, d.Code, d.Name) {
				if other, taken := had[nameKey(name)]; taken && other != d.Code {
					t.Errorf("%s: %q is %s and %s", country, name, other, d.Code)
				}
				had[nameKey(name)] = d.Code
			}
		}
	}
}
