package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
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
		Usage: "Show what became of listings: new, changed, dropped, restored, rejected",
		Description: "--since takes an age, a date or a run; " + sinceHelp + "\n" +
			"A listing is dropped when every target that met it was crawled completely twice without it.",
		Flags: append(
			formatFlags(),
			&cli.StringFlag{Name: "since", DefaultText: "when the last pass began: a run and those that went on with it", Usage: "changes since `7d|DATE|RUN`"},
			onlySourceFlag(),
			statesFlag(),
			list("kind", "only these: `KIND...` is new, changed, dropped, restored, rejected", "all"),
			&cli.StringFlag{Name: "listing", DefaultText: "all", Usage: "the whole history of one listing, `SOURCE/ID`"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most so many `ROWS` of each kind; 0 = all"},
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
	k, scope, err := p.openScoped(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	from, err := sinceOf(c, k)
	if err != nil {
		return err
	}
	l := changeList{k: k, c: c, filter: report.ChangeFilter{Scope: scope, Since: from.at, Kinds: kinds}, limit: limit}
	if l.counts, err = k.CountChanges(c.Context, l.filter); err != nil {
		return err
	}
	out := bufio.NewWriter(p.Out)
	switch {
	case c.Bool("json"):
		err = l.rows(&jsonArray{w: out})
	case c.Bool("csv"):
		err = l.rows(newCSV[report.Change](out))
	default:
		err = l.print(p, out, from)
	}
	err = errors.Join(err, out.Flush())
	if l.left() > 0 {
		p.note("%s more: --limit 0 shows all.", thousands(l.left()))
	}
	return err
}

// changeList is one listing of changes. Rows are written as they are read, so that a
// million take no memory.
type changeList struct {
	k      *database
	c      *cli.Context
	filter report.ChangeFilter
	limit  int // of each kind; 0 = all
	counts map[store.Event]int64
}

// left counts the changes that the limit keeps back.
func (l *changeList) left() (n int64) {
	for _, count := range l.counts {
		if l.limit > 0 {
			n += max(0, count-int64(l.limit))
		}
	}
	return n
}

// errEnough ends a listing early.
var errEnough = errors.New("enough rows")

// rows writes all kinds in the order of time.
func (l *changeList) rows(to interface {
	add(row any) error
	end() error
},
) error {
	left := map[store.Event]int64{}
	var open int64
	for kind, n := range l.counts {
		if l.limit > 0 {
			n = min(n, int64(l.limit))
		}
		left[kind] = n
		open += n
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

// print writes a line of counts, then the changes of each kind.
func (l *changeList) print(p *Program, out io.Writer, from since) error {
	var head []string
	for _, kind := range report.ChangeKinds() {
		if len(l.filter.Kinds) == 0 || l.counts[kind] > 0 {
			head = append(head, thousands(l.counts[kind])+" "+string(kind))
		}
	}
	if _, err := fmt.Fprintf(out, "%s since %s\n", cmp.Or(strings.Join(head, ", "), "nothing"), from.text); err != nil {
		return err
	}
	for _, kind := range report.ChangeKinds() {
		if l.counts[kind] == 0 {
			continue
		}
		if err := l.group(p, out, kind); err != nil {
			return err
		}
	}
	return nil
}

// group writes the changes of one kind.
func (l *changeList) group(p *Program, out io.Writer, kind store.Event) error {
	if _, err := fmt.Fprintf(out, "\n%s\n", p.paint(p.Out, bold, string(kind))); err != nil {
		return err
	}
	f := l.filter
	f.Kinds = []store.Event{kind}
	return l.k.EachChange(l.c.Context, f, l.limit, func(x *report.Change) error {
		_, err := fmt.Fprintln(out, "  "+changeLine(x))
		return err
	})
}

// changeLine is a change on one line.
func changeLine(x *report.Change) string {
	line := fmt.Sprintf("%s  %s/%s  %s", minute(x.At), x.Source, x.ListingID, placed(x.Name, x.City, x.State))
	if more := changeText(x); more != "" {
		line += ": " + more
	}
	return yp.Printable(line)
}

// placed is a name with its place.
func placed(name, city, state string) string {
	place := strings.Trim(city+", "+state, ", ")
	if place != "" {
		place = " (" + place + ")"
	}
	return cmp.Or(short(name, shownValue), "-") + place
}

// shownValue is how much of a value is shown on a line.
const shownValue = 60

// changeText tells the fields that changed, or why a listing was rejected.
func changeText(x *report.Change) string {
	parts := make([]string, 0, len(x.Changes)+len(x.Reasons))
	for _, f := range x.Changes {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", f.Field, valueText(f.Old), valueText(f.New)))
	}
	for _, r := range x.Reasons {
		parts = append(parts, short(r, 2*shownValue))
	}
	return strings.Join(parts, "; ")
}

func valueText(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return short(*s, shownValue)
}

// listingHistory shows what became of one listing.
func (p *Program) listingHistory(c *cli.Context) error {
	source, id, _ := strings.Cut(c.String("listing"), "/")
	if source == "" {
		return Usagef("--listing %q: want SOURCE/ID, as `ypcrawl changes` shows them", c.String("listing"))
	}
	for _, other := range []string{"since", "source", "states", "kind", "csv"} {
		if c.IsSet(other) {
			return Usagef("--listing shows the whole history of one listing: leave --%s out", other)
		}
	}
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
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
	if c.Bool("json") {
		return writeJSON(p.Out, h)
	}
	return p.printHistory(h)
}

func (p *Program) printHistory(h *report.History) error {
	head := fmt.Sprintf("%s/%s  %s", h.Source, h.ListingID, placed(h.Name, h.City, h.State))
	if h.CompanyID != nil {
		head += ", company " + idText(*h.CompanyID)
	}
	lines := []string{head}
	if !h.FirstSeen.IsZero() {
		seen := fmt.Sprintf("first seen %s, last seen %s", minute(h.FirstSeen), minute(h.LastSeen))
		if !h.Dropped.IsZero() {
			seen += ", gone since " + minute(h.Dropped)
		}
		lines = append(lines, seen)
	}
	for i := range h.Changes {
		x := &h.Changes[i]
		line := fmt.Sprintf("  %s  %s", minute(x.At), x.Kind)
		if x.Run != nil {
			line += " by run " + idText(*x.Run)
		}
		if more := changeText(x); more != "" {
			line += ": " + more
		}
		lines = append(lines, line)
	}
	w := &sections{w: p.Out}
	return w.lines(lines...)
}

const sinceHelp = "a RUN is its number or the beginning of its uuid: all since it began; ages are 90m, 36h, 7d, 2w;\n" +
	"a date or time is UTC: 2026-11-20, 2026-11-20T23:50."

// sinceLayouts are the forms of a date or time, all read as UTC.
func sinceLayouts() []string {
	return []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339, yp.TimeLayout}
}

// since is a moment from which on something is told, and how to say it.
type since struct {
	at   time.Time // zero = from the beginning
	text string
}

// sinceOf reads --since: an age, a date or time, or a run.
func sinceOf(c *cli.Context, k *database) (since, error) {
	word := strings.TrimSpace(c.String("since"))
	if word == "" {
		if c.IsSet("since") {
			return since{}, Usagef("--since is empty: want an age like 7d, a date, or a run")
		}
		return sinceLastRun(c, k)
	}
	if age, err := parseTime(word, 0); err == nil && strings.Trim(word, "0123456789.") != "" {
		return sinceMoment(k.DB().Now().Add(-age)), nil
	}
	for _, layout := range sinceLayouts() {
		if t, err := time.Parse(layout, word); err == nil {
			return sinceMoment(t), nil
		}
	}
	r, err := k.FindRun(c.Context, word)
	var unknown *report.NotFoundError
	if errors.As(err, &unknown) {
		return since{}, Usagef("--since %q is no age (7d, 36h), no date (2026-11-20), and names no run: %s", word, unknown.Hint)
	}
	return sinceRun(r, ""), err
}

func sinceLastRun(c *cli.Context, k *database) (since, error) {
	r, ok, err := k.LastFinishedRun(c.Context)
	if !ok {
		return since{text: "the beginning"}, err
	}
	if !r.Pass.IsZero() && r.Pass.Before(r.Started) {
		return since{at: r.Pass, text: fmt.Sprintf("the last pass began, %s; run %d was its last", minute(r.Pass), r.ID)}, nil
	}
	return sinceRun(r, "the last finished, "), nil
}

func sinceRun(r report.RunMark, which string) since {
	return since{at: r.Started, text: fmt.Sprintf("run %d (%sbegun %s)", r.ID, which, minute(r.Started))}
}

func sinceMoment(t time.Time) since { return since{at: t, text: minute(t)} }

// minute writes a time with its date.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }
