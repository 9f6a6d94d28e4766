package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const million = 1_000_000

// benchDB is a database of n targets over all states, ten categories each city,
// made by plain SQL; with listings, it has as many of them.
func benchDB(b *testing.B, n int, listings bool) *checkpoint.Keeper {
	b.Helper()
	db := storetest.Open(b)
	var states string
	for i, s := range yp.States() {
		states += fmt.Sprintf("INSERT INTO meta VALUES ('state%02d', '%s');", i, s.Code)
	}
	triggers := table(b, db, `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	restore := table(b, db, `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`)
	execute(b, db, states)
	for _, name := range triggers {
		execute(b, db, "DROP TRIGGER "+name)
	}
	execute(b, db,
		`INSERT INTO sources VALUES (1, 'demo', 'http://x', 1, 'x', 'x')`,
		upTo(10)+`INSERT INTO categories SELECT value, 'k' || value, 'K' || value FROM s`,
		upTo(n/10)+`INSERT INTO cities SELECT value, 'c' || value, 'City', (SELECT value FROM meta WHERE key = format('state%02d', s.value % 51)),
			1000000 - value, 0, 0, iif(value % 10 = 0, 1, iif(value % 2 = 0, 2, 3)) FROM s`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
			SELECT 1, c.id, k.id, c.state, c.population, c.tier, 4 - c.tier, 'x' FROM cities c CROSS JOIN categories k`,
		`INSERT INTO target_totals SELECT source_id, state, status, count(*), 0, 0, 0 FROM targets GROUP BY 1, 2, 3`)
	if listings {
		execute(b, db,
			upTo(n)+`INSERT INTO companies (id, name, state, lead_source, lead_listing, first_seen_at)
				SELECT value, 'N' || value, 'CA', 1, 'l' || value, 'x' FROM s`,
			`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at)
				SELECT id, 1, lead_listing, id, name, 'CA', id, 'x', 'x' FROM companies`,
			`INSERT INTO listing_totals SELECT source_id, found_state, count(*) FROM listings GROUP BY 1, 2`,
			`INSERT INTO company_totals SELECT state, count(*) FROM companies GROUP BY 1`)
	}
	execute(b, db, restore...)
	return checkpoint.New(db)
}

// upTo begins a statement that reads the numbers from 1 to n as s.
func upTo(n int) string {
	return fmt.Sprintf("WITH RECURSIVE s (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < %d) ", n)
}

func allStates() []string {
	var codes []string
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes
}

