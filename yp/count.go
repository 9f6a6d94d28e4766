package yp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Thousands writes n with separators: 1,234,567.
func Thousands(n int64) string {
	sign, digits := "", strconv.FormatInt(n, 10)
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	head := len(digits) % 3
	groups := make([]string, 0, len(digits)/3+1)
	if head > 0 {
		groups = append(groups, digits[:head])
	}
	for ; head < len(digits); head += 3 {
		groups = append(groups, digits[head:head+3])
	}
	return sign + strings.Join(groups, ",")
}

// Plural writes a count with its noun: "1 page", "1,200 pages", "2 searches", "2 companies".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if head, ok := strings.CutSuffix(noun, "y"); ok && head != "" && !strings.ContainsAny(head[len(head)-1:], "aeou") {
		return Thousands(int64(n)) + " " + head + "ies"
	}
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "sh") || strings.HasSuffix(noun, "ss") || strings.HasSuffix(noun, "x") {
		noun += "e"
	}
	return Thousands(int64(n)) + " " + noun + "s"
}

// Share writes a share in percent with one decimal, rounded as SQL rounds. What is not all is never shown as 100.0%.
func Share(percent float64) string {
	whole := percent >= 100
	percent = math.Round(10*percent) / 10
	if !whole {
		percent = min(percent, 99.9)
	}
	return fmt.Sprintf("%.1f%%", percent)
}

// Wrap breaks a text at its spaces into lines of at most width columns; the second and later
// ones begin with indent. A longer word has a line of its own.
func Wrap(text string, width int, indent string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) > width:
			lines, line = append(lines, line), indent+word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
