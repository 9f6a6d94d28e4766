package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// How much plots show.
const (
	plotHours   = 6
	plotWeeks   = 8
	plotPasses  = 24
	plotRuns    = 30
	plotSources = 12
	plotClasses = 6 // in a stack, that of all others included
)

// Plots are read less often than what changes with each page.
const (
	minutesEvery = 10 * time.Second
	hoursEvery   = 30 * time.Second
)

// plots are the plots of a part, and a sentence about all of them.
type plots struct {
	Plots []*plot
	Text  string
}

// about says how much of the file plots are of: what is counted by source can't be told apart by state.
func (s *Server) about() string {
	if len(s.cfg.Scope.States) == 0 {
		return ""
	}
	return "These figures cover whole sources, not only the states that this page shows."
}

// overTime are the plots of the overview: what was read and what failed, and what the passes brought.
func (s *Server) overTime() Part {
	return Part{Name: "over-time", Every: minutesEvery, Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		now := time.Now()
		rates, err := k.Rates(ctx, s.cfg.Scope, time.Minute, now.Add(-plotHours*time.Hour))
		if err != nil {
			return nil, err
		}
		passes, err := k.PassChanges(ctx, s.cfg.Scope, now.AddDate(0, 0, -7*plotWeeks))
		if err != nil {
			return nil, err
		}
		if len(rates)+len(passes) == 0 {
			return plots{Text: "Nothing has been crawled yet. Once a crawl begins, this shows the pages read, the failed requests, and what each pass found."}, nil
		}
		w := windowOf(rates, now)
		return plots{[]*plot{pagesPlot(rates, w), failuresPlot(rates, w), passesPlot(passes)}, s.about()}, nil
	}}
}

// sourcePlots are latency and success of each source in the last 24 hours.
func (s *Server) sourcePlots() Part {
	return Part{Name: "source-plots", Every: hoursEvery, Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		w := lastDay(time.Now())
		rates, err := k.Rates(ctx, s.cfg.Scope, time.Hour, w.from)
		if err != nil {
			return nil, err
		}
		return plots{plotsOfSources(rates, w), sourcesText(rates)}, nil
	}}
}

// runPlots is what each of the last runs brought.
func (s *Server) runPlots() Part {
	return Part{Name: "run-plots", Every: minutesEvery, Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		runs, err := k.RunChanges(ctx, s.cfg.Scope, plotRuns)
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			return plots{Text: "No run has begun yet."}, nil
		}
		return plots{[]*plot{runsPlot(runs)}, s.about()}, nil
	}}
}

// timed is a plot of a window.
func timed(name, title string, w window) *plot {
	return &plot{Name: name, Title: title, Caption: w.text(), Across: "time (UTC)", Along: timeTicks(w.from, w.to), Timed: true, Gap: "no requests"}
}

// pagesPlot is how many pages a minute were read.
func pagesPlot(rates []report.RequestRate, w window) *plot {
	p, all := timed("plot-pages", "Pages read", w), w.gather(rates)
	p.Unit, p.Keys = "pages a minute", []key{{Words: "pages a minute", Colour: "blue", Motif: "solid"}}
	p.Figures = &figures{Columns: []string{"time (UTC)", "pages", "pages a minute"}}
	var columns []column
	var pages int64
	for i, b := range all {
		if b.first.IsZero() {
			continue
		}
		c := w.column(i)
		c.Values = []float64{w.aMinute(all, i)}
		columns, pages = append(columns, c), pages+b.pages
		p.Figures.Rows = append(p.Figures.Rows, []string{c.Name, yp.Thousands(b.pages), figure(c.Values[0])})
	}
	if len(columns) == 0 {
		p.None, p.Figures = w.nothing(rates), nil
		return p
	}
	most := slices.MaxFunc(columns, func(a, b column) int { return cmp.Compare(a.Values[0], b.Values[0]) })
	p.Label = fmt.Sprintf("Pages read in %s: %s, at most %s a minute.", w.text(), yp.Plural(pages, "page"), figure(most.Values[0]))
	p.tell(known(all), w.certain(known(all)))
	p.drawMostly(columns, false)
	return p
}

// failuresPlot is how many requests failed, and why.
func failuresPlot(rates []report.RequestRate, w window) *plot {
	p, all := timed("plot-failures", "Failed requests", w), w.gather(rates)
	var asked, failed int64
	sum := map[yp.ErrorClass]int64{}
	for _, b := range all {
		asked, failed = asked+b.asked, failed+b.failed()
		for class, n := range b.failures {
			sum[class] += n
		}
	}
	switch {
	case asked == 0:
		p.None = w.nothing(rates)
		return p
	case failed == 0:
		p.None = "None of the " + yp.Plural(asked, "request") + " in " + w.text() + " failed."
		return p
	}
	classes, others := largestClasses(sum, plotClasses)
	p.Unit, p.Keys = "failed requests per "+w.minutes(), keysOf(classes, others)
	p.Label = fmt.Sprintf("Failed requests in %s: %s of %s; most often: %s.", w.text(), yp.Thousands(failed), yp.Plural(asked, "request"), wordsOf(byCount(sum)[0]))
	p.Figures = &figures{Columns: []string{"time (UTC)"}}
	for _, k := range p.Keys {
		p.Figures.Columns = append(p.Figures.Columns, k.Words)
	}
	var columns []column
	for i, b := range all {
		if b.first.IsZero() {
			continue
		}
		c := w.column(i)
		c.Values = stacked(b.failures, classes, others)
		columns = append(columns, c)
		p.Figures.Rows = append(p.Figures.Rows, rowOf(c))
	}
	p.tell(known(all), w.certain(known(all)))
	p.drawBars(columns, 0, true)
	return p
}

