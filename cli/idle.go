package cli

import (
	"fmt"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// idleRun reports whether a run has done nothing.
func idleRun(st crawl.Stats) bool {
	return st.Targets+st.Pages+st.IndexPages+st.IndexesFailed+st.Details+st.DetailsFailed+st.DetailsMissing == 0
}

// idleText is what a run says that found nothing to crawl, and when there will be something to do again.
func idleText(now time.Time, s selected, trouble report.Trouble, closed []string) []string {
	if trouble.Gap > 0 && s.Done == s.Targets {
		return []string{"Nothing was crawled."} // why, and when to run it again, is said in one line below
	}
	var due []string
	if !s.NextDue.IsZero() {
		due = append(due, fmt.Sprintf("The next crawl is due at %s (in %s).", yp.Minute(s.NextDue.Time), lasting(s.NextDue.Sub(now))))
	}
	if s.Done == s.Targets {
		return append([]string{"Nothing is due right now: " + allDone(s.Targets) + "."}, due...)
	}
	text := fmt.Sprintf("%s of %s done", thousands(s.Done), plural(s.Targets, "search"))
	if s.InProgress > 0 {
		text += fmt.Sprintf("; %s being crawled by another run", thousands(s.InProgress))
	}
	for _, more := range append([]string{trouble.Text()}, closed...) {
		if more != "" {
			text += "; " + yp.Printable(more)
		}
	}
	return append([]string{"Nothing can be crawled right now: " + text + "."}, due...)
}

// allDone counts searches that are all done: "all 200 searches are done".
func allDone(n int64) string {
	switch n {
	case 0:
		return "no search is planned"
	case 1:
		return "the only search is done"
	case 2:
		return "both searches are done"
	}
	return "all " + plural(n, "search") + " are done"
}

// gapText counts what was crawled a moment ago: "200 searches were crawled less than 2 minutes ago".
func gapText(t report.Trouble) string {
	noun := "search"
	if t.GapOthers > 0 {
		noun = "target"
	}
	return wereOf(t.Gap, noun, "was", "were") + " crawled less than 2 minutes ago"
}

// wereOf counts, with the verb in the number of the noun: "1 search was", "2 searches were".
func wereOf(n int64, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return plural(n, noun) + " " + many
}
