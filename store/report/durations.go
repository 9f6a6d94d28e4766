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
func (s Seconds) MarshalJSON() ([]byte, error) { return orNull(float64(s), s >= 0) }

func orNull(n float64, known bool) ([]byte, error) {
	if !known {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(1000*n) / 1000)
}
