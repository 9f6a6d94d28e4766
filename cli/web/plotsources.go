package web

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// hourOf is an hour of a source.
type hourOf struct {
	known          bool
	asked, pages   int64   // requests, and those that gave a page
	p50, p95, good float64 // NaN = unknown
}

// bySource are the hours of each source in a window.
func bySource(rates []report.RequestRate, w window) map[string][]hourOf {
	all := map[string][]hourOf{}
	for _, r := range rates {
		i, ok := w.index(r.At)
		if !ok {
			continue
		}
		if all[r.Source] == nil {
			all[r.Source] = make([]hourOf, w.bins())
		}
		h := hourOf{known: true, asked: r.Requests, pages: r.Pages, p50: millisOf(r.P50), p95: millisOf(r.P95), good: math.NaN()}
		if h.asked > 0 {
			h.good = share(h.pages, h.asked)
		}
		all[r.Source][i] = h
	}
	return all
}

// millisOf is a latency in milliseconds, NaN where there was no sample.
func millisOf(d time.Duration) float64 {
	if d <= 0 {
		return math.NaN()
	}
	return float64(d) / float64(time.Millisecond)
}

// sumOf counts the requests of hours, and those that gave a page.
func sumOf(hours []hourOf) (asked, pages int64) {
	for _, h := range hours {
		asked, pages = asked+h.asked, pages+h.pages
	}
	return asked, pages
}

// plotsOfSources are two plots for each source, of those first that were asked most.
func plotsOfSources(rates []report.RequestRate, w window) (all []*plot) {
	of := bySource(rates, w)
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		ofA, _ := sumOf(of[a])
		ofB, _ := sumOf(of[b])
		return cmp.Or(cmp.Compare(ofB, ofA), cmp.Compare(a, b))
	})
	for i, name := range names[:min(len(names), plotSources)] {
		number := strconv.Itoa(i + 1) // a name is no id of an element
		all = append(all, latencyPlot("plot-latency-"+number, name, of[name], w), successPlot("plot-success-"+number, name, of[name], w))
	}
	return all
}

// sourcesText says what is not drawn.
func sourcesText(rates []report.RequestRate) string {
	names := map[string]bool{}
	for _, r := range rates {
		names[r.Source] = true
	}
	switch more := len(names) - plotSources; {
	case len(names) == 0:
		return "No requests were made in the last 24 hours."
	case more > 0:
		return fmt.Sprintf("Showing the %d sources with the most requests (%d more not shown).", plotSources, more)
	}
	return ""
}

// latencyPlot is how long a source took to answer.
func latencyPlot(id, source string, hours []hourOf, w window) *plot {
	p := timed(id, source+": latency (estimated)", w)
	p.Unit, p.Gap = "response time", "no response timed"
	p.Keys = []key{{Words: "half of responses took at most this long (p50)", Colour: "blue", Motif: "solid"}, {Words: "95% took at most this long (p95)", Colour: "amber", Motif: "dashed"}}
	p.Figures = &figures{Columns: []string{"time (UTC)", "p50 (estimated)", "p95 (estimated)"}}
	lines := [][]float64{make([]float64, len(hours)), make([]float64, len(hours))}
	most, last, told := 0.0, -1, make([]bool, len(hours))
	for i, h := range hours {
		lines[0][i], lines[1][i] = math.NaN(), math.NaN()
		if !h.known || math.IsNaN(h.p50) && math.IsNaN(h.p95) {
			continue
		}
		lines[0][i], lines[1][i], last, told[i] = h.p50, h.p95, i, true
		for _, v := range []float64{h.p50, h.p95} {
			if v > most { // false of a NaN
				most = v
			}
		}
		p.spot(w, i, "estimated p50 "+millisText(h.p50)+", p95 "+millisText(h.p95), millisText(h.p50), millisText(h.p95))
	}
	if last < 0 {
		p.None, p.Figures = "No response from "+source+" was timed in "+w.text()+".", nil
		return p
	}
	p.Label = fmt.Sprintf("Estimated latency of %s in %s: most recently a p50 of %s and a p95 of %s.", source, w.text(), millisText(hours[last].p50), millisText(hours[last].p95))
	p.tell(told, w.certain(told))
	p.drawSteps(scaleOf(0, most, false), lines, millis)
	return p
}

// successPlot is the share of requests of a source that gave a page.
func successPlot(id, source string, hours []hourOf, w window) *plot {
	p := timed(id, source+": success", w)
	p.Unit, p.Keys = "requests that returned a page", []key{{Words: "requests that returned a page", Colour: "green", Motif: "solid"}}
	p.Figures = &figures{Columns: []string{"time (UTC)", "success", "requests", "pages"}}
	line, told := make([]float64, len(hours)), make([]bool, len(hours))
	for i, h := range hours {
		if line[i] = h.good; !h.known {
			line[i] = math.NaN()
		}
		if told[i] = !math.IsNaN(line[i]); told[i] {
			text := yp.Share(h.good)
			p.spot(w, i, fmt.Sprintf("%s of %s", text, yp.Plural(h.asked, "request")), text, yp.Thousands(h.asked), yp.Thousands(h.pages))
		}
	}
	asked, pages := sumOf(hours)
	if asked == 0 {
		p.None, p.Figures = "No requests were made to "+source+" in "+w.text()+".", nil
		return p
	}
	p.Label = fmt.Sprintf("Success of %s in %s: %s of %s returned a page.", source, w.text(), yp.Share(share(pages, asked)), yp.Plural(asked, "request"))
	p.tell(told, w.certain(told))
	p.drawSteps(scale{0, 100, 25}, [][]float64{line}, func(v float64) string { return figure(v) + "%" })
	return p
}

// spot adds a column to what is said and to the table.
func (p *plot) spot(w window, i int, tip string, cells ...string) {
	c := w.column(i)
	p.Spots = append(p.Spots, spot{X: share2(c.At), W: share2(c.Width), Tip: c.Name + ": " + tip})
	p.Figures.Rows = append(p.Figures.Rows, append([]string{c.Name}, cells...))
}

func millisText(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return yp.Millis(int64(math.Round(v)))
}
