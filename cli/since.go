package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

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
