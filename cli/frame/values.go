package frame

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// value is that of a flag that takes more than a number or a text. A wrong one is refused
// while flags are parsed, with the flag's name before the error's text.
type value[T any] struct {
	v     T
	parse func(string) (T, error)
	text  func(T) string
}

// Set implements cli.Generic.
func (v *value[T]) Set(s string) error {
	x, err := v.parse(s)
	if err == nil {
		v.v = x
	}
	return err
}

// String implements cli.Generic; the help shows it as the default. The flag package asks a zero value, too.
func (v *value[T]) String() string {
	if v == nil || v.text == nil {
		return ""
	}
	return v.text(v.v)
}

// Value returns the value of a flag made with a function named ...Value, T's zero value where the command has none of
// that name.
func Value[T any](c *cli.Context, name string) (x T) {
	if v, ok := c.Generic(name).(*value[T]); ok {
		return v.v
	}
	return x
}

// TimeOf returns the value of a flag made with MinutesValue, DaysValue or AgeValue.
func TimeOf(c *cli.Context, name string) time.Duration { return Value[time.Duration](c, name) }

// MinutesValue is a length of time where a bare number means minutes: "120", "2h", "90s". The help of
// its flag says MINUTES.
func MinutesValue(def time.Duration) cli.Generic { return timeValue(def, "m") }

// DaysValue is one where a bare number means days: "90", "90d", "12w". The help says DAYS.
func DaysValue(def time.Duration) cli.Generic { return timeValue(def, "d") }

// AgeValue is one that needs a unit: "2d", "36h", "1w". The help says TIME.
func AgeValue(def time.Duration) cli.Generic { return timeValue(def, "") }

// timeValue is a length of time; bare is the unit of a number without one, "" refuses it.
func timeValue(def time.Duration, bare string) cli.Generic {
	return &value[time.Duration]{v: def, text: yp.ShortTime, parse: func(s string) (time.Duration, error) {
		if s = strings.TrimSpace(s); isNumber(s) {
			s += bare
		}
		d, err := parseTime(s)
		if example := map[string]string{"m": "minutes (120)", "d": "days (90)"}[bare]; example != "" && errors.Is(err, errNoTime) {
			err = fmt.Errorf("want %s or a time with a unit (90s, 2h, 1d12h)", example)
		}
		return d, err
	}}
}

// delay is a pause between two requests, or a range of pauses.
type delay struct{ shortest, longest time.Duration }

// DelayValue is a delay: "2s", "1s-3s", "0".
func DelayValue(def time.Duration) cli.Generic {
	return &value[delay]{v: delay{def, def}, parse: parseDelay, text: func(d delay) string {
		if d.shortest == d.longest {
			return yp.ShortTime(d.shortest)
		}
		return yp.ShortTime(d.shortest) + "-" + yp.ShortTime(d.longest)
	}}
}

// DelayOf returns the shortest and the longest pause of a DelayValue flag.
func DelayOf(c *cli.Context, name string) (shortest, longest time.Duration) {
	d := Value[delay](c, name)
	return d.shortest, d.longest
}

func parseDelay(s string) (d delay, err error) {
	from, to, isRange := strings.Cut(s, "-")
	if isRange && from == "" {
		return d, errNegative
	}
	if !isRange {
		to = from
	}
	if d.shortest, err = parseTime(from); err == nil {
		d.longest, err = parseTime(to)
	}
	switch {
	case errors.Is(err, errNoTime):
		return d, errors.New("want a pause like 2s, a range like 1s-3s, or 0")
	case err == nil && d.longest < d.shortest:
		return d, fmt.Errorf("the range is reversed; write %s-%s", yp.ShortTime(d.longest), yp.ShortTime(d.shortest))
	}
	return d, err
}

// CountValue is a number of things, or "all", which CountOf gives as -1; 0 is "not given".
func CountValue(things string) cli.Generic {
	parse := func(s string) (int, error) {
		if strings.EqualFold(s, "all") {
			return -1, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("want a number of %s from 1 up, or all", things)
		}
		return n, nil
	}
	return &value[int]{parse: parse, text: func(n int) string {
		switch {
		case n == 0:
			return ""
		case n < 0:
			return "all"
		}
		return strconv.Itoa(n)
	}}
}

// CountOf returns the value of a CountValue flag.
func CountOf(c *cli.Context, name string) int { return Value[int](c, name) }

// ShareValue is a share of a whole in percent, "10%" or "2.5%": 0.1, 0.025.
func ShareValue(def float64) cli.Generic {
	parse := func(text string) (float64, error) {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
		part, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !ok || err != nil || !(part >= 0 && part <= 100) {
			return 0, errors.New("want a share from 0% to 100%, like 10%")
		}
		return part / 100, nil
	}
	return &value[float64]{v: def, parse: parse, text: func(part float64) string { return strconv.FormatFloat(100*part, 'f', -1, 64) + "%" }}
}

