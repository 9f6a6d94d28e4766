package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) runsCommand() *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "What each run did: list, show",
		Subcommands: []*cli.Command{
			p.listCommand("runs list"),
			{
				Name: "show", Usage: "Show all that is known of a run: selection, pages, listings, attempts, errors, requests, waits",
				ArgsUsage: "RUN|last", Args: true,
				Description: "RUN is its number, or the first letters of its uuid. Requests are kept as long as the setting keep-requests says,\n" +
					"successful attempts for 30 days, all else of a run for 90 days. What was deleted is named, and is not counted as 0.",
				Flags: []cli.Flag{jsonFlag()}, Action: p.runsShow,
			},
		},
	}
}

func secondsOf(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// codesText writes exit codes: "0 or 3".
func codesText(codes []int) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = strconv.Itoa(code)
	}
	return strings.Join(texts, " or ")
}

func (p *Program) runsShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want one run: its number, the first letters of its uuid, or last; `ypcrawl runs list` lists them all")
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		id, err := runOf(c, k, c.Args().First())
		if err != nil {
			return err
		}
		d, err := k.ShowRun(c.Context, id)
		if err != nil {
			return asUsage(err)
		}
		return p.tell(c, d, func(w *sections) { p.runText(w, d) })
	})
}

// runOf finds the run that a word names.
func runOf(c *cli.Context, k *database, word string) (int64, error) {
	r, err := k.FindRun(c.Context, word)
	return r.ID, asUsage(err)
}

func (p *Program) runText(w *sections, d *report.RunDetail) {
	ended := d.Ended
	if exit := codesText(d.ExitCodes); exit != "" {
		ended += ", exit code " + exit
	}
	if len(d.ExitCodes) > 1 {
		ended += " (3: some targets went wrong)"
	}
	if d.State == report.WorkerSilent {
		ended += "; " + d.Why
	}
	lines := []string{
		"started", minute(d.Started), "took", took(secondsOf(d.Seconds)), "ended", ended, "process", fmt.Sprintf("%d on %s", d.PID, d.Host), "command", d.Command,
	}
	for _, x := range d.Passes {
		lines = append(lines, "selection", fmt.Sprintf("%s: %s, pass begun %s", x.Source, x.Text(), minute(x.Began)))
	}
	pages := thousands(d.Pages)
	if d.Results != nil && *d.OwnPages+*d.IndexPages > 0 {
		pages += fmt.Sprintf(": %s of results, %s of listings, %s of indexes", thousands(*d.Results), thousands(*d.OwnPages), thousands(*d.IndexPages))
	}
	if d.Seconds >= 1 {
		pages += fmt.Sprintf("; %.2f a second", float64(d.Pages)/d.Seconds)
	}
	listings := fmt.Sprintf("%s new, %s changed, %s dropped, %s restored", thousands(d.New), thousands(d.Changed), thousands(d.Dropped), thousands(d.Restored))
	if d.Found != nil {
		listings = thousands(*d.Found) + " found (each page counts), " + listings
	}
	if d.Rejected > 0 {
		listings += ", " + thousands(d.Rejected) + " rejections (each page counts)"
	}
	lines = append(lines, "searches", thousands(d.Targets)+" brought to an outcome", "pages", pages, "listings", listings)
	if u := d.Workers; u != nil && u.Number > 0 {
		text := plural(u.Number, "worker") + ", " + plural(u.Claims, "claim")
		if u.Retries > 0 {
			text += fmt.Sprintf(" (the database was busy %s times)", thousands(u.Retries))
		}
		if u.Memory > 0 {
			text += ", " + megabytes(u.Memory)
		}
		if u.CPUMS != nil {
			text += ", " + took(time.Duration(*u.CPUMS)*time.Millisecond) + " of processor time"
		}
		lines = append(lines, "workers", text)
	}
	requests := thousands(d.Requests)
	if d.RequestsKept > 0 {
		requests += fmt.Sprintf("; %s requests for targets are still recorded with their outcome", thousands(d.RequestsKept))
	}
	lines = append(lines, "requests", requests)
	if d.Waited > 0 {
		waits := make([]string, 0, len(d.Waits))
		for _, x := range d.Waits {
			waits = append(waits, took(secondsOf(x.Seconds))+" "+x.Reason)
		}
		lines = append(lines, "waited", fmt.Sprintf("%s in all, added up over the workers: %s", took(secondsOf(d.Waited)), strings.Join(waits[:min(len(waits), 5)], ", ")))
	}
	if len(d.Pruned) > 0 {
		lines = append(lines, "deleted", "some or all of its "+strings.Join(d.Pruned, ", ")+"")
	}
	w.table(facts("run", fmt.Sprintf("%d (%s)", d.ID, d.UUID), lines...))
	w.table(tableOf(d.Attempts, func(a report.RunAttempts) []any { return []any{string(a.Kind), a.Ended, a.Times} }, "kind", "attempts ended", "times"))
	w.table(tableOf(d.Errors, func(e report.RunError) []any { return []any{string(e.Code), e.Times, e.Targets} }, "error", "attempts", "targets"))
	w.table(tableOf(d.Outcomes, func(r report.RunRequests) []any {
		return []any{r.Type, yp.Printable(strings.TrimSpace(r.Outcome + " " + string(r.Class))), r.Times, bytesText(r.Bytes)}
	}, "request", "outcome", "times", "received"))
	if d.State == report.WorkerAlive {
		w.lines("It is under way: the figures grow.")
	}
}
