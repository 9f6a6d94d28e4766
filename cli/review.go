package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

const reviewHelp = "--to-review shows what was dropped, restored and rejected since the last review, the oldest first; --mark-reviewed shows\n" +
	"the same and marks it as reviewed. --limit counts the rows of both; rows beyond it are not marked."

// reviewFlags are those of `changes` that are about reviews.
func reviewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "to-review", Usage: "what was dropped, restored and rejected since the last review"},
		&cli.BoolFlag{Name: "mark-reviewed", Usage: "show the same and mark it as reviewed: only the rows shown"},
	}
}

// asksForReview reports whether `changes` is asked for what is to be reviewed.
func asksForReview(c *cli.Context) bool { return c.Bool("to-review") || c.Bool("mark-reviewed") }

// review shows what is to be reviewed, and marks it. All of it, whatever its place: a mark
// that leaves some out could not be told from one that does not.
func (p *Program) review(c *cli.Context, limit int) error {
	flag, how := "--to-review", reading
	if c.Bool("mark-reviewed") {
		flag, how = "--mark-reviewed", existing
	}
	for _, filter := range []string{"since", "source", "states", "kind", "listing"} {
		if c.IsSet(filter) {
			return Usagef("%s is about all that came since the last review: leave --%s out", flag, filter)
		}
	}
	return p.with(c, how, func(k *database, _ store.Scope) error {
		r, err := k.Review(c.Context, 0, limit)
		if err != nil {
			return err
		}
		if err := p.showReview(c, r); err != nil {
			return err
		}
		if r.More > 0 {
			p.note("%s more, all of them later: --limit 0 shows all.", thousands(r.More))
		}
		if r.Total() == 0 || how == reading {
			return nil
		}
		marked, err := k.DB().MarkReviewed(c.Context, r.Mark, store.ReviewedByCommand)
		switch {
		case err != nil:
			return err
		case !marked:
			p.note("Another review has marked the same in the meantime.")
		default:
			p.note("%s marked as reviewed.", plural(len(r.Changes), "change"))
		}
		return nil
	})
}

// showReview writes the list. An error says that not all was shown.
func (p *Program) showReview(c *cli.Context, r *report.Review) error {
	out := bufio.NewWriter(p.Out)
	rows := func(to rowWriter) error {
		for i := range r.Changes {
			if err := to.add(&r.Changes[i]); err != nil {
				return err
			}
		}
		return to.end()
	}
	var err error
	switch {
	case c.Bool("json"):
		err = rows(&jsonArray{w: out})
	case c.Bool("csv"):
		err = rows(newCSV[report.ReviewChange](out))
	default:
		err = p.reviewText(out, r)
	}
	return errors.Join(err, out.Flush())
}

func (p *Program) reviewText(out io.Writer, r *report.Review) error {
	since := "the beginning: there was no review yet"
	if !r.Since.IsZero() {
		since = "the last review, " + minute(r.Since)
	}
	w := &sections{p: p, w: out}
	w.lines(fmt.Sprintf("%s dropped, %s restored, %s rejected since %s", thousands(r.Dropped), thousands(r.Restored), thousands(r.Rejected), since))
	for _, kind := range []store.Event{store.EventDropped, store.EventRestored, store.EventRejected} {
		begun := false
		for i := range r.Changes {
			x := &r.Changes[i].Change
			if x.Kind != kind {
				continue
			}
			if !begun {
				w.title(string(kind))
				begun = true
			}
			w.item(p.changeLine(x))
		}
	}
	return w.err
}
