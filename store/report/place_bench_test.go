package report_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

var partRows = flag.Int("rows", 5000, "targets, and listings, of BenchmarkParts")

// large has a file of so many targets, in all states, and as many listings. Counters that triggers keep are made at the end.
func large(b *testing.B, n int) (*report.Reader, *store.DB) {
	b.Helper()
	db := storetest.Open(b)
	world := storetest.World{Cities: storetest.Cities(51, strings.Fields(`AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY
		NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY`)...), Categories: storetest.Categories("Plumbers"), Pages: storetest.TierPages}
	world.Plant(b, db)
	var triggers []string
	for _, name := range storetest.Table(b, db, `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('targets', 'listings', 'cities')`) {
		triggers = append(triggers, "DROP TRIGGER "+name)
	}
	storetest.Execute(b, db, triggers...)
	storetest.Execute(b, db, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 10000 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO cities (id, slug, name, state, population, tier)
		SELECT i, 'city-' || i, 'City ' || (i * 7919 %% 100003), (SELECT state FROM cities WHERE id = 1 + i %% 51), i %% 100000, 3 FROM n`, 10000+n),
		`INSERT INTO targets (source_id, state, city_id, category_id, population, priority, max_pages, created_at)
		SELECT 1, state, id, 1, population, 3 + id % 5, 1, 'x' FROM cities WHERE id >= 10000`,
		`INSERT INTO companies (name, lead_source, lead_listing, first_seen_at) VALUES ('c', 1, 'l', 'x')`,
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO listings (id, source_id, listing_id, company_id, name, phone, city, state, rating, found_state, fingerprint, first_seen_at, last_seen_at)
		SELECT i, 1, 'l' || i, 1, 'Business ' || (i * 7919 %% 1000003), '(802) 555-0100', 'City ' || i %% 1000, 'VT', 1 + i %% 9 * 0.5, 'VT', 0, '2026-01-01', '2026-11-0' || (1 + i %% 9) FROM n`, n),
		`DELETE FROM target_totals`,
		`INSERT INTO target_totals (source_id, kind, state, status, targets) SELECT source_id, kind, state, status, count(*) FROM targets GROUP BY 1, 2, 3, 4`,
		`ANALYZE`)
	return report.New(db), db
}

// BenchmarkLocations measures what the map of all listings reads, and of those that a filter leaves, which are as many:
//
//	go test ./store/report -run '^$' -bench BenchmarkLocations -benchtime 5x -rows 1000000
func BenchmarkLocations(b *testing.B) {
	k, db := large(b, *partRows)
	storetest.Execute(b, db, `UPDATE listings SET lat = 25 + id % 2400 / 100.0, lon = -124 + id % 5700 / 100.0, own_page_at = 'x' WHERE id % 2 = 0`)
	for name, values := range map[string]map[string]any{"all": {"status": "open"}, "filtered": {"status": "open", "has": []string{"name"}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				where, err := k.Locations(b.Context(), report.Choice{Values: values}, time.Minute)
				storetest.NoError(b, err)
				storetest.Equal(b, where.Listings, int64(*partRows), "listings")
			}
		})
	}
}

// BenchmarkParts measures a part of the queue, of a list in its own order and in another, and a batch of a download:
//
//	go test ./store/report -run '^$' -bench BenchmarkParts -benchtime 5x -rows 1000000
func BenchmarkParts(b *testing.B) {
	k, db := large(b, *partRows)
	done := `UPDATE targets SET status = 'DONE', finished_at = 'x', wait_reason = 'recrawl', not_before = '2026-12-0' || (1 + id % 9) || 'T00:00:00.000Z' WHERE id % 1000 > 0`
	parts := func(state string) {
		for _, c := range []struct {
			name, list, sort string
			values           map[string]any
			limit            int
		}{
			{"queue", "targets list", "", nil, 100},
			{"queue of a state", "targets list", "", map[string]any{"states": []string{"VT"}}, 100},
			{"queue in order of the targets' names", "targets list", "target", nil, 100},
			{"queue in order of errors", "targets list", "error", nil, 100},
			{"listings", "listings list", "", map[string]any{"status": "open"}, 100},
			{"listings in order of names", "listings list", "name", map[string]any{"status": "open"}, 100},
			{"listings in order of ratings", "listings list", "-rating", map[string]any{"status": "open"}, 100},
			{"a batch of the queue", "targets list", report.ByKey, nil, 2000},
			{"a batch of listings", "listings list", report.ByKey, map[string]any{"status": "open"}, 2000},
		} {
			b.Run(state+"/"+c.name, func(b *testing.B) {
				l := report.Find(c.list)
				choice := report.Choice{Values: c.values, Columns: strings.Fields(l.Show), Limit: c.limit, Sort: c.sort, Scope: store.Scope{}}
				var after report.Place
				for b.Loop() {
					ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
					end, err := k.Part(ctx, l, choice, after, &rows{})
					cancel()
					if storetest.NoError(b, err); c.sort == "" || c.sort == report.ByKey { // each part costs the same
						after = end
					}
				}
			})
		}
	}
	parts("ready")
	storetest.Execute(b, db, done, `DELETE FROM target_totals`,
		`INSERT INTO target_totals (source_id, kind, state, status, targets) SELECT source_id, kind, state, status, count(*) FROM targets GROUP BY 1, 2, 3, 4`)
	parts("done")
}
