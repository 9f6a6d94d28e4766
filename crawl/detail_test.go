package crawl_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func detailed(c *crawl.Config) { c.Details.Wanted = true }

func detailsOnly(c *crawl.Config) { c.Details = crawl.Details{Wanted: true, Only: true} }

const savedDetails = `
	SELECT l.listing_id, ifnull(d.email, ''), ifnull(d.phone, ''), ifnull(d.phone_e164, ''), ifnull(d.website_url, ''), ifnull(d.website, ''), ifnull(d.domain, ''),
		ifnull(d.hours, '[]'), ifnull(d.lat, 0), ifnull(d.lon, 0), ifnull(d.payment, '[]'), ifnull(d.social, '[]'), ifnull(d.services, '[]'), ifnull(d.languages, '[]'),
		ifnull(d.neighborhoods, '[]'), ifnull(d.aka, '[]'), ifnull(d.founded, 0), ifnull(d.years_in_business, 0), ifnull(d.about, '')
	FROM details d JOIN listings l ON l.id = d.listing JOIN targets t ON t.listing = d.listing WHERE t.status = 'DONE' ORDER BY l.listing_id`

// saved reads the details that are DONE as the truth tells them.
func (w *world) saved() (all []yp.Detail) {
	w.t.Helper()
	rows, err := w.db.Read().QueryContext(context.Background(), savedDetails)
	storetest.NoError(w.t, err)
	defer rows.Close()
	for rows.Next() {
		var d yp.Detail
		lists := [7]string{}
		into := [7]*[]string{&d.Hours, &d.Payment, &d.Social, &d.Services, &d.Languages, &d.Neighborhoods, &d.AKA}
		err := rows.Scan(&d.ID, &d.Email, &d.Phone, &d.PhoneE164, &d.WebsiteURL, &d.Website, &d.Domain, &lists[0], &d.Lat, &d.Lon,
			&lists[1], &lists[2], &lists[3], &lists[4], &lists[5], &lists[6], &d.Founded, &d.Years, &d.About)
		storetest.NoError(w.t, err)
		for i, s := range lists {
			if s == "[]" {
				continue
			}
			storetest.NoError(w.t, json.Unmarshal([]byte(s), into[i]))
		}
		all = append(all, d)
	}
	storetest.NoError(w.t, rows.Err())
	return all
}

// hasDetails compares what was saved with the truth.
func (w *world) hasDetails(truth []yp.Detail) {
	w.t.Helper()
	for i := range truth {
		truth[i].Name = "" // that of the listing stays
	}
	if diff := cmp.Diff(truth, w.saved()); diff != "" {
		w.t.Errorf("details (-truth +saved):\n%.4000s", diff)
	}
	w.counts("details are not DONE", 0, "SELECT count(*) FROM targets WHERE kind = 'detail' AND status <> 'DONE'")
}

// TestDetailsEqualTheTruth: what a run with details saves is what the demo has, in one run and
// as a second step.
func TestDetailsEqualTheTruth(t *testing.T) {
	t.Parallel()
	parallel(t, "with the results pages", func(t *testing.T) {
		w, dir, truth := demoWorld(t, demo.Config{Places: 1}, "CA")
		st := w.done(detailed, workers(4))
		w.hasDetails(dir.Details(w.src.BaseURL(), demo.Selection{States: []string{"CA"}}))
		if st.Details != w.number("SELECT count(*) FROM details") || st.DetailsFailed != 0 || st.Pages != int64(truth.Pages) {
			t.Errorf("stats: %+v", st)
		}
		if n := w.number("SELECT count(*) FROM requests WHERE type = 'detail' AND outcome = 'success' AND result_count = 1 AND target_id IS NOT NULL"); n != st.Details {
			t.Errorf("%d requests for %d details", n, st.Details)
		}
		again := w.done(detailed)
		if again.Requests != 0 {
			t.Errorf("a second run asked for %d pages", again.Requests)
		}
	})
	parallel(t, "afterwards", func(t *testing.T) {
		w, dir, truth := demoWorld(t, demo.Config{Places: 1}, "CA", "TX")
		w.done(workers(4))
		w.holds(truth)
		w.scope.States = []string{"TX"}
		w.done(detailsOnly, workers(4))
		w.hasDetails(dir.Details(w.src.BaseURL(), demo.Selection{States: []string{"TX"}}))
		w.scope.States = []string{"CA", "TX"}
		w.done(detailsOnly, workers(4))
		w.hasDetails(dir.Details(w.src.BaseURL(), demo.Selection{States: []string{"CA", "TX"}}))
	})
}
