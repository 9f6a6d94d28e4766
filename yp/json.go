package yp

import (
	"bytes"
	"encoding/json"
	"time"
)

// JSON writes v as JSON with a line end, indented by indent. Times are those of TimeLayout, the zero time is null. Control
// characters that encoding/json leaves as they are (bidi overrides, C1) are escaped, so that no name acts on a terminal.
func JSON(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // "&" is common in names
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return EscapeJSON(stampJSON(buf.Bytes())), err
}

// stampJSON writes the times of a JSON text, which encoding/json gives as many digits as they need, in TimeLayout.
func stampJSON(text []byte) []byte {
	const longest = len(`"2006-01-02T15:04:05.000000000Z"`)
	var out []byte
	done := 0
	for i := 0; ; {
		end := bytes.Index(text[i:], []byte(`Z"`))
		if end < 0 {
			break
		}
		end += i + 2
		i = end
		begin := bytes.LastIndexByte(text[max(0, end-longest):end-1], '"')
		if begin < 0 {
			continue
		}
		begin += max(0, end-longest)
		t, err := time.Parse(time.RFC3339Nano, string(text[begin+1:end-1]))
		if err != nil || begin > 0 && text[begin-1] == '\\' {
			continue
		}
		out = append(out, text[done:begin]...)
		if t.IsZero() {
			out = append(out, "null"...)
		} else {
			out = append(append(append(out, '"'), FormatTime(t)...), '"')
		}
		done = end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
