package main

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// detailArgs fetches the listings' own pages alone.
func (w *world) detailArgs() []string {
	return []string{"details", "--source", "demo", "--base-url", w.url, "--states", "CA", "TX", "--delay", "0", "--log-level", "warn"}
}

// detailTruth is what the listings' own pages say, in the order of ids.
func (w *world) detailTruth() []yp.Detail {
	w.t.Helper()
	all := w.site.Details(w.base(), selection())
	for i := range all {
		all[i].Name = "" // that of the card stays
	}
	return all
}

// checkDetails holds the details, and what they complete of the listings, to the truth.
func (w *world) checkDetails(db *store.DB) {
	w.t.Helper()
	truth := w.detailTruth()
	if diff := cmp.Diff(truth, readDetails(w.t, db)); diff != "" {
		w.t.Errorf("details differ from the truth (-want +got):\n%s", head(diff))
	}
	if diff := cmp.Diff(completed(w.truth.Listings, truth), readListings(w.t, db)); diff != "" {
		w.t.Errorf("listings differ from the truth (-want +got):\n%s", head(diff))
	}
	each(w.t, db, "SELECT listing, status FROM targets WHERE kind = 'detail' AND status <> 'DONE'", func(rows *sql.Rows) error {
		var id int
		var status string
		err := rows.Scan(&id, &status)
		w.t.Errorf("details of listing %d are %s", id, status)
		return err
	})
	each(w.t, db, "SELECT count(*) FROM requests WHERE type = 'detail' AND target_id IS NULL", func(rows *sql.Rows) error {
		var n int
		err := rows.Scan(&n)
		if n != 0 {
			w.t.Errorf("%d requests for details are of no target", n)
		}
		return err
	})
}

// completed returns the listings with what their cards lack and their own pages say.
func completed(listings []yp.Listing, details []yp.Detail) []yp.Listing {
	out := slices.Clone(listings)
	for i := range out {
		l := &out[i]
		at, ok := slices.BinarySearchFunc(details, l.ID, func(d yp.Detail, id string) int { return strings.Compare(d.ID, id) })
		if !ok {
			continue
		}
		d := details[at]
		if l.Phone == "" && l.PhoneE164 == "" {
			l.Phone, l.PhoneE164 = d.Phone, d.PhoneE164
		}
		if l.WebsiteURL == "" && l.Website == "" {
			l.WebsiteURL, l.Website, l.Domain = d.WebsiteURL, d.Website, d.Domain
		}
		if len(l.Hours) == 0 {
			l.Hours = d.Hours
		}
		if l.YearsInBusiness == 0 {
			l.YearsInBusiness = d.Years
		}
	}
	return out
}

const selectDetails = `
	SELECT l.listing_id, ifnull(d.email, ''), ifnull(d.phone, ''), ifnull(d.phone_e164, ''), ifnull(d.website_url, ''), ifnull(d.website, ''), ifnull(d.domain, ''),
		ifnull(d.hours, 'null'), ifnull(d.lat, 0), ifnull(d.lon, 0), ifnull(d.payment, 'null'), ifnull(d.social, 'null'), ifnull(d.services, 'null'),
		ifnull(d.languages, 'null'), ifnull(d.neighborhoods, 'null'), ifnull(d.aka, 'null'), ifnull(d.founded, 0), ifnull(d.years_in_business, 0), ifnull(d.about, '')
	FROM details d JOIN listings l ON l.id = d.listing ORDER BY l.listing_id`

func readDetails(t *testing.T, db *store.DB) (all []yp.Detail) {
	t.Helper()
	each(t, db, selectDetails, func(rows *sql.Rows) error {
		var d yp.Detail
		var lists [7]string
		err := rows.Scan(&d.ID, &d.Email, &d.Phone, &d.PhoneE164, &d.WebsiteURL, &d.Website, &d.Domain, &lists[0], &d.Lat, &d.Lon,
			&lists[1], &lists[2], &lists[3], &lists[4], &lists[5], &lists[6], &d.Founded, &d.Years, &d.About)
		if err != nil {
			return err
		}
		for i, into := range []*[]string{&d.Hours, &d.Payment, &d.Social, &d.Services, &d.Languages, &d.Neighborhoods, &d.AKA} {
			if err := json.Unmarshal([]byte(lists[i]), into); err != nil {
				return err
			}
		}
		all = append(all, d)
		return nil
	})
	return all
}
