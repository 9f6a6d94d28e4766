package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// How numbers and times are written for people: as on the page, by the rules of yp.

func thousands(n int64) string { return yp.Thousands(n) }

func plural[N int | int64](n N, noun string) string { return yp.Plural(n, noun) }

func lasting(d time.Duration) string { return yp.Lasting(d) }

func ago(now, t time.Time) string { return yp.Ago(now, t) }

// orDash is a text, and "–" for one that is not known, as report.Cell has it.
func orDash(s string) string { return cmp.Or(s, "–") }

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1e3)
}

// commas joins the parts that there are.
func commas(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
