package yp

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Columns is how many columns of a terminal a printable text takes: 2 for a CJK character, none for a
// combining one.
func Columns(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

// Cut is as much of the beginning of a text as n columns hold. No character is taken apart.
func Cut(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var width int
		if cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state); width > n {
			break
		}
		n -= width
		end += len(cluster)
	}
	return s[:end]
}

// Shorten cuts a text to n columns and ends it with "…" where it was longer.
func Shorten(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	return strings.TrimRight(Cut(s, n-1), " ") + Cut("…", n)
}
