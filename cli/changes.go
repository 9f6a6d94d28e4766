package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) changesCommand() *cli.Command {
	return &cli.Command{
		Name:  "changes",
		Usage: "Show changes of listings: new, changed, dropped, restored, rejected",
		Description: "--since takes an age, a date or a run; " + sinceHelp + "\n" +
			"A listing counts as dropped when two complete crawls in a row of every target that showed it no longer do, or two complete\n" +
			"reads in a row of the site's index lack the target's city (city_left_index).",
		Flags: append(
			formatFlags(),
			&cli.StringFlag{Name: "since", DefaultText: "last-pass: when the last pass of each source began", Usage: "changes since `last-pass|7d|DATE|RUN`"},
			&cli.StringFlag{Name: "run", DefaultText: "any", Usage: "only what this `RUN|last` found"},
			onlySourceFlag(),
			statesFlag(),
			list("kind", "only these: `KIND...` is new, changed, dropped, restored, rejected", "all"),
			&cli.StringFlag{Name: "listing", DefaultText: "all", Usage: "the whole history of one listing, `SOURCE/ID`"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most so many `ROWS` of each kind; 0 = all"},
			&cli.BoolFlag{Name: "summary", Usage: "only the counts, their passes, and how much of what the sites list was seen"},
		),
		Action: p.changes,
	}
}

func (p *Program) changes(c *cli.Context) error {
	if err := bothForms(c); err != nil {
		return err
	}
	kinds, err := wordsOf(c, "kind", report.ParseChangeKind)
	if err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	if c.IsSet("listing") {
		return p.listingHistory(c)
	}
	if c.Bool("summary") && c.Bool("csv") {
		return Usagef("--summary and --csv: a summary is not a list of rows; use --json, or neither")
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		from, err := sinceOf(c, k, scope)
		if c.IsSet("run") {
			from, err = byRun(c, k)
		}
		if err != nil {
			return err
		}
		l := changeList{k: k, c: c, filter: report.ChangeFilter{Scope: scope, Since: from.at, Kinds: kinds, Run: from.run}, limit: limit}
		if len(from.passes) > 0 {
			l.filter = report.SincePasses(from.passes, l.filter)
		}
		if l.counts, err = k.CountChanges(c.Context, l.filter); err != nil {
			return err
		}
		if c.Bool("summary") || !c.Bool("json") && !c.Bool("csv") {
			if l.about, err = l.aboutThem(from); err != nil {
				return err
			}
		}
		if c.Bool("summary") {
			return p.tell(c, l.about, l.head)
		}
		out := bufio.NewWriter(p.Out)
		switch {
		case c.Bool("json"):
			err = l.rows(&jsonArray{w: out})
		case c.Bool("csv"):
			err = l.rows(newCSV[report.Change](out))
		default:
			err = l.print(p, out)
		}
		err = errors.Join(err, out.Flush())
		var left int64 // kept back by the limit
		for _, n := range l.counts {
			left += n - l.shown(n)
		}
		if left > 0 {
			p.note("%s more: --limit 0 shows all.", thousands(left))
		}
		return err
	})
}

// changeList is one list of changes. Rows are written as they are read, so that a
// million take no memory.
type changeList struct {
	k      *database
	c      *cli.Context
	filter report.ChangeFilter
	limit  int // of each kind; 0 = all
	counts map[store.Event]int64
	about  *changeSummary
}

// changeSummary says what a list of changes is of, and what it can't tell.
type changeSummary struct {
	Since    time.Time             `json:"since"`  // of several sources the first; absent = the beginning
	Passes   []report.Pass         `json:"passes"` // whose changes they are; none = those since a time or a run
	Counts   map[store.Event]int64 `json:"counts"` // of this selection
	Of       string                `json:"coverage_of"`
	Coverage report.CoverageTotals `json:"coverage"`

	text string
}

