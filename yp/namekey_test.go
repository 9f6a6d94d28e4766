package yp

import "testing"

func TestNameStem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Hernandez Roofing & Siding":     "hernandez roofing",
		"Hernandez Roofing":              "hernandez roofing",
		"Acme":                           "acme",
		"The Law Offices of Ann B. Carr": "ann b",
		"Law Office of Ann Carr":         "ann carr",
		"Dr. John Smith, DDS":            "john smith",
		"Dr":                             "dr",
		"Law Office":                     "office",
		"":                               "",
		"A":                              "a",
		"Of The":                         "of",
	} {
		if got := nameStem(keyName(name)); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
