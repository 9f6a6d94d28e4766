package cli

import (
	"fmt"

	"ypcrawl/store/report"
)

// printWorkerStatus shows the workers that have not stopped.
func (p *Program) printWorkerStatus(w *sections, s *report.Status) error {
	t := newTable("worker", "process", "target", "page", "pages", "listings", "retries", "memory", "heartbeat")
	for _, m := range s.Workers {
		t.row(m.Name, process(m), short(holding(m), min(40, p.widthLeft(90))), inHand(m), m.Pages, m.Listings, retries(m), megabytes(m.RSS), ago(s.Now, m.Heartbeat))
	}
	return w.table(p, t)
}

// process names a worker's process, and says so when it is not seen to live.
func process(m report.WorkerStatus) string {
	text := fmt.Sprintf("%d on %s", m.PID, short(m.Host, 16))
	if !m.Alive {
		text += " (gone)"
	}
	return text
}

func holding(m report.WorkerStatus) string {
	if m.TargetID == 0 {
		return "none"
	}
	return fmt.Sprintf("%s in %s, %s", m.Category, m.City, m.State)
}

func inHand(m report.WorkerStatus) any {
	if m.TargetID == 0 {
		return nil
	}
	return m.Page
}

// retries is how many of a worker's claims met a busy database.
func retries(m report.WorkerStatus) any {
	if m.Claims == 0 {
		return nil
	}
	return percent(100 * float64(m.ClaimRetries) / float64(m.Claims))
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

// different counts listings, each once however many pages showed it.
func different(n int64) string {
	if n == 1 {
		return "1 listing"
	}
	return thousands(n) + " different listings"
}

// printHour says what the last hour brought.
func printHour(w *sections, s *report.Status) error {
	texts := []string{fmt.Sprintf("Last hour, all states: %s with %s, %s.", plural(s.Pages, "page"), plural(s.Rows, "row"), different(s.Listings))}
	for _, src := range s.Sources {
		for _, u := range src.Proxies {
			texts = append(texts, fmt.Sprintf("%s via %s: %s, %s failed", src.Name, u.Proxy, plural(u.Requests, "request"), thousands(u.Failures)))
		}
	}
	if text := lastRunText(s.LastRun); text != "" {
		texts = append(texts, text+".")
	}
	return w.lines(texts...)
}
