package yp

import (
	"testing"
	"time"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 23, 50, 0, 123456789, time.UTC)
	for name, tt := range map[string]struct {
		v    any
		want string
	}{
		"a time":     {Stamp{at}, `"2026-11-20T23:50:00.123Z"`},
		"none":       {Stamp{}, `null`},
		"in a row":   {struct{ A, B Stamp }{A: Stamp{at}}, `{"A":"2026-11-20T23:50:00.123Z","B":null}`},
		"no escapes": {"Joe & Sons <x>", `"Joe & Sons <x>"`},
		"bidi":       {"a\u202eb", `"a\u202eb"`},
	} {
		got, err := JSON(tt.v, "")
		if err != nil || string(got) != tt.want+"\n" {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, tt.want)
		}
	}
}
