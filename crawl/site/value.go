package site

import (
	"regexp"
	"strings"

	"ypcrawl/yp"
)

// grouped is a number in groups of three, apart by dots or blanks.
var grouped = regexp.MustCompile(`^\d{1,3}(?:[. \x{a0}\x{202f}]\d{3})+$`)

// total reads a number of listings: as yp.FirstInt does, and "1.108" and "1 108" are 1108.
func total(s string) (n int, ok bool) {
	if s = strings.TrimSpace(s); grouped.MatchString(s) {
		s = strings.NewReplacer(".", "", " ", "", "\u00a0", "", "\u202f", "").Replace(s)
	}
	return yp.FirstInt(s)
}
