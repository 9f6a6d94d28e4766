package web

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var update = flag.Bool("update", false, "write the golden plots anew")

// TestAMinute: beside a gap a column counts its own minutes only.
func TestAMinute(t *testing.T) {
	t.Parallel()
	w := windowTo(noon, 6*time.Hour, 5*time.Minute)
	at := func(clock string, pages int64) report.RequestRate {
		m, err := time.Parse("15:04", clock)
		storetest.NoError(t, err)
		return report.RequestRate{Source: "a", At: time.Date(2026, 11, 29, m.Hour(), m.Minute(), 0, 0, time.UTC), Pages: pages}
	}
	all := w.gather([]report.RequestRate{
		at("05:00", 7), at("08:03", 10), at("08:04", 20), at("08:05", 30), at("08:09", 20), at("08:10", 40),
		at("12:00", 3), at("12:01", 90), at("12:05", 90), // these are not over, or not surely counted
	})
	for clock, want := range map[string]float64{"08:00": 15, "08:05": 10, "08:10": 40, "12:00": 3} {
		i, ok := w.index(at(clock, 0).At)
		storetest.Equal(t, ok, true, clock+" is in the window")
		storetest.Equal(t, w.aMinute(all, i), want, "pages a minute at "+clock)
	}
	known := 0
	for _, b := range all {
		if !b.first.IsZero() {
			known++
		}
	}
	storetest.Equal(t, known, 4, "columns with anything in them")
}

// minutes are rates of a crawl with a gap, which fails at its end.
func minutes() (all []report.RequestRate) {
	for i := range 240 {
		if i >= 100 && i < 140 {
			continue
		}
		r := report.RequestRate{Source: "demo", At: noon.Truncate(time.Minute).Add(time.Duration(i-240) * time.Minute), Pages: int64(25 + 10*math.Sin(float64(i)/20))}
		if i > 200 {
			r.Pages, r.Failures = 0, map[yp.ErrorClass]int64{yp.ClassHTTP403: int64(i % 7), yp.ClassTimeout: 2, yp.ClassHTTP5xx: int64(i % 3)}
		}
		for _, n := range r.Failures {
			r.Requests += n
		}
		r.Requests += r.Pages
		all = append(all, r)
	}
	return all
}

// hours are rates of a source by the hour, with a gap.
func hours(source string) (all []report.RequestRate) {
	for i := range 24 {
		if i >= 8 && i < 11 {
			continue
		}
		r := report.RequestRate{
			Source: source, At: noon.Truncate(time.Hour).Add(time.Duration(i-23) * time.Hour), Pages: int64(900 - 30*i), Failures: map[yp.ErrorClass]int64{yp.ClassTimeout: int64(i * 5)},
			P50: time.Duration(200+10*i) * time.Millisecond, P95: time.Duration(700+60*i) * time.Millisecond,
		}
		if r.Requests = r.Pages + int64(i*5); i == 5 {
			r.P50, r.P95 = 0, 0
		}
		all = append(all, r)
	}
	return all
}

// passes are those of a source that is crawled each week.
func passes() (all []report.PassChange) {
	for i := range 8 {
		x := report.PassChange{Source: "demo", Began: noon.AddDate(0, 0, 7*(i-8)), New: int64(300 - 20*i), Changed: int64(100 + 40*i), Dropped: int64(60 * (i % 3)), Restored: 3, Pages: 5000}
		if i == 0 {
			x.New, x.Changed = 212_480, 0
		}
		all = append(all, x)
	}
	return all
}

func runs() (all []report.RunChange) {
	for i := range 9 {
		all = append(all, report.RunChange{Run: int64(i + 4), Began: noon.AddDate(0, 0, i-9), New: int64(i * 40), Changed: int64(200 - i*20), Dropped: int64(i % 2 * 90), Pages: 700})
	}
	return all
}

// TestPlots compares a plot of each kind with a golden file; -update writes them anew.
func TestPlots(t *testing.T) {
	t.Parallel()
	w := windowOf(minutes(), noon)
	sources := plotsOfSources(hours("demo"), lastDay(noon))
	for name, p := range map[string]*plot{
		"pages": pagesPlot(minutes(), w), "failures": failuresPlot(minutes(), w), "passes": passesPlot(passes()), "runs": runsPlot(runs()),
		"latency": sources[0], "success": sources[1],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, file := drawn(t, p), filepath.Join("testdata", "plots", name+".html")
			if *update {
				storetest.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				storetest.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			storetest.NoError(t, err)
			storetest.Diff(t, got, string(want), file, "(-update writes it anew)")
			for _, lacks := range []string{`role="img" aria-label="`, "<table>", `class="unit"`, `class="along"`, `class="up"`} {
				if !strings.Contains(got, lacks) {
					t.Errorf("it has no %s", lacks)
				}
			}
			for _, has := range []string{"NaN", " style=", "Inf", "ZgotmplZ", `"-0`} {
				if strings.Contains(got, has) {
					t.Errorf("it has %s", has)
				}
			}
		})
	}
}

