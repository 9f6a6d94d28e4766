package web

import (
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// moment is a time in a cell. It is written in UTC, as the head of its column says; page.js writes both in the browser's zone.
// Sentences keep UTC, so that they say what a terminal says.
type moment struct{ time.Time }

// ISO is the time for programs.
func (m moment) ISO() string { return yp.FormatTime(m.Time) }

// Text is the time for people.
func (m moment) Text() string { return m.UTC().Format(time.DateTime) }

// Clock is the time of day, to the millisecond.
func (m moment) Clock() string { return m.UTC().Format("15:04:05.000") }

// Day is its date.
func (m moment) Day() string { return m.UTC().Format(time.DateOnly) }

// momentOf is the time that a column of a list has; nil = none.
func momentOf(column string, v any) *moment {
	text, ok := v.(string)
	if !ok || !report.IsTime(column) {
		return nil
	}
	return parseMoment(text)
}

func parseMoment(text string) *moment {
	at, err := yp.ParseTime(text)
	if err != nil {
		return nil
	}
	return &moment{at}
}
