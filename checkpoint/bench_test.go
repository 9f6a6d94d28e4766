package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const million = 1_000_000

// freshHealth makes every target claimable. Of mixed ones, by number, three of ten wait and
// one is disabled.
const freshHealth = `'PLANNED', 1, NULL, NULL, NULL, 0, NULL`

func mixedHealth(number string) string {
	return strings.ReplaceAll(`CASE # % 10 WHEN 1 THEN 'FAILED' WHEN 2 THEN 'DONE' ELSE 'PLANNED' END, # % 10 <> 3,
		iif(# % 10 < 3, '2099-01-0' || (1 + # % 10), NULL), CASE # % 10 WHEN 0 THEN 'backoff' WHEN 1 THEN 'backoff' WHEN 2 THEN 'recrawl' END,
		iif(# % 10 = 1, 'TIMEOUT', NULL), # % 10 = 1, iif(# % 10 IN (1, 2), 'x', NULL)`, "#", "("+number+")")
}

const (
	healthColumns = `status, enabled, not_before, wait_reason, last_error_code, backoff_level, finished_at`
	countTargets  = `INSERT OR REPLACE INTO target_totals SELECT source_id, kind, state, status, count(*), 0, 0, 0 FROM targets GROUP BY 1, 2, 3, 4`
)

// mixedDB is a database of n targets of the three kinds: the indexes of 51 states, of which
// most were read this week, and half searches, half details, in mixed health.
func mixedDB(b *testing.B, n int) *checkpoint.Keeper {
	b.Helper()
	k := benchDBOf(b, n/2, true, mixedHealth("c.id + k.id"))
	triggers := table(b, k.DB(), `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	restore := table(b, k.DB(), `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`)
	for _, name := range triggers {
		execute(b, k.DB(), "DROP TRIGGER "+name)
	}
	execute(b, k.DB(),
		`INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT 1, 'detail', t.state, t.city_id, t.category_id, l.id, t.population, 1, 100 + l.id % 2, 'x', `+mixedHealth("l.id / 2")+`
			FROM listings l JOIN targets t ON t.id = l.id`,
		`INSERT INTO targets (source_id, kind, state, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT DISTINCT 1, 'index', value, 0, 26, 0, 'x', `+mixedHealth("iif(substr(key, 6) % 10 = 5, 5, 2)")+` FROM meta WHERE key LIKE 'state%'`,
		countTargets)
	execute(b, k.DB(), restore...)
	return k
}

// benchDB is a database of n targets over all states, ten categories each city,
// made by plain SQL; with listings, it has as many of them.
func benchDB(b *testing.B, n int, listings bool) *checkpoint.Keeper {
	b.Helper()
	return benchDBOf(b, n, listings, freshHealth)
}

func benchDBOf(b *testing.B, n int, listings bool, health string) *checkpoint.Keeper {
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
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://x', 'x', 'x')`,
		upTo(10)+`INSERT INTO categories SELECT value, 'k' || value, 'K' || value FROM s`,
		upTo(n/10)+`INSERT INTO cities SELECT value, 'c' || value, 'City', (SELECT value FROM meta WHERE key = format('state%02d', s.value % 51)),
			1000000 - value, 0, 0, iif(value % 10 = 0, 1, iif(value % 2 = 0, 2, 3)) FROM s`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT 1, c.id, k.id, c.state, c.population, 4 - c.tier, c.tier, 'x', `+health+` FROM cities c CROSS JOIN categories k`,
		countTargets)
	if listings {
		execute(b, db,
			upTo(n)+`INSERT INTO companies (id, name, state, lead_source, lead_listing, first_seen_at)
				SELECT value, 'N' || value, 'CA', 1, 'l' || value, 'x' FROM s`,
			`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at)
				SELECT id, 1, lead_listing, id, name, 'CA', id, 'x', 'x' FROM companies`,
			`INSERT INTO listing_totals (source_id, state, listings) SELECT source_id, found_state, count(*) FROM listings GROUP BY 1, 2`,
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

// hugeEnv, when set, has BenchmarkClaim make a database of ten million targets, too: that
// takes minutes and several gigabytes.
const hugeEnv = "YPCRAWL_BENCH_HUGE"

// BenchmarkClaim: sixteen workers claim at once, each in a durable transaction
// that they may share, of the three kinds mixed. An op is one claim.
func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{10_000, million, 10 * million} {
		if n > 10_000 && testing.Short() || n > million && os.Getenv(hugeEnv) == "" {
			continue
		}
		k := mixedDB(b, n)
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		noErr(b, err)
		for _, c := range []struct {
			name  string
			scope store.Scope
		}{
			{"51 states", store.Scope{States: allStates(), Kinds: yp.Kinds()}},
			{"2 states", store.Scope{States: []string{"CA", "TX"}, Kinds: yp.Kinds()}},
			{"searches", store.Scope{States: allStates()}},
			{"details", store.Scope{States: allStates(), Kinds: []yp.Kind{yp.KindDetail}}},
			{"details of 20 cities", store.Scope{States: allStates(), Kinds: []yp.Kind{yp.KindDetail}, CityIDs: upToTwenty}},
		} {
			c.scope.SourceID = 1
			b.Run(fmt.Sprintf("%d targets/%s", n, c.name), func(b *testing.B) { benchClaim(b, k, run, c.scope) })
		}
		noErr(b, run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0))
	}
}

var upToTwenty = []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}

func benchClaim(b *testing.B, k *checkpoint.Keeper, run *checkpoint.Run, scope store.Scope) {
	claim := func(i int) error {
		_, err := k.Claim(b.Context(), checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}, scope, 8)
		return err
	}
	release := func() {
		execute(b, k.DB(), `UPDATE targets SET status = 'PLANNED', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`,
			`UPDATE crawl_attempts SET ended = 'released', finished_at = started_at WHERE ended = 'running'`)
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

// BenchmarkCommitPage: sixteen workers commit pages of 30 new listings; what it costs
// to record the requests of a page, and the end of an attempt with the target's, is
// the difference of the cases. An op is one page; compare BenchmarkBareUpsert.
func BenchmarkCommitPage(b *testing.B) {
	for _, c := range []struct {
		name     string
		requests int
		last     bool
	}{{"a page", 0, false}, {"with two requests", 2, false}, {"the last", 0, true}, {"the last with two requests", 2, true}} {
		b.Run(c.name, func(b *testing.B) { benchCommit(b, c.requests, c.last) })
	}
}

// benchCommit lets every worker commit a page, and waits for all, over and over.
func benchCommit(b *testing.B, requests int, last bool) {
	k := benchDB(b, 10_000, false)
	run, err := k.StartRun(b.Context(), 1, "bench", false)
	noErr(b, err)
	claims, rounds := make([]*checkpoint.Claim, benchWorkers), 0
	claim := func(i int) (err error) {
		w := checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}
		claims[i], err = k.Claim(b.Context(), w, store.Scope{SourceID: 1, States: allStates()}, 8)
		return err
	}
	commit := func(i int) error {
		c := claims[i]
		c.Requests = benchRequests(c, requests)
		_, err := k.CommitPage(b.Context(), c, yp.Page{Number: c.PageCurrent + 1, NextURL: "/x?page=2", Last: last, Raw: 30, Listings: benchListings(i, rounds)})
		return err
	}
	together(b, benchWorkers, claim)
	b.ResetTimer()
	for left := b.N; left > 0; left -= benchWorkers {
		rounds++
		together(b, min(benchWorkers, left), commit)
		if last {
			b.StopTimer()
			execute(b, k.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, page_current = 0 WHERE status = 'DONE'`)
			together(b, min(benchWorkers, left), claim)
			b.StartTimer()
		}
	}
	b.StopTimer()
	_ = run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0)
}

