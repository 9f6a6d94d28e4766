package yp

import "testing"

func TestStreet(t *testing.T) {
	for in, want := range map[string]string{
		"1200 North Main Street":     "1200 n main st",
		"45 Fifth Avenue, Suite 300": "45 5th ave",
		"45 5th Ave Ste #300-B":      "45 5th ave",
		"600 Congress Ave, 9th Fl":   "600 congress ave",
		"9th Floor":                  "9th",
		"9 St. Charles Avenue":       "9 st charles ave",
		"Rt #9 Box 10":               "rte 9 box 10",
		"12 Office Park Dr":          "12 office park dr",
		"12 Unit Rd":                 "12 unit rd",
		"P.O. Box 12":                "po box 12",
		"310 Northeast Broadway":     "310 ne broadway",
		"Suite 5":                    "suite 5", // no number before it: no unit of anything
		"N/A":                        "",
		"":                           "",
	} {
		if got := string(appendStreet(nil, in)); got != want {
			t.Errorf("appendStreet(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzStreet(f *testing.F) {
	for _, s := range []string{"12 N. Main St, Suite #4", "9th Floor", "#", "1 fl", "1 ste", "2 2 fl", "12 ste 4 ste 5", "\xff #9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(appendStreet(nil, s))
		if again := string(appendStreet([]byte("x|"), s)); again != "x|"+got {
			t.Errorf("%q: %q, behind other text %q", s, got, again)
		}
		if len(got) > 0 && (got[0] == ' ' || got[len(got)-1] == ' ') || Printable(got) != got {
			t.Errorf("%q: %q", s, got)
		}
	})
}
