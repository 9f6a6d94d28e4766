package report

import (
	"encoding/json"
	"math"
)

// Lengths of time as JSON has them: in seconds, or in milliseconds where the column is so; the key says which, and
// null stands for none.

// Seconds is a length of time; less than 0 = not known.
type Seconds float64

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if s < 0 {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(1000*float64(s)) / 1000)
}
