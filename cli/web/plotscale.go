package web

import (
	"math"
	"strconv"
	"time"

	"ypcrawl/yp"
)

// At most so many steps between the marks of an axis: more labels would touch each other on a phone.
const (
	stepsUp     = 5
	stepsAcross = 6
)

// tick is a mark of an axis: where it is in percent of the field, from the left or from the top, and its label.
type tick struct{ At, Text string }

// scale is the axis on the left: from Low, which is zero or less, to High, in steps of a round number.
type scale struct{ Low, High, Step float64 }

// scaleOf is the scale that holds what is above and below zero. Of whole things no step is less than one.
func scaleOf(below, above float64, whole bool) scale {
	if above <= 0 && below <= 0 {
		above = 1
	}
	step := roundStep((above + below) / stepsUp)
	if whole {
		step = max(step, 1)
	}
	return scale{-step * math.Ceil(below/step), step * math.Ceil(above/step), step}
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is not less.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, n := range [...]float64{1, 2, 5} {
		if n*power >= least*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// top is how far below the top of the field a figure is, in percent of its height.
func (s scale) top(v float64) float64 { return 100 * (s.High - v) / (s.High - s.Low) }

// ticks are the marks of the axis. What is below zero is counted as well: its numbers have no sign.
func (s scale) ticks(text func(v float64) string) (all []tick) {
	for i := math.Round(s.Low / s.Step); i <= math.Round(s.High/s.Step); i++ {
		all = append(all, tick{share2(s.top(i * s.Step)), text(math.Abs(i * s.Step))})
	}
	return all
}

// share2 writes a share as an attribute of SVG: "12.34%".
func share2(p float64) string { return coordinate(p) + "%" }

// coordinate writes a number with two decimals at most.
func coordinate(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		v = 0 // and not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// figure writes a count or an average: "1,234", "31.5".
func figure(v float64) string {
	whole := math.Round(v*10) / 10
	text := yp.Thousands(int64(whole))
	if tenth := int64(math.Round(whole*10)) % 10; tenth != 0 {
		text += "." + strconv.FormatInt(tenth, 10)
	}
	return text
}

// short writes a figure for an axis, where there is little room: "1.5M".
func short(v float64) string {
	switch {
	case v >= 1e9:
		return figure(v/1e9) + "G"
	case v >= 1e6:
		return figure(v/1e6) + "M"
	case v < 0.95 && v > 0:
		return coordinate(v)
	}
	return figure(v)
}

// millis writes a length of time for an axis, from milliseconds: "200 ms", "1.5 s".
func millis(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1000:
		return figure(v) + " ms"
	}
	return figure(v/1000) + " s"
}

// timeSteps are the distances between two marks on an axis of time.
var timeSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// timeTicks are the marks of an axis of time in UTC, at full minutes, hours or days. Midnight is told by the date that begins.
func timeTicks(from, to time.Time) (all []tick) {
	from, to = from.UTC(), to.UTC()
	whole, step := to.Sub(from), timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if whole <= stepsAcross*s {
			step = s
			break
		}
	}
	at := from.Truncate(step)
	if at.Before(from) {
		at = at.Add(step)
	}
	for ; !at.After(to); at = at.Add(step) {
		all = append(all, tick{share2(along(at, from, to)), clockLabel(at)})
	}
	return all
}

func clockLabel(at time.Time) string {
	if at.Equal(at.Truncate(24 * time.Hour)) {
		return at.Format("Jan 2")
	}
	return at.Format("15:04")
}

// along is where a time is, in percent of the way.
func along(at, from, to time.Time) float64 {
	return 100 * float64(at.Sub(from)) / float64(to.Sub(from))
}

// thin keeps as many marks as fit, from the last one on: the newest is the one that is looked for.
func thin(all []tick) (kept []tick) {
	every := (len(all) + stepsAcross - 1) / stepsAcross
	for i, t := range all {
		if (len(all)-1-i)%max(every, 1) == 0 {
			kept = append(kept, t)
		}
	}
	return kept
}