// TestPlotsOfNothing: where nothing is known no empty axes are drawn: a sentence says so.
func TestPlotsOfNothing(t *testing.T) {
	t.Parallel()
	w := windowTo(noon, 6*time.Hour, 5*time.Minute)
	fine := []report.RequestRate{{Source: "a", At: noon.Add(-time.Hour).Truncate(time.Minute), Requests: 12, Pages: 12}}
	for want, p := range map[string]*plot{
		"Nothing was requested in the last 6 hours.":                 pagesPlot(nil, w),
		"The first minutes are still being counted.":                 pagesPlot([]report.RequestRate{{Source: "a", At: noon.Add(-time.Minute), Requests: 1}}, w),
		"None of the 12 requests in the last 6 hours failed.":        failuresPlot(fine, w),
		"No pass has begun in the last 8 weeks.":                     passesPlot(nil),
		"No response from &lt;b&gt; was timed in the last 24 hours.": plotsOfSources([]report.RequestRate{{Source: "<b>", At: noon, Requests: 1, Pages: 1}}, lastDay(noon))[0],
		"No requests were made to &lt;b&gt; in the last 24 hours.":   plotsOfSources([]report.RequestRate{{Source: "<b>", At: noon}}, lastDay(noon))[1],
		"Nothing was requested in the last 6 hours.</p>\n</figure>":  failuresPlot(nil, w),
	} {
		if got := drawn(t, p); !strings.Contains(got, want) || strings.Contains(got, "<svg") || strings.Contains(got, "<table") {
			t.Errorf("want %q, got\n%s", want, got)
		}
	}
	if text := sourcesText(nil); text != "No requests were made in the last 24 hours." {
		t.Errorf("of no source it says %q", text)
	}
}

// TestPlotsHostile: the name of a source stays text, and is no id, whatever it is.
func TestPlotsHostile(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script>` + "\u202e" + `');`
	all := plotsOfSources(hours(evil), lastDay(noon))
	all = append(all, passesPlot([]report.PassChange{{Source: evil, Began: noon, New: 1}}),
		failuresPlot([]report.RequestRate{{Source: evil, At: noon.Add(-5 * time.Minute), Requests: 3, Failures: map[yp.ErrorClass]int64{evil: 3}}}, windowTo(noon, time.Hour, time.Minute)))
	for _, p := range all {
		got := drawn(t, p)
		for _, never := range []string{"<script", "\u202e", `""`, "ZgotmplZ"} {
			if strings.Contains(got, never) {
				t.Errorf("%s has %q:\n%s", p.Name, never, got)
			}
		}
		if !strings.Contains(got, "&lt;script&gt;") || strings.Contains(p.Name, "script") {
			t.Errorf("%s does not show the name:\n%s", p.Name, got)
		}
	}
}

// TestManySources: those are drawn that were asked most, and it is said that there are others.
func TestManySources(t *testing.T) {
	t.Parallel()
	var rates []report.RequestRate
	for i := range plotSources + 3 {
		rates = append(rates, report.RequestRate{Source: fmt.Sprintf("s%02d", i), At: noon, Requests: int64(i)})
	}
	all := plotsOfSources(rates, lastDay(noon))
	storetest.Equal(t, len(all), 2*plotSources, "plots")
	storetest.Equal(t, all[0].Title, "s14: latency (estimated)", "first plot")
	storetest.Equal(t, sourcesText(rates), "Showing the 12 sources with the most requests (3 more not shown).", "said")
}

// TestCertain: that the last minutes have no figures yet does not mean that nothing was asked for.
func TestCertain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length, bin time.Duration
		known       int // columns with figures, from the first on
		want        int
	}{
		{time.Hour, time.Minute, 60, 60},
		{time.Hour, time.Minute, 56, 56},
		{time.Hour, time.Minute, 40, 56}, // for a while nothing has been asked for
		{6 * time.Hour, 5 * time.Minute, 71, 71},
		{6 * time.Hour, 5 * time.Minute, 70, 71},
		{24 * time.Hour, time.Hour, 23, 23},
		{24 * time.Hour, time.Hour, 22, 23},
		{24 * time.Hour, time.Hour, 0, 23},
	} {
		w := windowTo(noon, c.length, c.bin)
		known := make([]bool, w.bins())
		for i := range c.known {
			known[i] = true
		}
		storetest.Equal(t, w.certain(known), c.want, fmt.Sprint("certain columns of ", c))
	}
}
