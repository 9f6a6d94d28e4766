package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) workersCommand() *cli.Command {
	return &cli.Command{
		Name:  "workers",
		Usage: "Show the workers of runs: their targets, speed, memory and processor time",
		Description: "alive: its process runs and sends heartbeats (every 30s). silent: it has not ended and sends no heartbeat.\n" +
			"pages/s is the rate of the last minute; for an ended worker that of all its time. pages are those of\n" +
			"every kind: of results, of listings, of indexes. Memory and processor time are those of\n" +
			"its process, which its workers share.",
		Flags: append(
			formatFlags(),
			&cli.BoolFlag{Name: "all", Usage: "those of runs that have ended, too"},
			limitFlag(),
		),
		Action: p.listWorkers,
	}
}

func (p *Program) listWorkers(c *cli.Context) error {
	ended, none := 0, "No run is under way: --all shows the workers of those that have ended."
	if c.Bool("all") {
		ended, none = -1, "No worker of a run is known."
	}
	return listRows(p, c, listing[report.Worker]{
		noun: "worker", none: none,
		ask: func(k *database, _ store.Scope, limit int) ([]report.Worker, error) {
			runs, err := k.Workers(c.Context, ended)
			var all []report.Worker
			for _, r := range runs {
				all = append(all, r.Workers...)
			}
			if limit > 0 && len(all) > limit {
				all = all[:limit]
			}
			return all, err
		},
		columns: []string{"run", "worker", "host", "state", "target", "page", "pages", "pages/s", "listings", "memory", "cpu", "heartbeat", ""},
		least:   []string{"", "cpu", "memory", "listings", "host", "run", "page", "heartbeat", "pages/s"},
		cells: func(now time.Time, w report.Worker) []any {
			target, rate, memory, cpu, page := "none", "-", "-", "-", any(nil)
			if w.TargetID != 0 {
				target, page = w.Title(), w.Page
			}
			if w.Rate != nil {
				rate = fmt.Sprintf("%.2f", *w.Rate)
			}
			if w.Memory > 0 {
				memory = megabytes(w.Memory)
			}
			if w.CPUMS != nil {
				cpu = took(time.Duration(*w.CPUMS) * time.Millisecond)
			}
			return []any{
				idText(w.Run), w.Name, w.Host, string(w.State), target, page, w.Pages, rate, w.Listings, memory, cpu,
				ago(now, w.Heartbeat), w.Why,
			}
		},
	})
}

// megabytes writes a number of bytes.
func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }
