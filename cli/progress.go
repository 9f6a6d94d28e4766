package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) progressCommand() *cli.Command {
	return &cli.Command{
		Name:  "progress",
		Usage: "Show how far the crawl is: overall, by state, workers alive, errors, speed",
		Flags: []cli.Flag{
			statesFlag(),
			onlySourceFlag(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show it again and again until Ctrl-C"},
			&cli.GenericFlag{Name: "every", Value: ageValue(2 * time.Second), Usage: "`TIME` between two looks with --watch"},
			jsonFlag(),
		},
		Action: p.progress,
	}
}

func (p *Program) progress(c *cli.Context) error {
	every := timeOf(c, "every")
	if every < 100*time.Millisecond {
		return Usagef("--every %s: want 100ms or more", every)
	}
	k, scope, err := p.openScoped(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	if c.Bool("watch") {
		return p.watchProgress(c, k, scope, every)
	}
	pr, err := k.ProgressOfDetails(c.Context, scope)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(p.Out, pr)
	}
	return p.printProgress(pr, p.Out, len(pr.States))
}

func onlySourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "source", DefaultText: "all", Usage: "only this `SOURCE`"}
}

// openScoped opens the database with the scope of --source and --states. What
// was typed is checked first.
func (p *Program) openScoped(c *cli.Context, how access) (*database, store.Scope, error) {
	codes, err := states(c)
	if err != nil {
		return nil, store.Scope{}, err
	}
	k, err := p.open(c, how)
	if err != nil {
		return nil, store.Scope{}, err
	}
	scope := store.Scope{States: codes}
	if scope.SourceID, err = knownSource(c, k); err != nil {
		return nil, scope, errors.Join(err, k.DB().Close())
	}
	return k, scope, nil
}

// knownSource is the id of --source, 0 when it was not given.
func knownSource(c *cli.Context, k *database) (int64, error) {
	name := c.String("source")
	if name == "" {
		return 0, nil
	}
	id, err := k.SourceID(c.Context, name)
	if err == nil && id == 0 {
		err = Usagef("--source %q: nothing of that source was planned in %s", name, c.String("db"))
	}
	return id, err
}

// watchProgress shows the progress until ctx ends: a screen that is redrawn on
// a terminal, one JSON object a line or one text a look elsewhere.
func (p *Program) watchProgress(c *cli.Context, k *database, scope store.Scope, every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		pr, err := k.ProgressOfDetails(c.Context, scope)
		if err == nil {
			err = p.showLook(c, pr)
		}
		if c.Context.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-t.C:
		}
	}
}

// showLook writes one look of --watch.
func (p *Program) showLook(c *cli.Context, pr *report.Progress) error {
	if c.Bool("json") {
		return writeJSON(p.Out, pr)
	}
	var text bytes.Buffer
	if !p.live(p.Out) {
		if err := p.printProgress(pr, &text, len(pr.States)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.Out, "%s\n", text.Bytes())
		return err
	}
	lines, err := p.screen(pr, heightOf(p.Out)-1)
	if err != nil {
		return err
	}
	return drawScreen(p.Out, lines, widthOf(p.Out))
}

// screen is the progress in at most height lines: where room is short, states
// are left out before anything else.
func (p *Program) screen(pr *report.Progress, height int) ([]string, error) {
	states := len(pr.States)
	for {
		var text bytes.Buffer
		if err := p.printProgress(pr, &text, states); err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
		over := len(lines) - height
		if over <= 0 || states == 0 {
			return lines[:min(len(lines), max(height, 1))], nil
		}
		if states == len(pr.States) {
			over++ // the line that says so
		}
		states = max(0, states-over)
	}
}

// drawScreen writes over what stands there, line by line, so that nothing
// flickers; a longer line than the terminal's would wrap and push the top out.
func drawScreen(w io.Writer, lines []string, width int) error {
	var out bytes.Buffer
	out.WriteString("\x1b[H")
	for _, line := range lines {
		text, painted := strings.CutPrefix(strings.TrimSuffix(line, plain), string(bold))
		if text = cut(text, width); painted {
			text = string(bold) + text + plain
		}
		out.WriteString(text + "\x1b[K\r\n")
	}
	out.WriteString("\x1b[J")
	_, err := w.Write(out.Bytes())
	return err
}

// heightOf returns the number of rows of a terminal.
func heightOf(v any) int {
	if f, ok := v.(*os.File); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 0 {
			return h
		}
	}
	return defaultHeight
}

const defaultHeight = 24

// printProgress writes the progress with so many of the states, and says
// how many it left out.
func (p *Program) printProgress(pr *report.Progress, w io.Writer, states int) error {
	for _, step := range []func(*report.Progress, io.Writer) error{
		func(pr *report.Progress, w io.Writer) error { return p.printStates(pr, w, states) },
		printLastRun, printDetailTotals, printSpeed, p.printWorkers, p.printErrors,
	} {
		if err := step(pr, w); err != nil {
			return err
		}
	}
	return nil
}

