package cli

import (
	"errors"
	"fmt"
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
