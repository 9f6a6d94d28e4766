package web

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// noon is the time at which the plots of the tests are made: it is in the column that begins at 12:00.
var noon = time.Date(2026, 11, 29, 12, 2, 30, 0, time.UTC)

// TestScale: the steps of an axis are round, few, and hold what is drawn.
func TestScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		below, above float64
		whole        bool
		want         string
	}{
		{0, 0, true, "0 1"},
		{0, 0, false, "0 0.2 0.4 0.6 0.8 1"},
		{0, 1, true, "0 1"},
		{0, 3, true, "0 1 2 3"},
		{0, 4, true, "0 1 2 3 4"},
		{0, 5, true, "0 1 2 3 4 5"},
		{0, 47.5, false, "0 10 20 30 40 50"},
		{0, 0.3, false, "0 0.1 0.2 0.3"},
		{0, 4000, true, "0 1,000 2,000 3,000 4,000"},
		{0, 1_500_000, true, "0 500,000 1M 1.5M"},
		{0, 3e9, true, "0 1G 2G 3G"},
		{3, 9, true, "5 0 5 10"},
		{40, 0, true, "40 30 20 10 0"},
		{1, 1000, true, "500 0 500 1,000"},
	} {
		var said []string
		s := scaleOf(c.below, c.above, c.whole)
		for _, tick := range s.ticks(short) {
			said = append(said, tick.Text)
		}
		storetest.Equal(t, strings.Join(said, " "), c.want, fmt.Sprint("marks for ", c))
		if s.Low > -c.below || s.High < c.above || s.top(s.High) != 0 || s.top(s.Low) != 100 {
			t.Errorf("%v is on a scale from %v to %v", c, s.Low, s.High)
		}
	}
	for v, want := range map[float64]string{0: "0", 200: "200 ms", 1000: "1 s", 1500: "1.5 s", 20000: "20 s"} {
		storetest.Equal(t, millis(v), want, fmt.Sprint(v, " ms"))
	}
}

// TestTimeTicks: the marks of time are at full minutes, hours or days of UTC, and midnight is a date.
func TestTimeTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to     time.Time
		length time.Duration
		want   string
	}{
		{noon, 5 * time.Minute, "11:58 11:59 12:00 12:01 12:02"},
		{noon, time.Hour, "11:10 11:20 11:30 11:40 11:50 12:00"},
		{noon, 6 * time.Hour, "07:00 08:00 09:00 10:00 11:00 12:00"},
		{noon, 24 * time.Hour, "16:00 20:00 Nov 29 04:00 08:00 12:00"},
		{noon.Add(-11 * time.Hour), 6 * time.Hour, "20:00 21:00 22:00 23:00 Nov 29 01:00"},
		{noon.In(time.FixedZone("", 5*3600+1800)), 6 * time.Hour, "07:00 08:00 09:00 10:00 11:00 12:00"},
		{noon, 5 * 24 * time.Hour, "Nov 25 Nov 26 Nov 27 Nov 28 Nov 29"},
		{noon, 30 * 24 * time.Hour, "Nov 2 Nov 9 Nov 16 Nov 23"},
	} {
		all := timeTicks(c.to.Add(-c.length), c.to)
		var said []string
		for _, tick := range all {
			said = append(said, tick.Text)
		}
		if len(all) > stepsAcross+1 {
			t.Errorf("%d marks for %v", len(all), c.length)
		}
		storetest.Equal(t, strings.Join(said, " "), c.want, fmt.Sprint("marks of ", c.length, " up to ", c.to))
	}
	marks := make([]tick, 30)
	if kept := thin(marks); len(kept) != stepsAcross {
		t.Errorf("of 30 marks %d are kept", len(kept))
	}
}

