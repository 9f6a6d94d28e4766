package web

import (
	"fmt"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// window is the time that a plot shows, in columns of equal length.
type window struct {
	from, to, now time.Time
	bin           time.Duration
}

// A run counts requests on every minute. A minute is shown when it is surely counted to its end; until some time later it is
// no gap that it has no figures.
const (
	shownAfter = 2 * time.Minute // its begin
	gapAfter   = 4 * time.Minute
)

// windowOf is the last hours, in columns of some minutes. Where all is of the last hour, it is that hour, minute by minute.
func windowOf(rates []report.RequestRate, now time.Time) window {
	if w := windowTo(now, time.Hour, time.Minute); len(rates) > 0 && !rates[0].At.Before(w.from) {
		return w
	}
	return windowTo(now, plotHours*time.Hour, 5*time.Minute)
}

func lastDay(now time.Time) window { return windowTo(now, 24*time.Hour, time.Hour) }

// windowTo ends with the column in which now is.
func windowTo(now time.Time, length, bin time.Duration) window {
	to := now.UTC().Truncate(bin).Add(bin)
	return window{to.Add(-length), to, now, bin}
}

func (w window) bins() int { return int(w.to.Sub(w.from) / w.bin) }

// index is the column of a time.
func (w window) index(at time.Time) (i int, ok bool) {
	return int(at.Sub(w.from) / w.bin), !at.Before(w.from) && at.Before(w.to)
}

func (w window) start(i int) time.Time { return w.from.Add(time.Duration(i) * w.bin) }

// column is an empty bar for the column i.
func (w window) column(i int) column {
	width := 100 / float64(w.bins())
	return column{At: float64(i) * width, Width: width, Name: w.name(i)}
}

// name says which time a column is of.
func (w window) name(i int) string {
	at := w.start(i)
	if w.bin == time.Minute {
		return at.Format("Jan 2 15:04")
	}
	return at.Format("Jan 2 15:04") + "–" + at.Add(w.bin).Format("15:04")
}

// certain counts the columns of which it is known whether anything was asked for: all but the last ones, if they have nothing yet.
func (w window) certain(known []bool) int {
	n := len(known)
	for n > 0 && !known[n-1] && w.now.Sub(w.start(n-1)) < gapAfter {
		n--
	}
	return n
}

// text says the window: "the last 6 hours".
func (w window) text() string {
	if hours := int(w.to.Sub(w.from) / time.Hour); hours > 1 {
		return fmt.Sprintf("the last %d hours", hours)
	}
	return "the last hour"
}

// nothing says why there is nothing to draw.
func (w window) nothing(rates []report.RequestRate) string {
	if len(rates) > 0 {
		return "The first minutes are still being counted."
	}
	return "Nothing was requested in " + w.text() + "."
}

// minutes says how long a column is: "minute", "5 minutes".
func (w window) minutes() string {
	if w.bin == time.Minute {
		return "minute"
	}
	return fmt.Sprintf("%d minutes", w.bin/time.Minute)
}

// binned is what happened in a column, of all sources.
type binned struct {
	asked       int64 // requests
	pages       int64
	failures    map[yp.ErrorClass]int64
	first, last time.Time // minutes with anything in them; zero = none: nothing is known
}

// gather adds up the minutes of each column.
func (w window) gather(rates []report.RequestRate) []binned {
	all := make([]binned, w.bins())
	for _, r := range rates {
		i, ok := w.index(r.At)
		if !ok || w.now.Sub(r.At) < shownAfter {
			continue
		}
		b := &all[i]
		if b.failures == nil {
			b.failures, b.first, b.last = map[yp.ErrorClass]int64{}, r.At, r.At
		}
		if b.last.Before(r.At) {
			b.last = r.At
		}
		b.asked, b.pages = b.asked+r.Requests, b.pages+r.Pages
		for class, n := range r.Failures {
			b.failures[class] += n
		}
	}
	return all
}

// known tells which columns have anything in them.
func known(all []binned) []bool {
	told := make([]bool, len(all))
	for i, b := range all {
		told[i] = !b.first.IsZero()
	}
	return told
}

// failed counts the failed requests.
func (b binned) failed() (n int64) {
	for _, c := range b.failures {
		n += c
	}
	return n
}

// aMinute is how many pages a minute were read in a column. Beside a gap it counts from or up to the minutes that have something
// in them, so that a crawl that has just begun is not taken for a slow one.
func (w window) aMinute(all []binned, i int) float64 {
	from, to := w.start(i), w.start(i+1)
	if i == 0 || all[i-1].first.IsZero() {
		from = all[i].first
	}
	if i == len(all)-1 || all[i+1].first.IsZero() {
		to = all[i].last.Add(time.Minute)
	}
	return float64(all[i].pages) / to.Sub(from).Minutes()
}