// together runs fn in n goroutines and fails the benchmark with their errors.
func together(b *testing.B, n int, fn func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

const benchWorkers = 16

// BenchmarkClaim: sixteen workers claim at once, each in a durable transaction
// that they may share. An op is one claim.
func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{10_000, million} {
		k := benchDB(b, n, false)
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			states []string
		}{{"51 states", allStates()}, {"2 states", []string{"CA", "TX"}}} {
			b.Run(fmt.Sprintf("%d targets/%s", n, c.name), func(b *testing.B) {
				benchClaim(b, k, run, checkpoint.Scope{SourceID: 1, States: c.states})
			})
		}
		if err := run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func benchClaim(b *testing.B, k *checkpoint.Keeper, run *checkpoint.Run, scope checkpoint.Scope) {
	claim := func(i int) error {
		_, err := k.Claim(b.Context(), checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}, scope, 8)
		return err
	}
	release := func() {
		execute(b, k.DB(), `UPDATE targets SET status = 'PLANNED', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
	}
	together(b, benchWorkers, claim) // statements prepared, pages read
	release()
	b.ResetTimer()
	for left := b.N; left > 0; left -= benchWorkers {
		together(b, min(benchWorkers, left), claim)
		b.StopTimer()
		release()
		b.StartTimer()
	}
}

// benchListings are 30 new listings as a page of the real site has them.
func benchListings(worker, page int) []yp.Listing {
	ls := make([]yp.Listing, 30)
	for i := range ls {
		n := (worker*1_000_000+page)*30 + i
		ls[i] = yp.Listing{
			ID: fmt.Sprint(n), Name: fmt.Sprintf("Acme Plumbing & Heating %d", n), Rank: i + 1, ProfileURL: fmt.Sprintf("https://www.example.com/los-angeles-ca/mip/acme-%d", n),
			Phone: "(310) 555-0123", PhoneE164: fmt.Sprintf("+1310%07d", n%10_000_000), Street: fmt.Sprintf("%d Main Street", n), City: "Los Angeles", State: "CA", PostalCode: "90001",
			WebsiteURL: fmt.Sprintf("http://www.acme%d.com", n), Website: fmt.Sprintf("https://acme%d.com", n), Domain: fmt.Sprintf("acme%d.com", n),
			Categories: []string{"Plumbers", "Water Heaters"}, Rating: 4.5, ReviewCount: 12, YearsInBusiness: 20, Snippet: "From Business: we mend what leaks, day and night.",
		}
	}
	return ls
}

// BenchmarkCommitPage: sixteen workers commit pages of 30 new listings. An op is
// one page; compare BenchmarkBareUpsert.
func BenchmarkCommitPage(b *testing.B) {
	k := benchDB(b, 10_000, false)
	run, err := k.StartRun(b.Context(), 1, "bench", false)
	if err != nil {
		b.Fatal(err)
	}
	claims, pages := make([]*checkpoint.Claim, benchWorkers), make([]int, benchWorkers)
	for i := range claims {
		if claims[i], err = k.Claim(b.Context(), checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}, checkpoint.Scope{SourceID: 1, States: allStates()}, 8); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	together(b, benchWorkers, func(i int) error {
		for n := i; n < b.N; n += benchWorkers {
			pages[i]++
			_, err := k.CommitPage(b.Context(), claims[i], checkpoint.Page{Number: claims[i].PageCurrent + 1, NextURL: "/x?page=2", Raw: 30, Listings: benchListings(i, pages[i])})
			if err != nil {
				return err
			}
		}
		return nil
	})
	b.StopTimer()
	_ = run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0)
}

const bareUpsert = `
	INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code,
		website_url, website, domain, categories, rating, review_count, years_in_business, snippet, found_state, fingerprint, first_seen_at, last_seen_at)
	VALUES (1, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'CA', 1, 'x', 'x')
	ON CONFLICT (source_id, listing_id) DO UPDATE SET name = excluded.name, last_seen_at = excluded.last_seen_at`

// BenchmarkBareUpsert is the floor: the same listings into the same table by
// prepared upserts, a commit a page, and nothing else.
func BenchmarkBareUpsert(b *testing.B) {
	db := storetest.Open(b)
	execute(b, db, `INSERT INTO sources VALUES (1, 'demo', 'http://x', 1, 'x', 'x')`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (1, 'N', 1, 'l', 'x')`)
	for page := 0; b.Loop(); page++ {
		err := db.Write(b.Context(), func(tx *store.Tx) error {
			for _, l := range benchListings(1, page) {
				_, err := tx.Exec(bareUpsert, l.ID, l.Name, l.ProfileURL, l.Phone, l.PhoneE164, l.Street, l.City, l.State, l.PostalCode,
					l.WebsiteURL, l.Website, l.Domain, `["Plumbers","Water Heaters"]`, l.Rating, l.ReviewCount, l.YearsInBusiness, l.Snippet)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

const (
	bareCompany = `INSERT INTO companies (name, website, domain, phone_e164, street, city, state, postal_code, lead_source, lead_listing, first_seen_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, 'x')`
	bareListing = `
	INSERT INTO listings (source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code,
		website_url, website, domain, categories, rating, review_count, years_in_business, snippet, found_state, fingerprint, first_seen_at, last_seen_at)
	VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'CA', 1, 'x', 'x')
	ON CONFLICT (source_id, listing_id) DO UPDATE SET name = excluded.name, last_seen_at = excluded.last_seen_at`
	bareKey      = `INSERT INTO company_keys (key, company_id) VALUES (?, ?) ON CONFLICT DO NOTHING`
	bareSighting = `INSERT INTO sightings (target_id, listing, page, rank, seen_at) VALUES (1, ?, 1, ?, 'x') ON CONFLICT DO NOTHING`
)

// BenchmarkBareRows is the floor for all rows that a page leaves: the same
// listings, companies, keys and sightings by prepared statements, a commit a
// page; nothing is looked up, merged, fenced or counted in Go.
func BenchmarkBareRows(b *testing.B) {
	db := benchDB(b, 10, false).DB()
	for page := 0; b.Loop(); page++ {
		listings := benchListings(page%benchWorkers, page/benchWorkers)
		err := db.Write(b.Context(), func(tx *store.Tx) error {
			for i := range listings {
				if err := bareRow(tx, &listings[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func bareRow(tx *store.Tx, l *yp.Listing) error {
	res, err := tx.Exec(bareCompany, l.Name, l.Website, l.Domain, l.PhoneE164, l.Street, l.City, l.State, l.PostalCode, l.ID)
	if err != nil {
		return err
	}
	company, err := res.LastInsertId()
	if err != nil {
		return err
	}
	res, err = tx.Exec(bareListing, l.ID, company, l.Name, l.ProfileURL, l.Phone, l.PhoneE164, l.Street, l.City, l.State, l.PostalCode,
		l.WebsiteURL, l.Website, l.Domain, `["Plumbers","Water Heaters"]`, l.Rating, l.ReviewCount, l.YearsInBusiness, l.Snippet)
	if err != nil {
		return err
	}
	row, err := res.LastInsertId()
	if err != nil {
		return err
	}
	for _, key := range yp.CompanyKeys(l) {
		if _, err := tx.Exec(bareKey, key, company); err != nil {
			return err
		}
	}
	_, err = tx.Exec(bareSighting, row, l.Rank)
	return err
}

// countryPlan is as large as the whole country times ten categories.
func countryPlan() checkpoint.Plan {
	p := checkpoint.Plan{SourceID: 1, TierPages: [4]int{0, 3, 2, 1}}
	for i := range 10 {
		p.Categories = append(p.Categories, checkpoint.Category{Slug: fmt.Sprint("k", i), Name: fmt.Sprint("K", i)})
	}
	for i := range 15_900 {
		st := yp.States()[i%51].Code
		p.Cities = append(p.Cities, checkpoint.City{Slug: fmt.Sprintf("city-%d-%s", i, st), Name: "City", State: st, Population: 1_000_000 - i, Tier: 1 + i%3, Lat: 1.5, Lon: -1.5})
	}
	return p
}

// BenchmarkPlanCountry plans 159,000 targets, then again.
func BenchmarkPlanCountry(b *testing.B) {
	p := countryPlan()
	for b.Loop() {
		k := checkpoint.New(storetest.Open(b))
		for _, name := range []string{"first-s", "second-s"} {
			start := time.Now()
			id, err := k.Source(b.Context(), "demo", "http://x")
			if err != nil {
				b.Fatal(err)
			}
			p.SourceID = id
			if _, err := k.Plan(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(start).Seconds(), name)
		}
	}
}

// BenchmarkProgress reads progress over a million targets and listings.
func BenchmarkProgress(b *testing.B) {
	k := benchDB(b, million, true)
	for _, states := range [][]string{nil, {"CA", "TX"}} {
		b.Run(fmt.Sprintf("%d states asked", len(states)), func(b *testing.B) {
			for b.Loop() {
				p, err := k.Progress(b.Context(), checkpoint.Scope{States: states})
				if err != nil || p.Overall.Targets == 0 || len(states) == 0 && p.Overall.Listings != million {
					b.Fatal(p, err)
				}
			}
		})
	}
}

// BenchmarkRecover10k takes back 10,000 targets of a dead run.
func BenchmarkRecover10k(b *testing.B) {
	k := benchDB(b, 20_000, false)
	for b.Loop() {
		b.StopTimer()
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		if err != nil {
			b.Fatal(err)
		}
		execute(b, k.DB(), fmt.Sprintf(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = 'x', heartbeat_at = 'x', run_id = %d, recoveries = 0 WHERE id <= 10000`, run.ID))
		if err := os.Remove(filepath.Join(store.LockDir(k.DB().Path()), run.UUID+".lock")); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		out, err := k.RecoverDead(b.Context(), checkpoint.Scope{})
		if err != nil || out.Planned != 10_000 {
			b.Fatal(out, err)
		}
		b.StopTimer()
		_ = run.Finish(b.Context(), checkpoint.OutcomeDone, 0)
		b.StartTimer()
	}
}
