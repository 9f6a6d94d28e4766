package yp

import "strings"

// FirstInt reads the first whole number of a text: "Showing 1,108" is 1108,
// "(12)" is 12, "25 Years" is 25. ok is false when there is none, or one too
// large to be a count.
func FirstInt(s string) (n int, ok bool) {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return 0, false
	}
	const most = 1_000_000_000
	for ; i < len(s); i++ {
		switch {
		case isDigit(s[i]):
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

// thousands reports whether s starts with exactly three digits.
func thousands(s string) bool {
	return len(s) >= 3 && AllDigits(s[:3]) && (len(s) == 3 || !isDigit(s[3]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// PriceRange returns "$" to "$$$$", or "".
func PriceRange(s string) string {
	const most = "$$$$"
	if s == "" || len(s) > len(most) || s != most[:len(s)] {
		return ""
	}
	return most[:len(s)]
}
