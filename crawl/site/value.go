package site

import (
	"regexp"
	"strconv"
	"strings"
)

// firstInt reads the first whole number of a text: "Showing 1,108" is 1108,
// "(12)" is 12, "25 Years" is 25. ok is false when there is none, or one too
// large to be a count.
func firstInt(s string) (n int, ok bool) {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return 0, false
	}
	const most = 1_000_000_000
	for ; i < len(s); i++ {
		switch {
		case digit(s[i]):
			if n = n*10 + int(s[i]-'0'); n > most {
				return 0, false
			}
		case s[i] == ',' && thousands(s[i+1:]):
		default:
			return n, true
		}
	}
	return n, true
}

// grouped is a number in groups of three, apart by dots or blanks.
var grouped = regexp.MustCompile(`^\d{1,3}(?:[. \x{a0}\x{202f}]\d{3})+$`)

// total reads a number of listings: as firstInt does, and "1.108" and "1 108" are 1108.
func total(s string) (n int, ok bool) {
	if s = strings.TrimSpace(s); grouped.MatchString(s) {
		s = strings.NewReplacer(".", "", " ", "", "\u00a0", "", "\u202f", "").Replace(s)
	}
	return firstInt(s)
}

// thousands reports whether s starts with exactly three digits.
func thousands(s string) bool {
	return len(s) >= 3 && digit(s[0]) && digit(s[1]) && digit(s[2]) && (len(s) == 3 || !digit(s[3]))
}

// rating reads a rating from 0.5 to 5: a number, or the words of a class,
// "result-rating four half".
func rating(s string) float64 {
	if r, err := strconv.ParseFloat(s, 64); err == nil {
		return inScale(r)
	}
	r := 0.0
	for w := range strings.FieldsSeq(s) {
		switch w {
		case "one":
			r++
		case "two":
			r += 2
		case "three":
			r += 3
		case "four":
			r += 4
		case "five":
			r += 5
		case "half":
			r += 0.5
		}
	}
	return inScale(r)
}

// inScale returns r, rounded to the halves that sites show; 0 when it is out
// of the scale.
func inScale(r float64) float64 {
	if !(r >= 0.25 && r <= 5) {
		return 0
	}
	return float64(int(r*2+0.5)) / 2
}

// priceRange returns "$" to "$$$$", or "".
func priceRange(s string) string {
	const most = "$$$$"
	if s == "" || len(s) > len(most) || s != most[:len(s)] {
		return ""
	}
	return most[:len(s)]
}