// TestSteps: a line has a gap where nothing is known, and lies on zero where the figure is zero.
func TestSteps(t *testing.T) {
	t.Parallel()
	gap := math.NaN()
	for _, c := range []struct {
		line []float64
		want string
	}{
		{[]float64{1, 2, 0, 4}, "M0 75H250V50H500V100H750V0H1000"},
		{[]float64{gap, 2, gap, 4}, "M250 50H500M750 0H1000"},
		{[]float64{0, gap, gap, gap}, "M0 100H250"},
		{[]float64{gap, gap, gap, gap}, ""},
	} {
		storetest.Equal(t, stepsPath(scale{0, 4, 1}, c.line), c.want, fmt.Sprint("path of ", c.line))
	}
}

// TestStack: the parts of a bar lie upon each other and hang below zero; no part lies outside; zero is not drawn, and the smallest
// number can be seen.
func TestStack(t *testing.T) {
	t.Parallel()
	bars := func(most float64, values ...float64) (said []string) {
		p := &plot{Keys: changeKeys}
		p.drawBars([]column{{At: 0, Width: 100, Values: values}}, most, true)
		for _, b := range p.Bars {
			said = append(said, fmt.Sprint(b.Key, " ", b.Y, " ", b.H))
		}
		return said
	}
	for _, c := range []struct {
		most   float64
		values []float64
		want   string
	}{
		{0, []float64{0, 0, 0}, ""},
		{0, []float64{4, 0, 0}, "0 0% 100%"},
		{0, []float64{3, 1, 0}, "0 25% 75%, 1 0% 25%"},
		{0, []float64{2, 0, 2}, "0 0% 50%, 2 50% 50%"},
		{0, []float64{0, 0, 4}, "2 0% 100%"},
		{0, []float64{1_000_000, 1, 0}, "0 33.33% 66.67%, 1 32.13% 1.2%"},
		{4, []float64{100, 100, 100}, "0 0% 50%, 2 50% 50%"}, // cut: what is above it is not drawn
	} {
		storetest.Equal(t, strings.Join(bars(c.most, c.values...), ", "), c.want, fmt.Sprint("bars of ", c.values))
	}
}

// TestCut: some bars that are much higher than most are cut, and told.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fresh []float64
		want  float64
	}{
		{[]float64{200_000, 300}, 0},
		{[]float64{200_000, 300, 200, 0, 250}, 300},
		{[]float64{600, 100, 200, 300}, 0},
		{[]float64{0, 0, 0, 0}, 0},
		{nil, 0},
	} {
		p := &plot{Keys: changeKeys}
		var columns []column
		for _, n := range c.fresh {
			columns = append(columns, column{Values: []float64{n, 0, 0}})
		}
		storetest.Equal(t, p.cutAt(columns), c.want, fmt.Sprint("cut of ", c.fresh))
	}
}

// TestClassWords: each class has words of its own.
func TestClassWords(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, class := range yp.ErrorClasses() {
		words := wordsOf(class)
		if words == string(class) || strings.Contains(words, "_") || said[words] {
			t.Errorf("%s is %q", class, words)
		}
		said[words] = true
	}
	storetest.Equal(t, len(classWords), len(said), "words")
}

// TestLargestClasses: a stack has the largest classes in an order that doesn't change with their counts, and the others as one.
func TestLargestClasses(t *testing.T) {
	t.Parallel()
	few := map[yp.ErrorClass]int64{yp.ClassTimeout: 9, yp.ClassHTTP403: 2, yp.ClassDNS: 0}
	shown, others := largestClasses(few, 3)
	storetest.Equal(t, fmt.Sprint(shown, others), "[http_403 timeout] false", "of few classes")
	many := map[yp.ErrorClass]int64{"new_class": 1, yp.ClassTimeout: 9, yp.ClassHTTP403: 2, yp.ClassDNS: 5}
	shown, others = largestClasses(many, 3)
	storetest.Equal(t, fmt.Sprint(shown, others), "[timeout dns] true", "of many classes")
	storetest.Equal(t, fmt.Sprint(stacked(many, shown, others)), "[9 5 3]", "stack")
}

// drawn is a plot as a browser gets it.
func drawn(t *testing.T, p *plot) string {
	t.Helper()
	var out bytes.Buffer
	storetest.NoError(t, templates().ExecuteTemplate(&out, "plot", p))
	return printable(out.String())
}
