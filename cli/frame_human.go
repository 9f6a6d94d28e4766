package cli

import (
	"cmp"
	"io"
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

// fold writes text behind lead. What is too long for the terminal w goes on below the text's beginning, or
// where that leaves little width, below the line's; elsewhere it stays one line.
func fold(w io.Writer, lead, text string) string {
	const little = 20
	width, in := widthOf(w), yp.Columns(lead)
	if !isTerminal(w) || in+yp.Columns(text) <= width {
		return lead + text
	}
	if width-in < little {
		text = strings.TrimLeft(lead+text, " ")
		lead = lead[:len(lead)-len(strings.TrimLeft(lead, " "))]
		in = len(lead)
	}
	return lead + strings.Join(yp.Wrap(text, width-in), "\n"+strings.Repeat(" ", in))
}

// foldLine folds a line, unless it is indented: what is to be typed stands so, and is copied.
func foldLine(w io.Writer, line string) string {
	if strings.HasPrefix(line, " ") {
		return line
	}
	return fold(w, "", line)
}
