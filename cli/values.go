package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// The values of flags that are more than a number or a text. Each implements
// cli.Generic, so that a wrong value is refused while flags are parsed, with
// the flag's name before the error's text. Read them with the functions below.

// timeOf returns the value of a flag made with minutesValue or ageValue.
func timeOf(c *cli.Context, name string) time.Duration {
	return c.Generic(name).(*timeValue).d
}

// delayOf returns the shortest and the longest pause of a delayValue flag.
func delayOf(c *cli.Context, name string) (shortest, longest time.Duration) {
	v := c.Generic(name).(*delayValue)
	return v.min, v.max
}

// pagesOf returns the value of a pagesValue flag: 0 when it was not given or the command has
// none, a negative number for "all".
func pagesOf(c *cli.Context, name string) int {
	if v, ok := c.Generic(name).(*pagesValue); ok {
		return v.n
	}
	return 0
}

// ratesOf returns the value of a ratesValue flag, nil when it was not given.
func ratesOf(c *cli.Context, name string) map[string]float64 {
	return c.Generic(name).(*ratesValue).rates
}

// pagesValue is a number of pages, or "all". Its zero value is "not given".
type pagesValue struct {
	n int
}

// Set implements cli.Generic.
func (v *pagesValue) Set(s string) error {
	if strings.EqualFold(s, "all") {
		v.n = -1
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("want a number of pages from 1 up, or all")
	}
	v.n = n
	return nil
}

// String implements cli.Generic; empty for "not given".
func (v *pagesValue) String() string {
	switch {
	case v == nil || v.n == 0:
		return ""
	case v.n < 0:
		return "all"
	}
	return strconv.Itoa(v.n)
}

// ratesValue is a list of named shares: "429=0.05,503=0.02". Each lies between
// 0 and 1, and so does their sum.
type ratesValue struct {
	known []string // the names there are; empty = any
	rates map[string]float64

	timed string         // the name of an item that is a number of seconds; "" = none
	after *time.Duration // its value; nil = not given
}

// Set implements cli.Generic.
func (v *ratesValue) Set(s string) error {
	rates, sum := map[string]float64{}, 0.0
	var after *time.Duration
	for _, item := range SplitList([]string{s}) {
		if name, text, _ := strings.Cut(item, "="); v.timed != "" && strings.EqualFold(strings.TrimSpace(name), v.timed) {
			n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
			if err != nil || after != nil {
				return fmt.Errorf("%q: want %s once, as a number of seconds: %[2]s=60", item, v.timed)
			}
			d := time.Duration(n) * time.Second //nolint:gosec // of 31 bits
			after = &d
			continue
		}
		name, share, err := v.parseRate(item)
		if err != nil {
			return err
		}
		if _, twice := rates[name]; twice {
			return fmt.Errorf("%q is given twice; give it once", name)
		}
		rates[name] = share
		sum += share
	}
	if sum > 1 {
		return fmt.Errorf("the shares add up to %g; make them add up to at most 1", sum)
	}
	v.rates, v.after = rates, after
	return nil
}

func (v *ratesValue) parseRate(item string) (name string, share float64, err error) {
	name, text, ok := strings.Cut(item, "=")
	name = strings.ToLower(strings.TrimSpace(name))
	share, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !ok || name == "" || err != nil || !(share >= 0 && share <= 1) {
		return "", 0, fmt.Errorf("%q: want name=share with a share from 0 to 1, like 429=0.05", item)
	}
	if len(v.known) == 0 || slices.Contains(v.known, name) {
		return name, share, nil
	}
	hint := "want one of " + strings.Join(v.known, ", ")
	if near, found := yp.Nearest(name, v.known); found {
		hint = "did you mean " + near + "?"
	}
	return "", 0, fmt.Errorf("unknown name %q: %s", name, hint)
}

// String implements cli.Generic, names in order.
func (v *ratesValue) String() string {
	if v == nil {
		return ""
	}
	items := make([]string, 0, len(v.rates))
	for name, share := range v.rates {
		items = append(items, name+"="+strconv.FormatFloat(share, 'g', -1, 64))
	}
	slices.Sort(items)
	if v.after != nil {
		items = append(items, fmt.Sprintf("%s=%d", v.timed, *v.after/time.Second))
	}
	return strings.Join(items, ",")
}

// listFlag is a flag that takes several values, "--states CA TX". It shows its
// name in help once: the library repeats it in brackets, which makes the left
// column wider than a terminal.
type listFlag struct{ cli.StringSliceFlag }

// String implements cli.Flag: the line of the flag in help.
func (f *listFlag) String() string {
	text := cli.FlagStringer(f)
	before, rest, ok := strings.Cut(text, " [ ")
	_, after, closed := strings.Cut(rest, " ]\t")
	if !ok || !closed {
		return text
	}
	return before + "\t" + after
}

// list makes a listFlag; shown stands for the default in help.
func list(name, usage, shown string, aliases ...string) cli.Flag {
	return &listFlag{cli.StringSliceFlag{Name: name, Usage: usage, DefaultText: shown, Aliases: aliases}}
}

// placesValue is a number of places, or "all".
type placesValue struct{ pagesValue }

// Set implements cli.Generic.
func (v *placesValue) Set(s string) error {
	if v.pagesValue.Set(s) != nil {
		return errors.New("want a number of places from 1 up, or all")
	}
	return nil
}

// placesOf returns the value of a placesValue flag: 0 when it was not given, a
// negative number for "all".
func placesOf(c *cli.Context, name string) int {
	return c.Generic(name).(*placesValue).n
}

// cityList splits values at commas as SplitList does, but keeps a state with
// the city before it: "Austin, TX" is one city.
func cityList(values []string) []string {
	var out []string
	for _, v := range values {
		var cities []string
		for _, part := range SplitList([]string{v}) {
			if n := len(cities); n > 0 && isStateCode(part) {
				cities[n-1] += " " + part
				continue
			}
			cities = append(cities, part)
		}
		out = append(out, cities...)
	}
	return out
}

// stateList takes values of several states apart, "CA TX" as a variable or the
// settings file may hold; "New York" stays one.
func stateList(values []string) []string {
	var out []string
	for _, v := range values {
		for _, part := range SplitList([]string{v}) {
			words := strings.Fields(part)
			if _, one := yp.LookupState(part); !one && len(words) > 1 && !slices.ContainsFunc(words, isNoState) {
				out = append(out, words...)
				continue
			}
			out = append(out, part)
		}
	}
	return out
}

func isNoState(s string) bool {
	_, ok := yp.LookupState(s)
	return !ok
}

func isStateCode(s string) bool {
	st, ok := yp.LookupState(s)
	return ok && strings.EqualFold(st.Code, s)
}

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
