package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// errorsModel is what went wrong, by cause.
type errorsModel struct {
	Attempts []causeRow
	Requests []causeRow
}

type causeRow struct {
	Cause, Source, Last string
	Queue               string // the address of its targets
	Hour, Day, Targets  int64
}

// causes are the errors of an hour and a day.
func (s *Server) causes() Part {
	return Part{Name: "errors", Read: func(ctx context.Context, _ url.Values) (any, error) {
		c, err := s.cfg.Reader.Causes(ctx)
		if err != nil {
			return nil, err
		}
		var m errorsModel
		for _, a := range c.Attempts {
			m.Attempts = append(m.Attempts, causeRow{
				Cause: string(a.Code), Source: a.Source, Last: yp.Ago(c.Now, a.Last), Queue: queueLink(url.Values{"error": {string(a.Code)}}),
				Hour: a.Hour, Day: a.Day, Targets: a.Targets,
			})
		}
		for _, r := range c.Requests {
			m.Requests = append(m.Requests, causeRow{Cause: string(r.Class), Source: r.Source, Last: yp.Ago(c.Now, r.Last), Hour: r.Hour, Day: r.Day})
		}
		return m, nil
	}}
}

// sourceRow is how a source fares.
type sourceRow struct {
	Name, Address, State, Why, Remedy, Status, Class string
	Rate1h, Rate24h                                  *float64 // percent
	Samples1h, Samples24h                            int64
	P50, P95, Rated, Block                           string
	Recent                                           report.Answers
	Recent50, Recent95                               string
	Hosts                                            []hostRow
}

type hostRow struct {
	Host, Pace, Because, Next, Held string
	Blocks                          int64
}

// sources are the sources with their hosts.
func (s *Server) sources() Part {
	return Part{Name: "sources", Read: func(ctx context.Context, _ url.Values) (any, error) {
		all, err := s.cfg.Reader.Paces(ctx)
		if err != nil {
			return nil, err
		}
		now, rows := time.Now(), make([]sourceRow, len(all))
		for i := range all {
			rows[i] = sourceOf(now, &all[i])
		}
		return rows, nil
	}}
}

func sourceOf(now time.Time, p *report.SourcePace) sourceRow {
	f := p.Profile
	hundred := func(share *float64) *float64 {
		if share == nil {
			return nil
		}
		percent := 100 * *share
		return &percent
	}
	r := sourceRow{
		Name: p.Name, Address: p.BaseURL, State: string(p.Availability), Remedy: p.Remedy, Status: f.Status, Class: f.Class,
		Rate1h: hundred(f.Rate1h), Rate24h: hundred(f.Rate24h), Samples1h: f.Samples1h, Samples24h: f.Samples24h,
		P50: yp.Millis(f.P50), P95: yp.Millis(f.P95), Rated: yp.Ago(now, f.Updated), Block: "none in 24 hours",
		Recent: p.Recent, Recent50: yp.Millis(p.Recent.P50), Recent95: yp.Millis(p.Recent.P95),
	}
	if p.Reason != "" {
		r.Why = report.ReasonText(p.Reason)
	}
	if p.Until.After(now) {
		r.Why = strings.TrimSuffix("until "+yp.Moment(now, p.Until)+": "+r.Why, ": ")
	}
	if !p.Block.IsZero() {
		r.Block = yp.Ago(now, p.Block) + " (" + string(p.BlockClass) + ")"
	}
	for _, h := range p.Hosts {
		row := hostRow{Host: h.Host, Pace: "as configured", Because: h.DelayReason, Next: "at once, as far as known", Blocks: h.Blocks}
		if h.DelayMS > 0 {
			row.Pace = "one request every " + yp.Millis((*int64)(&h.DelayMS))
		}
		if h.Next.After(now) {
			row.Next = yp.Moment(now, h.Next)
		}
		if h.HeldUntil.After(now) {
			row.Held = report.ReasonText(h.HeldFor)
		}
		r.Hosts = append(r.Hosts, row)
	}
	return r
}

// recent is how many listings are shown.
const recent = 20

// listingRow is a listing that was found not long ago.
type listingRow struct {
	report.RecentListing
	Place, Seen string
}

// closingRows is how many listings of a status are shown.
const closingRows = 200

// listings are the last ones that were found; of another status than open, the last that came to be so.
func (s *Server) listings() Part {
	return Part{Name: "listings", Asks: []string{"status"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		m := listingsModel{Status: report.ListingOpen, Statuses: report.ListingStatuses(), Most: closingRows}
		if word := q.Get("status"); word != "" {
			if m.Status = report.ListingStatus(word); !slices.Contains(m.Statuses, m.Status) {
				return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("There is no status %q.", word), "Choose one above the list."}
			}
		}
		now := time.Now()
		if m.Status != report.ListingOpen {
			all, err := s.cfg.Reader.LastClosings(ctx, m.Status, closingRows)
			for i := range all {
				c := &all[i]
				m.Closings = append(m.Closings, closingRow{*c, strings.Trim(c.City+", "+c.State, ", "), yp.Ago(now, c.At), strings.Join(c.Reasons, "; ")})
			}
			return m, err
		}
		all, err := s.cfg.Reader.RecentListings(ctx, recent)
		for _, l := range all {
			l.Website = strings.TrimPrefix(strings.TrimPrefix(l.Website, "https://"), "http://")
			m.Rows = append(m.Rows, listingRow{l, strings.Trim(l.City+", "+l.State, ", "), yp.Ago(now, l.First)})
		}
		return m, err
	}}
}

// listingsModel is what the view of listings shows.
type listingsModel struct {
	Status   report.ListingStatus
	Statuses []report.ListingStatus
	Rows     []listingRow
	Closings []closingRow
	Most     int
}

type closingRow struct {
	report.Change
	Place, Ago, Why string
}

// banner tells on every page what was dropped, restored and rejected in the last days.
func (s *Server) banner() Part {
	return Part{Name: "banner", Read: func(ctx context.Context, _ url.Values) (any, error) {
		return s.cfg.Reader.Closings(ctx, time.Now().AddDate(0, 0, -7))
	}}
}