func rowOf(c column) []string {
	row := []string{c.Name}
	for _, v := range c.Values {
		row = append(row, figure(v))
	}
	return row
}

// passesPlot is what each of the last passes brought.
func passesPlot(passes []report.PassChange) *plot {
	p := &plot{Name: "plot-passes", Title: "Listings by pass", Across: "when the pass began (UTC)"}
	if len(passes) == 0 {
		p.None = fmt.Sprintf("No pass has begun in the last %d weeks.", plotWeeks)
		return p
	}
	if over := len(passes) - plotPasses; over > 0 {
		passes, p.Caption = passes[over:], "the last "
	}
	p.Caption += passesText(len(passes)) + " since " + passes[0].Began.UTC().Format("Jan 2")
	p.Figures = &figures{Columns: []string{"pass (UTC)", "source", "new", "changed", "closed", "restored", "pages"}}
	var all []column
	for _, x := range passes {
		began := x.Began.UTC()
		c := column{Name: "pass of " + x.Source + " from " + began.Format("Jan 2 15:04"), Values: []float64{float64(x.New), float64(x.Changed), float64(x.Dropped)}}
		all = append(all, c)
		p.Along = append(p.Along, tick{Text: began.Format("Jan 2")})
		p.Figures.Rows = append(p.Figures.Rows, append([]string{began.Format("2006-01-02 15:04"), x.Source}, thousandsOf(x.New, x.Changed, x.Dropped, x.Restored, x.Pages)...))
	}
	p.drawChanges(all)
	return p
}

func passesText(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return strconv.Itoa(n) + " passes"
}

// runsPlot is what each of the last runs brought.
func runsPlot(runs []report.RunChange) *plot {
	p := &plot{Name: "plot-runs", Title: "Listings by run", Caption: yp.Plural(len(runs), "run"), Across: "run"}
	if len(runs) == plotRuns {
		p.Caption = "the last " + p.Caption
	}
	p.Figures = &figures{Columns: []string{"run", "began (UTC)", "new", "changed", "closed", "pages"}}
	var all []column
	for _, x := range runs {
		number, began := strconv.FormatInt(x.Run, 10), x.Began.UTC().Format("2006-01-02 15:04")
		all = append(all, column{Name: "run " + number + " from " + began, Values: []float64{float64(x.New), float64(x.Changed), float64(x.Dropped)}})
		p.Along = append(p.Along, tick{Text: number})
		p.Figures.Rows = append(p.Figures.Rows, append([]string{number, began}, thousandsOf(x.New, x.Changed, x.Dropped, x.Pages)...))
	}
	p.drawChanges(all)
	return p
}

// drawChanges draws bars of equal width, each of which has a mark of p.Along.
func (p *plot) drawChanges(all []column) {
	p.Unit, p.Keys = "listings", changeKeys
	width := 100 / float64(max(len(all), 8)) // few bars are not as wide as the field
	var sums [3]float64
	for i := range all {
		all[i].At, all[i].Width = float64(i)*width, width
		p.Along[i].At = share2(all[i].At + width/2)
		for j, v := range all[i].Values {
			sums[j] += v
		}
	}
	p.Along = thin(p.Along)
	p.tell([]bool{true}, 1)
	p.Label = fmt.Sprintf("%s, %s: %s new, %s changed, %s closed.", p.Title, p.Caption, figure(sums[0]), figure(sums[1]), figure(sums[2]))
	p.drawMostly(all, true)
}

// drawMostly draws bars so that most of them can be seen.
func (p *plot) drawMostly(all []column, whole bool) {
	cut := p.cutAt(all)
	p.drawBars(all, cut, whole)
	if cut > 0 {
		p.Note = p.cutNote(all)
	}
}

// cutNote says what the bars are that go on beyond the field.
func (p *plot) cutNote(all []column) string {
	var said []string
	for i, s := range p.Spots {
		if s.Cut != "" {
			said = append(said, p.tip(all[i]))
		}
	}
	const most = 3
	text := "Bars with a break are longer than drawn: "
	if len(said) > most {
		return text + strings.Join(said[:most], "; ") + ", and others (see Figures)."
	}
	return text + strings.Join(said, "; ") + "."
}

func thousandsOf(counts ...int64) (all []string) {
	for _, n := range counts {
		all = append(all, yp.Thousands(n))
	}
	return all
}
