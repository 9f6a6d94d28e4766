package yp

import (
	"cmp"
	_ "embed"
	"strings"
)

// subdivisions are the first-level subdivisions of countries beside the USA, a line for each country: codes of ISO 3166-2 without the
// country, then the names, the official one first, others behind slashes. Where the codes are numbers, which nobody writes, the names alone.
//
//go:embed subdivisions.txt
var subdivisions string

// subdivision is a row of the table.
type subdivision struct {
	State
	others []string // further names
}

// subdivisionsOf returns the subdivisions of a country in the table.
func subdivisionsOf(country string) (list []subdivision) {
	for line := range strings.Lines(subdivisions) {
		code, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if code != country {
			continue
		}
		for entry := range strings.SplitSeq(rest, ";") {
			code, names, _ := strings.Cut(entry, ":")
			all := strings.Split(names, "/")
			list = append(list, subdivision{State{cmp.Or(code, all[0]), all[0]}, all[1:]})
		}
	}
	return list
}
