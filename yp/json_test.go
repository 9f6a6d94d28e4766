package yp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		v    any
		want string
	}{
		"whole second": {at, `"2026-11-20T23:50:00.000Z"`},
		"nanoseconds":  {at.Add(123456789), `"2026-11-20T23:50:00.123Z"`},
		"none":         {time.Time{}, `null`},
		"several":      {[]any{at, "x", &at, time.Time{}}, `["2026-11-20T23:50:00.000Z","x","2026-11-20T23:50:00.000Z",null]`},
		"in a row":     {struct{ A, B time.Time }{at, at}, `{"A":"2026-11-20T23:50:00.000Z","B":"2026-11-20T23:50:00.000Z"}`},
		"in a text":    {[]string{`at "2026-11-20T23:50:00Z"`, "from 2026-11-20T23:50:00Z", "Z", "JAZZ"}, `["at \"2026-11-20T23:50:00Z\"","from 2026-11-20T23:50:00Z","Z","JAZZ"]`},
		"no escapes":   {"Joe & Sons <x>", `"Joe & Sons <x>"`},
		"bidi":         {"a\u202eb", `"a\u202eb"`},
	} {
		got, err := JSON(tt.v, "")
		if err != nil || string(got) != tt.want+"\n" {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, tt.want)
		}
	}
}

// What is no time comes back from JSON as it went in.
func FuzzJSON(f *testing.F) {
	f.Add(`"2026-11-20T23:50:00Z"`)
	f.Add("2026-11-20T23:50:00.5Z\\")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		data, err := JSON([]string{text, text}, "")
		var got []string
		if err != nil || json.Unmarshal(data, &got) != nil || len(got) != 2 || got[0] != got[1] {
			t.Fatalf("%q: got %s, %v", text, data, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil && got[0] != text {
			t.Errorf("%q: got %s", text, data)
		}
	})
}
