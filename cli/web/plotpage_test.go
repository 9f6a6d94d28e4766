package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// counted has the file tell of requests in the last minutes and hours.
func (b *served) counted(t *testing.T) {
	t.Helper()
	for span, length := range map[string]time.Duration{"minute": time.Minute, "hour": time.Hour} {
		at := b.DB().Now().UTC().Truncate(length).Add(-2 * length).Format("2006-01-02T15:04:05.000Z")
		storetest.Execute(t, b.DB(), `
		INSERT INTO request_spans (source_id, span, began_at, requests, pages, timeout, http_403, latency_ms, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000)
		VALUES (1, '`+span+`', '`+at+`', 50, 40, 3, 7, 9000, 40, 50, 50, 50, 50, 50, 50, 50)`)
	}
}

// TestPlotsOnThePage: the pages have their plots, of what the database says; before a crawl a sentence.
func TestPlotsOnThePage(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	storetest.Execute(t, b.DB(), `DELETE FROM request_spans`)
	b.shows(t, "/sources", []string{"No requests were made in the last 24 hours."}, []string{`class="plot"`})
	b.counted(t)
	b.shows(t, "/", []string{
		"Pages read in the last hour: 40 pages, at most 40 a minute.", "Failed requests in the last hour: 10 of 50 requests; most often: refused by the site (HTTP 403).",
		"<td class=\"n\">7</td><td class=\"n\">3</td>", "plot-passes",
	}, []string{"whole sources"})
	b.shows(t, "/sources", []string{"Estimated latency of demo in the last 24 hours: most recently a p50 of 163 ms and a p95 of 350 ms.", "Success of demo in the last 24 hours: 80.0% of 50 requests returned a page."}, nil)
	b.shows(t, "/runs", []string{"Listings by run, 1 run: 2 new, 0 changed, 0 closed."}, nil)
	b.cfg.Scope = store.Scope{States: []string{"TX"}}
	b.shows(t, "/", []string{"These figures cover whole sources, not only the states that this page shows."}, nil)

	empty := &served{Server: New(Config{Reader: report.New(storetest.Open(t))})}
	for path, want := range map[string]string{"/": "Nothing has been crawled yet.", "/sources": "No requests were made", "/runs": "No run has begun yet."} {
		empty.shows(t, path, []string{want}, []string{`class="plot"`})
	}
}

// TestPlotsAreReadLessOften: plots are not read each second, and that is no sign of a slow query.
func TestPlotsAreReadLessOften(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.counted(t)
	for path, part := range map[string]string{"/{$}": "over-time", "/sources": "source-plots", "/runs": "run-plots"} {
		for _, v := range b.views {
			if v.Path != path {
				continue
			}
			seen := map[string]*last{}
			all, refused := b.look(context.Background(), v, nil, seen)
			if refused != nil {
				t.Fatal(refused)
			}
			if rest := seen[part].due.Sub(seen[part].read); rest < minutesEvery {
				t.Errorf("%s of %s is read again after %v", part, path, rest)
			}
			for _, f := range all {
				if f.ID == part && !strings.Contains(f.HTML, "<svg") {
					t.Errorf("%s shows\n%s", part, f.HTML)
				}
			}
		}
	}
}
