package web

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"ypcrawl/store/report"
)

const spokes = 24 // that are drawn; the table has the rest

// hub is a run under way with its workers around it.
type hub struct {
	Run                   string
	Sum                   string
	Workers               []spoke // that are drawn
	More                  int     // that are not
	Width, Height, CX, CY int
}

// spoke is a worker as it is drawn around its run.
type spoke struct {
	X, Y, TX, TY                   int
	Anchor, Name, Note, State, Tip string
}

// hubs are the runs that have not ended, from the list of workers.
type hubs struct {
	All []*hub
	now time.Time
}

// Head implements report.Rows.
func (h *hubs) Head([]string) error { return nil }

// Row implements report.Rows.
func (h *hubs) Row(v []any) error {
	text := func(name string, i int) string { return report.Cell(h.now, name, v[i]) }
	run := text("run", 0)
	if len(h.All) == 0 || h.All[len(h.All)-1].Run != run {
		h.All = append(h.All, &hub{Run: run})
	}
	last := h.All[len(h.All)-1]
	w := spoke{Name: text("worker", 1), State: text("state", 2), Anchor: "middle", Tip: "memory and processor time unknown"}
	switch w.Note = w.State; {
	case w.State != "running":
	case v[3] != nil:
		w.Note = text("pages_per_second", 3) + " pages/s"
	default:
		w.Note = "just started"
	}
	if v[4] != nil && v[5] != nil {
		w.Tip = text("memory_bytes", 4) + " of memory, " + text("cpu_ms", 5) + " of processor time"
	}
	last.Workers = append(last.Workers, w)
	return nil
}

// hubs draws runs under way as hubs with their workers as spokes; the table below has the same.
func (s *Server) hubs() Part {
	return Part{Name: "hubs", Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		h := &hubs{now: time.Now()}
		err := k.List(ctx, report.Find("workers"),
			report.Choice{Columns: strings.Fields("run worker state pages_per_second memory_bytes cpu_ms"), Limit: 200}, h)
		for _, x := range h.All {
			x.draw()
		}
		return h.All, err
	}}
}

// draw places the workers around the run, the first one on top.
func (m *hub) draw() {
	counts, order := map[string]int{}, []string{}
	for _, w := range m.Workers {
		if counts[w.State]++; counts[w.State] == 1 {
			order = append(order, w.State)
		}
	}
	for i, state := range order {
		order[i] = fmt.Sprintf("%d %s", counts[state], state)
	}
	m.Sum = strings.Join(order, ", ")
	m.More = max(0, len(m.Workers)-spokes)
	m.Workers = m.Workers[:len(m.Workers)-m.More]
	rx, ry := 112.0, 78.0
	if len(m.Workers) > 8 {
		rx, ry = 125, 130
	}
	m.Width, m.Height = 540, int(2*ry)+104
	m.CX, m.CY = m.Width/2, m.Height/2
	for i := range m.Workers {
		p := &m.Workers[i]
		angle := 2*math.Pi*float64(i)/float64(len(m.Workers)) - math.Pi/2
		x, y := math.Cos(angle), math.Sin(angle)
		p.X, p.Y = m.CX+int(math.Round(rx*x)), m.CY+int(math.Round(ry*y))
		p.TX, p.TY = p.X, p.Y-27
		switch {
		case x > 0.3:
			p.Anchor, p.TX, p.TY = "start", p.X+13, p.Y-1
		case x < -0.3:
			p.Anchor, p.TX, p.TY = "end", p.X-13, p.Y-1
		case y > 0:
			p.TY = p.Y + 24
		}
	}
}
