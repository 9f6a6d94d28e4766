package site

import "testing"

func TestHasPhone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"call (217) 555-0100 now": true, "217-555-0100": true, "217.555.0100": true, "2175550100": false, "1217-555-0100": false,
		"217-555-01001": false, "in 2019-11-2020": false, "": false,
	} {
		if got := phoneForm.MatchString(in); got != want {
			t.Errorf("%q: got %t, want %t", in, got, want)
		}
	}
}