// benchRequests are those of a page that came at the n-th try.
func benchRequests(c *checkpoint.Claim, n int) (all []store.Request) {
	for i := range n {
		r := store.Request{
			SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Page: c.PageCurrent + 1, Correlation: "0123456789abcdef", Retry: i, Type: yp.RequestListing,
			URL: "https://www.example.com/search?search_terms=plumbers&geo_location_terms=Los+Angeles%2C+CA&page=2", Started: time.Now(),
			Latency: 321 * time.Millisecond, Waited: 2 * time.Second, WaitReason: "pace", Class: yp.ClassHTTP5xx, Status: 503, Bytes: 54321, Identity: "honest",
		}
		if i == n-1 {
			r.Class, r.Status, r.Results = "", 200, 30
		}
		all = append(all, r)
	}
	return all
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
	execute(b, db, `INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://x', 'x', 'x')`,
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
		noErr(b, err)
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
	bareKey      = `INSERT INTO company_keys (hash, company_id) VALUES (random() >> 8, ?)`
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
		noErr(b, err)
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
	for range yp.CompanyKeys(l) {
		if _, err := tx.Exec(bareKey, company); err != nil {
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
		p.Categories = append(p.Categories, yp.Category{Slug: fmt.Sprint("k", i), Name: fmt.Sprint("K", i)})
	}
	for i := range 15_900 {
		st := yp.States()[i%51].Code
		p.Cities = append(p.Cities, yp.City{Slug: fmt.Sprintf("city-%d-%s", i, st), Name: "City", State: st, Population: 1_000_000 - i, Tier: 1 + i%3, Lat: 1.5, Lon: -1.5})
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
			noErr(b, err)
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
	n := many()
	k := benchDB(b, n, true)
	for _, states := range [][]string{nil, {"CA", "TX"}} {
		b.Run(fmt.Sprintf("%d states asked", len(states)), func(b *testing.B) {
			for b.Loop() {
				p, err := report.New(k.DB()).Progress(b.Context(), store.Scope{States: states})
				if err != nil || p.Overall.Targets == 0 || len(states) == 0 && p.Overall.Listings != int64(n) {
					b.Fatal(p, err)
				}
			}
		})
	}
}

// BenchmarkRecover10k takes back 10,000 targets of a dead run, with their attempts.
func BenchmarkRecover10k(b *testing.B) {
	k := benchDB(b, 20_000, false)
	for b.Loop() {
		b.StopTimer()
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		noErr(b, err)
		execute(b, k.DB(), fmt.Sprintf(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = 'x', heartbeat_at = 'x', run_id = %d, recoveries = 0, claim_token = claim_token + 1 WHERE id <= 10000`, run.ID),
			`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at)
				SELECT id, claim_token, run_id, 'w', 1, 0, 'x' FROM targets WHERE status = 'IN_PROGRESS'`)
		noErr(b, os.Remove(filepath.Join(store.LockDir(k.DB().Path()), run.UUID+".lock")))
		b.StartTimer()
		out, err := k.RecoverDead(b.Context(), store.Scope{})
		if err != nil || out.Planned != 10_000 {
			b.Fatal(out, err)
		}
		b.StopTimer()
		_ = run.Finish(b.Context(), checkpoint.OutcomeDone, 0)
		b.StartTimer()
	}
}