func (l *changeList) aboutThem(from since) (*changeSummary, error) {
	s := &changeSummary{Since: from.at, Passes: from.passes, Counts: map[store.Event]int64{}, Of: report.OfScope(l.filter.Scope), text: "since " + from.text}
	if from.run != 0 {
		s.text = from.text
	}
	if s.Passes == nil {
		s.Passes = []report.Pass{}
	}
	for _, kind := range report.ChangeKinds() {
		if len(l.filter.Kinds) == 0 || slices.Contains(l.filter.Kinds, kind) {
			s.Counts[kind] = l.counts[kind]
		}
	}
	var err error
	if l.c.Bool("summary") && len(s.Passes) > 0 {
		if s.Passes, err = l.k.Passes(l.c.Context, l.filter.Scope); err != nil {
			return nil, err
		}
	}
	s.Coverage, err = l.k.CoverageTotals(l.c.Context, l.filter.Scope)
	return s, err
}

// shown is how many of n changes of a kind the limit lets through.
func (l *changeList) shown(n int64) int64 {
	if l.limit > 0 {
		return min(n, int64(l.limit))
	}
	return n
}

// errEnough ends a list early.
var errEnough = errors.New("enough rows")

// rows writes all kinds in the order of time.
func (l *changeList) rows(to rowWriter) error {
	left, open := map[store.Event]int64{}, int64(0)
	for kind, n := range l.counts {
		left[kind] = l.shown(n)
		open += left[kind]
	}
	err := l.k.EachChange(l.c.Context, l.filter, 0, func(x *report.Change) error {
		if open == 0 {
			return errEnough
		}
		if left[x.Kind] == 0 {
			return nil
		}
		left[x.Kind]--
		open--
		return to.add(x)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, to.end())
}

// head writes the counts, what they are of, and what they can't tell.
func (l *changeList) head(w *sections) {
	var head []string
	for _, kind := range report.ChangeKinds() {
		if len(l.filter.Kinds) == 0 || l.counts[kind] > 0 {
			head = append(head, thousands(l.counts[kind])+" "+string(kind))
		}
	}
	w.lines(cmp.Or(strings.Join(head, ", "), "nothing") + " " + l.about.text)
	for i, pass := range l.about.Passes {
		if i == mostNamed {
			w.more(fmt.Sprintf("and the passes of %s", plural(len(l.about.Passes)-i, "more source")))
			break
		}
		w.more(pass.Text())
	}
	w.more(l.about.Coverage.Line(l.about.Of))
}

// print writes the head, then the changes of each kind.
func (l *changeList) print(p *Program, out io.Writer) error {
	w := &sections{p: p, w: out}
	l.head(w)
	for _, kind := range report.ChangeKinds() {
		if l.counts[kind] == 0 {
			continue
		}
		w.title(string(kind))
		f := l.filter
		f.Kinds = []store.Event{kind}
		err := l.k.EachChange(l.c.Context, f, l.limit, func(x *report.Change) error {
			w.item(p.changeLine(x))
			return w.err
		})
		if err != nil {
			return err
		}
	}
	return w.err
}

// changeLine tells a change on a line below its kind.
func (p *Program) changeLine(x *report.Change) (lead, text string) {
	return fmt.Sprintf("  %s  %s/%s  ", minute(x.At), x.Source, x.ListingID), p.placed(x.Name, x.City, x.State) + p.changeText(x)
}

// placed is a name with its place.
func (p *Program) placed(name, city, state string) string {
	place := strings.Trim(city+", "+state, ", ")
	if place != "" {
		place = " (" + place + ")"
	}
	return cmp.Or(p.short(name), "-") + place
}

// short cuts a value for a line on a terminal, where it is shown without its control characters.
func (p *Program) short(s string) string {
	if s = yp.Clean(s); isTerminal(p.Out) {
		s = yp.Shorten(s, 60)
	}
	return s
}

// changeText tells the fields that changed, or why a listing was rejected or dropped; empty = neither.
func (p *Program) changeText(x *report.Change) string {
	parts := make([]string, 0, len(x.Changes)+len(x.Reasons))
	for _, f := range x.Changes {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", f.Field, p.valueText(f.Old), p.valueText(f.New)))
	}
	for _, r := range x.Reasons {
		parts = append(parts, yp.Clean(r))
	}
	text := ""
	if len(parts) > 0 {
		text = ": " + strings.Join(parts, "; ")
	}
	if x.Reparsed {
		text += " (a kept page was read again)"
	}
	return text
}

func (p *Program) valueText(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return p.short(*s)
}

// listingHistory shows what became of one listing.
func (p *Program) listingHistory(c *cli.Context) error {
	source, id, _ := strings.Cut(c.String("listing"), "/")
	if source == "" {
		return Usagef("--listing %q: want SOURCE/ID, as `ypcrawl changes` shows them", c.String("listing"))
	}
	for _, other := range []string{"since", "run", "source", "states", "kind", "csv", "summary"} {
		if c.IsSet(other) {
			return Usagef("--listing shows the whole history of one listing: leave out --%s", other)
		}
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		if id == "" {
			l, err := listingOf(c.Context, k, source)
			if err != nil {
				return fmt.Errorf("--listing: %w", err)
			}
			source, id = l.Source, l.ID
		}
		h, err := k.History(c.Context, source, id)
		if err != nil {
			return asUsage(fmt.Errorf("--listing: %w", err))
		}
		return p.tell(c, h, func(w *sections) { p.historyText(w, h) })
	})
}

