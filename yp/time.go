package yp

import (
	"encoding/json"
	"fmt"
	"time"
)

// TimeLayout is how every time is written, in the database, the logs and JSON:
// UTC, to the millisecond, so that text order is time order.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime writes t in TimeLayout.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

// DayTime is the layout of times that people read where the date matters: "2026-11-20 14:05:33 UTC".
const DayTime = time.DateTime + " UTC"

// ClockTime writes a time near now for people: "14:05:33 UTC", with its date when that is
// another one: "2026-11-20 14:05 UTC".
func ClockTime(now, t time.Time) string {
	now, t = now.UTC(), t.UTC()
	if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return Minute(t)
	}
	return t.Format(time.TimeOnly + " UTC")
}

// Minute writes a time of any day for people: "2026-11-20 14:05 UTC".
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// ParseTime reads a time in TimeLayout.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(TimeLayout, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: want the form 2026-11-20T23:50:00.000Z", s)
	}
	return t.UTC(), nil
}

// Stamp is a time whose JSON is the text of TimeLayout.
type Stamp struct{ time.Time }

// MarshalJSON writes the time in TimeLayout, the zero time as null.
func (s Stamp) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + FormatTime(s.Time) + `"`), nil
}

// UnmarshalJSON reads a time in TimeLayout or, from logs that were edited
// by hand, in RFC 3339. Of null it stays as it is.
func (s *Stamp) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	if text == nil {
		return nil
	}
	t, err := ParseTime(*text)
	if err != nil {
		other, otherErr := time.Parse(time.RFC3339, *text)
		if otherErr != nil {
			return err
		}
		t = other.UTC()
	}
	s.Time = t
	return nil
}
