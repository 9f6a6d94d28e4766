package frame

import (
	"io"
	"strings"

	"ypcrawl/yp"
)

// hanging is how the second and later lines of a text begin.
const hanging = "  "

// fold writes text behind lead. What is too long for the terminal w goes on below the text's beginning, or
// where that leaves little width, below the line's; elsewhere it stays one line.
func fold(w io.Writer, lead, text string) string {
	const little = 20
	width, in := widthOf(w), yp.Columns(lead)
	if !IsTerminal(w) || in+yp.Columns(text) <= width {
		return lead + text
	}
	if width-in < little {
		text = strings.TrimLeft(lead+text, " ")
		lead = lead[:len(lead)-len(strings.TrimLeft(lead, " "))]
		in = len(lead)
	}
	return lead + strings.Join(yp.Wrap(text, width-in, hanging), "\n"+strings.Repeat(" ", in))
}

// foldLine folds a line, unless it is indented: what is to be typed stands so, and is copied.
func foldLine(w io.Writer, line string) string {
	if strings.HasPrefix(line, " ") {
		return line
	}
	return fold(w, "", line)
}