// Day is a day of a setting such as keep-logs.
const Day = 24 * time.Hour

// maxTime bounds every length of time a user may give. Far beyond any use, and
// far below the overflow of time.Duration (292 years).
const maxTime = 100 * 365 * Day

var (
	errNoTime   = errors.New("want a number with a unit, like 90s, 15m, 2h, 2d or 1d12h, and at most 100 years")
	errNegative = errors.New("a length of time can't be negative")
)

// inDays finds the parts of a length of time that Go does not know.
var inDays = regexp.MustCompile(`([\d.]+)([dw])`)

// parseTime reads a length of time: Go's durations with days and weeks added
// ("1w2d12h30m"). Only "0" may go without a unit.
func parseTime(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if isNumber(s) && strings.Trim(s, "0.") != "" {
		return 0, fmt.Errorf("a unit is missing: write %[1]ss, %[1]sm, %[1]sh or %[1]sd", s)
	}
	total, err := time.ParseDuration(inDays.ReplaceAllStringFunc(s, func(part string) string {
		n, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if err != nil {
			return part // which Go refuses
		}
		hours := map[byte]float64{'d': 24, 'w': 7 * 24}[part[len(part)-1]]
		return strconv.FormatFloat(n*hours, 'f', -1, 64) + "h"
	}))
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, errNegative
	case err != nil || total > maxTime || strings.HasPrefix(s, "+"):
		return 0, errNoTime
	}
	return total.Round(time.Microsecond), nil
}

// ParseAge reads a length of time as AgeValue does; one without a unit is an error, 0 too.
func ParseAge(s string) (time.Duration, error) {
	if isNumber(s) {
		return 0, errNoTime
	}
	return parseTime(s)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") <= 1
}

// zeros before a whole number, behind its sign.
var zeros = regexp.MustCompile(`^([+-]?)0+([0-9]+)$`)

// decimal returns the value of a flag without zeros before a whole number: the flag package would read "010" as eight.
func decimal(f cli.Flag, value string) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		return zeros.ReplaceAllString(value, "$1$2")
	}
	return value
}

// WordsFlag makes a flag that takes several values, "--states CA TX"; shown stands for the default in help.
func WordsFlag(name, usage, shown string, aliases ...string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Usage: usage, DefaultText: shown, Aliases: aliases}
}

// SplitList splits values at commas, so that "--states CA,TX" equals
// "--states CA TX". Spaces around a value and empty values are dropped. It is
// not for flags whose values hold commas ("Los Angeles, CA").
func SplitList(values []string) []string {
	var list []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// CityList splits values at commas as SplitList does, but keeps the code of a state of the set with
// the city before it: "Austin, TX" is one city. A state without a code goes by its name, which cities have, too: "Innsbruck,
// Wien" are two.
func CityList(values []string, states States) []string {
	var out []string
	for _, v := range values {
		var cities []string
		for _, part := range SplitList([]string{v}) {
			st, state := states.Lookup(part)
			if n := len(cities); n > 0 && state && st.Code != st.Name && strings.EqualFold(st.Code, part) {
				cities[n-1] += " " + part
				continue
			}
			cities = append(cities, part)
		}
		out = append(out, cities...)
	}
	return out
}

// StateList takes values of several states of the set apart, "CA TX" as a variable or the
// settings file may hold; "New York" stays one.
func StateList(values []string, states States) []string {
	isState := func(s string) bool { _, ok := states.Lookup(s); return ok }
	var out []string
	for _, v := range values {
		for _, part := range SplitList([]string{v}) {
			words := strings.Fields(part)
			if !isState(part) && len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return !isState(w) }) {
				out = append(out, words...)
				continue
			}
			out = append(out, part)
		}
	}
	return out
}

// SizeValue is a number of bytes (int64): "500MB", "2GB".
func SizeValue(def int64) cli.Generic {
	units := []struct {
		name string
		n    int64
	}{{"GB", 1e9}, {"MB", 1e6}}
	parse := func(s string) (int64, error) {
		for _, u := range units {
			number, ok := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(s)), u.name)
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if ok && err == nil && n > 0 && n < 1e6 {
				return int64(n * float64(u.n)), nil
			}
		}
		return 0, errors.New("want a size like 500MB or 2GB")
	}
	return &value[int64]{v: def, parse: parse, text: func(n int64) string {
		for _, u := range units {
			if n >= u.n {
				return strconv.FormatFloat(float64(n)/float64(u.n), 'g', -1, 64) + u.name
			}
		}
		return strconv.FormatInt(n, 10)
	}}
}
