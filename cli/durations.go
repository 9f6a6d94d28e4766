package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// maxTime bounds every length of time a user may give. Far beyond any use, and
// far below the overflow of time.Duration (292 years).
const maxTime = 100 * 365 * 24 * time.Hour

var (
	errNoTime     = errors.New("want a number with a unit, like 90s, 15m, 2h, 2d or 1d12h")
	errNegative   = errors.New("a length of time can't be negative")
	errTooLong    = errors.New("that is more than 100 years; give a shorter time")
	errNoUnit     = errors.New("a unit is missing: write 90s, 15m, 2h or 2d")
	errBadMinutes = errors.New("want minutes (120) or a time with a unit (90s, 2h, 1d12h)")
)

// parseTime reads a length of time: Go's durations with days and weeks added
// ("1w2d12h30m"). A number without a unit counts as bare; with bare 0 only "0"
// may go without one.
func parseTime(s string, bare time.Duration) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "-") {
		return 0, errNegative
	}
	if number, unit := cutNumber(s); number != "" && unit == "" {
		if bare == 0 && strings.Trim(number, "0.") != "" {
			return 0, errNoUnit
		}
		return scale(number, max(bare, time.Second))
	}
	return sumParts(s)
}

// sumParts adds up the parts of "1d12h".
func sumParts(s string) (time.Duration, error) {
	if s == "" {
		return 0, errNoTime
	}
	var total time.Duration
	for s != "" {
		number, rest := cutNumber(s)
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzµμ"))]
		d, err := part(number, unit)
		if err != nil {
			return 0, err
		}
		if total += d; total > maxTime {
			return 0, errTooLong
		}
		s = rest[len(unit):]
	}
	return total, nil
}

func part(number, unit string) (time.Duration, error) {
	switch unit {
	case "d":
		return scale(number, 24*time.Hour)
	case "w":
		return scale(number, 7*24*time.Hour)
	case "":
		return 0, errNoTime
	}
	d, err := time.ParseDuration(number + unit)
	if err != nil {
		return 0, errNoTime
	}
	return d, nil
}

// scale returns number units, rounded to the nanosecond.
func scale(number string, unit time.Duration) (time.Duration, error) {
	var n float64
	if _, err := fmt.Sscanf(number, "%g", &n); err != nil || strings.Count(number, ".") > 1 {
		return 0, errNoTime
	}
	d := n * float64(unit)
	if d > float64(maxTime) {
		return 0, errTooLong
	}
	return time.Duration(math.Round(d)), nil
}

// cutNumber splits the digits and points off the start of s.
func cutNumber(s string) (number, rest string) {
	rest = strings.TrimLeft(s, "0123456789.")
	return s[:len(s)-len(rest)], rest
}

// timeValue is the value of a flag that takes a length of time.
type timeValue struct {
	d    time.Duration
	bare time.Duration // what a number without a unit counts
}

// minutesValue is a length of time where a bare number means minutes:
// "120", "2h", "90s". def is the default.
func minutesValue(def time.Duration) *timeValue {
	return &timeValue{d: def, bare: time.Minute}
}

// ageValue is a length of time that needs a unit: "2d", "36h", "1w".
func ageValue(def time.Duration) *timeValue {
	return &timeValue{d: def}
}

// Set implements cli.Generic.
func (v *timeValue) Set(s string) error {
	d, err := parseTime(s, v.bare)
	if errors.Is(err, errNoTime) && v.bare == time.Minute {
		return errBadMinutes
	}
	if err != nil {
		return err
	}
	v.d = d
	return nil
}

// String implements cli.Generic; the help shows it as the default.
func (v *timeValue) String() string {
	if v == nil {
		return ""
	}
	return shortTime(v.d)
}

// delayValue is a pause or a range of pauses: "2s", "1s-3s", "0".
type delayValue struct {
	min, max time.Duration
}

// Set implements cli.Generic.
func (v *delayValue) Set(s string) error {
	from, to, isRange := strings.Cut(s, "-")
	if strings.HasPrefix(s, "-") {
		return errNegative
	}
	if !isRange {
		to = from
	}
	low, err := parseTime(from, 0)
	if err != nil {
		return delayError(err)
	}
	high, err := parseTime(to, 0)
	if err != nil {
		return delayError(err)
	}
	if high < low {
		return fmt.Errorf("the range runs backwards; write %s-%s", shortTime(high), shortTime(low))
	}
	v.min, v.max = low, high
	return nil
}

func delayError(err error) error {
	if errors.Is(err, errNoTime) {
		return errors.New("want a pause like 2s, a range like 1s-3s, or 0")
	}
	return err
}

// String implements cli.Generic; the help shows it as the default.
func (v *delayValue) String() string {
	switch {
	case v == nil:
		return ""
	case v.min == v.max:
		return shortTime(v.min)
	}
	return shortTime(v.min) + "-" + shortTime(v.max)
}

// shortTime writes a duration as a user would: "2h", "1h30m", "90ms", "0".
func shortTime(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
