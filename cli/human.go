package cli

import (
	"strconv"
	"time"

	"ypcrawl/yp"
)

// How numbers and times are written for people: as on the page, by the rules of yp.

func thousands(n int64) string { return yp.Thousands(n) }

func plural[N int | int64](n N, noun string) string { return yp.Plural(n, noun) }

func lasting(d time.Duration) string { return yp.Lasting(d) }

func ago(now, t time.Time) string { return yp.Ago(now, t) }

func moment(now, t time.Time) string { return yp.Moment(now, t) }

func millis(ms *int64) string { return yp.Millis(ms) }

// percentOf is a share as a cell, of which whole is 100 %; nil is "-".
func percentOf(share *float64, scale float64) any {
	if share == nil {
		return nil
	}
	return percent(scale * *share)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// codeText is an error code as people are told it, see yp.ErrorCode.Text.
func codeText(code string, byProxy bool) string { return yp.ErrorCode(code).Text(byProxy) }

// idText is an id as a cell: a name, with no separators, so that it can be typed.
func idText(id int64) string { return strconv.FormatInt(id, 10) }

// widthLeft is how wide the widest text of a table may be, beside so many columns of the
// terminal that the others take.
func (p *Program) widthLeft(others int) int {
	if isTerminal(p.Out) {
		return max(20, widthOf(p.Out)-others)
	}
	return 120
}