func (p *Program) historyText(w *sections, h *report.History) {
	head := fmt.Sprintf("%s/%s  %s", h.Source, h.ListingID, p.placed(h.Name, h.City, h.State))
	if h.CompanyID != nil {
		head += ", company " + idText(*h.CompanyID)
	}
	w.lines(head)
	if !h.FirstSeen.IsZero() {
		seen := fmt.Sprintf("first seen %s, last seen %s", minute(h.FirstSeen), minute(h.LastSeen))
		if !h.Dropped.IsZero() {
			seen += ", dropped since " + minute(h.Dropped)
		}
		w.more(seen)
	}
	for i := range h.Changes {
		x := &h.Changes[i]
		text := string(x.Kind)
		if x.Run != nil {
			text += " by run " + idText(*x.Run)
		}
		w.item("  "+minute(x.At)+"  ", text+p.changeText(x))
	}
}

const sinceHelp = "a RUN is its number or the beginning of its uuid, and counts from its beginning;\n" +
	"ages are 90m, 36h, 7d, 2w; a date or time is UTC: 2026-11-20, 2026-11-20T23:50."

// since is a moment from which on something is told, and how to say it.
type since struct {
	at     time.Time     // zero = from the beginning
	run    int64         // what it found alone; 0 = all
	passes []report.Pass // what began then, where it is the last pass of each source
	text   string
}

// sinceOf reads --since: as momentOf, or last-pass.
func sinceOf(c *cli.Context, k *database, scope store.Scope) (since, error) {
	word := strings.TrimSpace(c.String("since"))
	if word == "" && !c.IsSet("since") || strings.EqualFold(word, "last-pass") {
		passes, err := k.LastPasses(c.Context, scope)
		switch {
		case err != nil:
			return since{}, err
		case len(passes) == 0:
			return since{text: "the beginning"}, nil
		}
		return since{at: report.MarkOf(passes).At, passes: passes, text: "the last pass began"}, nil
	}
	return momentOf(c, k, "since")
}

// momentOf reads a flag that is an age, a date or time (read as UTC), or a run.
func momentOf(c *cli.Context, k *database, flag string) (since, error) {
	word := strings.TrimSpace(c.String(flag))
	if word == "" {
		return since{}, Usagef("--%s is empty: want an age like 7d, a date, or a run", flag)
	}
	if age, err := parseTime(word); err == nil && !isNumber(word) {
		at := k.DB().Now().Add(-age)
		return since{at: at, text: minute(at)}, nil
	}
	for _, layout := range []string{
		time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339, yp.TimeLayout,
	} {
		if at, err := time.Parse(layout, word); err == nil {
			return since{at: at, text: minute(at)}, nil
		}
	}
	r, err := k.FindRun(c.Context, word)
	if unknown, ok := errors.AsType[*report.NotFoundError](err); ok {
		return since{}, Usagef("--%s %q is not an age (7d, 36h), a date (2026-11-20) or a run: %s", flag, word, unknown.Hint)
	}
	return since{at: r.Started, text: fmt.Sprintf("run %d (begun %s)", r.ID, minute(r.Started))}, err
}

// byRun is what the run of --run found.
func byRun(c *cli.Context, k *database) (since, error) {
	if c.IsSet("since") {
		return since{}, Usagef("--run and --since: want one of them; --since RUN is all since that run began")
	}
	id, err := runOf(c, k, c.String("run"))
	if err != nil {
		return since{}, err
	}
	return since{run: id, text: fmt.Sprintf("by run %d", id)}, nil
}

// minute writes a time with its date.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }
