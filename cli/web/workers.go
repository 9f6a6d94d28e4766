package web

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const (
	endedRuns = 5  // that are shown beside those that have not ended
	spokes    = 24 // that are drawn; a table has the rest
)

// workersModel is the runs with their workers.
type workersModel struct {
	Runs []runModel
}

type runModel struct {
	ID                               int64
	Title, State, Why, Command       string
	Process, Began, Beat, Pages, Sum string
	Workers                          []workerRow
	Drawn                            []spoke
	More                             int // workers that are not drawn
	Width, Height, CX, CY            int
}

type workerRow struct {
	Name, State, Why, Target, Page, Beat, Rate, Use, Log string
	TargetID, Pages, Listings                            int64
}

// spoke is a worker as it is drawn around its run.
type spoke struct {
	X, Y, TX, TY                   int
	Anchor, Name, Note, State, Tip string
}

// workers draws runs as hubs with their workers as spokes, and tells the same in a table.
func (s *Server) workers() Part {
	return Part{Name: "workers", Read: func(ctx context.Context, _ url.Values) (any, error) {
		runs, err := s.cfg.Reader.Workers(ctx, endedRuns)
		if err != nil {
			return nil, err
		}
		m, now := workersModel{}, time.Now()
		for i := range runs {
			m.Runs = append(m.Runs, runOf(now, &runs[i]))
		}
		return m, nil
	}}
}

func runOf(now time.Time, r *report.RunWorkers) runModel {
	m := runModel{
		ID: r.ID, Title: fmt.Sprintf("Run %d", r.ID), State: string(r.State), Why: r.Why, Command: r.Command,
		Process: fmt.Sprintf("process %d on %s", r.PID, r.Host), Began: yp.Ago(now, r.Started), Beat: yp.Ago(now, r.Heartbeat), Pages: yp.Plural(r.Pages, "page"),
	}
	counts := map[report.WorkerState]int{}
	for i := range r.Workers {
		w := &r.Workers[i]
		counts[w.State]++
		row := workerRow{
			Name: string(w.Name), State: string(w.State), Why: w.Why, Target: "none", Page: "-", Beat: yp.Ago(now, w.Heartbeat), Rate: "unknown", Use: "memory and processor time unknown",
			Log: w.Worker, TargetID: w.TargetID, Pages: w.Pages, Listings: w.Listings,
		}
		if w.TargetID != 0 {
			row.Target, row.Page = w.Title(), yp.Thousands(int64(w.Page))
		}
		if w.Rate != nil {
			row.Rate = fmt.Sprintf("%.2f", *w.Rate)
		}
		if w.Memory > 0 && w.CPUMS != nil {
			row.Use = fmt.Sprintf("%d MB of memory, %.1f s of processor time", (w.Memory+500_000)/1_000_000, float64(*w.CPUMS)/1000)
		}
		m.Workers = append(m.Workers, row)
	}
	var parts []string
	for _, state := range []report.WorkerState{report.WorkerAlive, report.WorkerSilent, report.WorkerEnded} {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	m.Sum = strings.Join(parts, ", ")
	if m.Sum == "" {
		m.Sum = "no workers"
	}
	m.draw()
	return m
}

// draw places the workers around the run, the first one on top.
func (m *runModel) draw() {
	rows := m.Workers
	if len(rows) > spokes {
		rows, m.More = rows[:spokes], len(rows)-spokes
	}
	rx, ry := 112.0, 78.0
	if len(rows) > 8 {
		rx, ry = 125, 130
	}
	m.Width, m.Height = 540, int(2*ry)+104
	m.CX, m.CY = m.Width/2, m.Height/2
	for i, w := range rows {
		angle := 2*math.Pi*float64(i)/float64(len(rows)) - math.Pi/2
		x, y := math.Cos(angle), math.Sin(angle)
		p := spoke{X: m.CX + int(math.Round(rx*x)), Y: m.CY + int(math.Round(ry*y)), Name: w.Name, State: w.State, Note: w.State, Tip: w.Use, Anchor: "middle"}
		if w.State == string(report.WorkerAlive) {
			p.Note = w.Rate + " pages/s"
			if w.Rate == "unknown" {
				p.Note = "just begun"
			}
		}
		p.TX, p.TY = p.X, p.Y-27
		switch {
		case x > 0.3:
			p.Anchor, p.TX, p.TY = "start", p.X+13, p.Y-1
		case x < -0.3:
			p.Anchor, p.TX, p.TY = "end", p.X-13, p.Y-1
		case y > 0:
			p.TY = p.Y + 24
		}
		m.Drawn = append(m.Drawn, p)
	}
}