// troubleColumns are shown when there is something in them: with all of them
// the table is wider than 80 columns.
func troubleColumns(all report.Counts) (names []string, of func(report.Counts) []any) {
	keep := []bool{all.Failed > 0, all.Stuck > 0, all.Parked > 0, all.Retired > 0}
	for i, name := range []string{"failed", "stuck", "parked", "retired"} {
		if keep[i] {
			names = append(names, name)
		}
	}
	return names, func(c report.Counts) (cells []any) {
		for i, n := range []int64{c.Failed, c.Stuck, c.Parked, c.Retired} {
			if keep[i] {
				cells = append(cells, n)
			}
		}
		return cells
	}
}

func (p *Program) printStates(pr *report.Progress, w io.Writer, states int) error {
	names, cells := troubleColumns(pr.Overall)
	header := append([]string{"state", "%", "planned", "in progress", "done"}, names...)
	t := newTable(append(header, "pages", "listings", "companies")...)
	add := func(name string, c report.Counts) {
		row := append([]any{name, percent(c.Percent), c.Planned, c.InProgress, c.Done}, cells(c)...)
		t.row(append(row, c.Pages, c.Listings, c.Companies)...)
	}
	for _, s := range pr.States[:states] {
		add(s.State, s.Counts)
	}
	if left := len(pr.States) - states; left > 0 {
		t.row(fmt.Sprintf("+%d more", left))
	}
	if pr.Beyond > 0 {
		row := make([]any, len(t.header))
		for i := range row {
			row[i] = ""
		}
		row[0], row[len(row)-1] = "elsewhere", pr.Beyond // a company counts where its own address is
		t.row(row...)
	}
	add("all", pr.Overall)
	return t.flush(&p.Streams, w)
}

func printLastRun(pr *report.Progress, w io.Writer) error {
	text := lastRunText(pr.LastRun)
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// lastRunText says what a run rejected, dropped and restored; empty when it did none of that.
func lastRunText(r *report.RunListings) string {
	if r == nil || r.Rejected+r.Dropped+r.Restored == 0 {
		return ""
	}
	text := "The last run"
	if r.Running {
		text = "The run under way"
	}
	text += ": " + plural(r.New, "new listing")
	for _, part := range fatesOf(crawl.Stats{Rejected: r.Rejected, Dropped: r.Dropped, Restored: r.Restored}) {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", thousands(part.n), part.name)
		}
	}
	return text
}

func (p *Program) printWorkers(pr *report.Progress, w io.Writer) error {
	return p.printBelow(w, tableOf(pr.Workers, func(h report.Holder) []any {
		beat := "never"
		if h.AgeSec >= 0 {
			beat = ago(pr.Now, h.Heartbeat)
		}
		if !h.Alive {
			beat += " (not alive here)"
		}
		return []any{h.Worker, h.City + ", " + h.State, h.Category, h.Page, beat}
	}, "worker", "city", "category", "page", "heartbeat"))
}

// printBelow prints a table, if it has rows, below an empty line.
func (p *Program) printBelow(w io.Writer, t *table) error {
	return (&sections{w: w, begun: true}).table(p, t)
}

func (p *Program) printErrors(pr *report.Progress, w io.Writer) error {
	width := 160
	if isTerminal(p.Out) {
		width = max(20, widthOf(p.Out)-40)
	}
	return p.printBelow(w, tableOf(pr.Errors, func(e report.ErrorCount) []any {
		code := codeText(e.Code, e.ByProxy)
		if code == "none" {
			code = "-"
		}
		return []any{code, e.Status, e.Targets, short(reason(e.Example), width)}
	}, "error", "status", "targets", "for example"))
}

// printSpeed tells how fast it goes and how long it takes: the targets first, the details
// that are due after them.
func printSpeed(pr *report.Progress, w io.Writer) error {
	if pr.Live == 0 {
		return nil
	}
	text, targets, due := "", pr.Overall.Planned+pr.Overall.InProgress, int64(0)
	if targets > 0 || pr.Details == nil {
		text = fmt.Sprintf("%.1f pages/s, ", pr.Rate)
	}
	if pr.Details != nil {
		due = pr.Details.Due + pr.Details.Held
	}
	switch {
	case pr.WaitingFor != "" && pr.WaitingUntil.IsZero():
		text += "waiting: " + pr.WaitingFor
	case pr.WaitingFor != "":
		text += fmt.Sprintf("waiting until %s: %s", yp.ClockTime(pr.Now, pr.WaitingUntil), pr.WaitingFor)
	case due == 0:
		text += "time left: " + timeLeft(pr.ETASec)
	case targets == 0:
		text += "time left for the details: " + timeLeft(pr.DetailsETASec)
	default:
		text += fmt.Sprintf("time left for the targets: %s, for the details: %s", timeLeft(pr.ETASec), timeLeft(pr.DetailsETASec))
	}
	_, err := fmt.Fprintln(w, "\n"+yp.Printable(text))
	return err
}

func timeLeft(seconds float64) string {
	if seconds < 0 {
		return "unknown"
	}
	return lasting(time.Duration(seconds * float64(time.Second)))
}

// reason is an error's text without the address at its head: in a table of
// codes the cause counts, and it would be cut off.
func reason(text string) string {
	if address, ok := strings.CutPrefix(text, "fetch http"); ok {
		if _, cause, ok := strings.Cut(address, ": "); ok {
			return cause
		}
	}
	return text
}

// short cuts a text for a table, before its control characters are shown.
func short(s string, n int) string {
	s = yp.Clean(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return cut(s, n-1) + "…"
}
