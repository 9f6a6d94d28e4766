package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

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
