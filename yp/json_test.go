package yp

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestJSON(t *testing.T) {
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
		"like times":   {map[string]any{"name": "2024-05-06T07:08:09.123456Z", "at": &at, "none": "0001-01-01T00:00:00Z"}, `{"at":"2026-11-20T23:50:00.000Z","name":"2024-05-06T07:08:09.123456Z","none":"0001-01-01T00:00:00Z"}`},
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

// FuzzJSON compares with encoding/json what holds no time, or one with the digits of TimeLayout.
func FuzzJSON(f *testing.F) {
	type inner struct {
		Left string `json:"left,omitempty"`
		Flag bool
		none string
	}
	type outer struct {
		inner
		*Place
		At    time.Time       `json:"at"`
		Also  *time.Time      `json:"also"`
		Any   any             `json:"any,omitempty"`
		List  []inner         `json:"list"`
		Map   map[Kind]*int   `json:"map,omitempty"`
		Raw   json.RawMessage `json:"raw"`
		Bytes []byte          `json:"bytes"`
		Ratio float64         `json:"ratio"`
		Skip  int             `json:"-"`
		Pair  [2]int8         `json:"pair"`
	}
	f.Add("2026-11-20T23:50:00Z", 0.0, uint8(0))
	f.Add("2026-11-20T23:50:00.5Z\\", 1.5, uint8(255))
	f.Fuzz(func(t *testing.T, text string, ratio float64, shape uint8) {
		at, n := time.Date(2026, 11, 20, 23, 50, 0, 123e6, time.UTC), 7
		v := outer{inner: inner{Left: text, none: text}, At: at, Ratio: ratio, Raw: json.RawMessage(`{"a": "<&>"}`)}
		if shape&1 != 0 {
			v.Also, v.Place = &at, &Place{City: text}
		}
		if shape&2 != 0 {
			v.List, v.Any = []inner{{Left: text}, {}}, []any{text, nil, 1, &n, inner{Flag: true}, []string{}}
		}
		if shape&4 != 0 {
			v.Map, v.Bytes = map[Kind]*int{KindDetail: nil, Kind(text): &n}, []byte(text)
		}
		got, err := JSON(v, "  "[:shape&8/4])
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  "[:shape&8/4])
		if wantErr := enc.Encode(v); (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, EscapeJSON(want.Bytes())) {
			t.Fatalf("got  %s %v\nwant %s %v", got, err, want.Bytes(), wantErr)
		}
	})
}
