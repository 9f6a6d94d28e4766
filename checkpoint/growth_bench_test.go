//go:build unix

package checkpoint_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	noErr(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// directoryPage is a page as a directory has them: ids and websites in no order, phones
// and postal codes of one place. Of twenty listings one is of a business that was on the
// page before.
func directoryPage(page int) []yp.Listing {
	ls := make([]yp.Listing, 30)
	for i := range ls {
		n := page*30 + i
		business := n
		if n%20 == 19 && page > 0 {
			business = n - 30
		}
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, business)
		r := h.Sum32()
		place := page / 40
		ls[i] = yp.Listing{
			ID: fmt.Sprint(int64(n) * 2_654_435_761 % 999_999_937), Name: fmt.Sprintf("%s %s %d", []string{"Acme", "Summit", "Eagle", "José García"}[r%4], []string{"Plumbing & Heating", "Rooter, Inc.", "Sewer Repair"}[r%3], business),
			Rank: i + 1, Phone: fmt.Sprintf("(%d) 555-%04d", 210+place%700, business%10_000), PhoneE164: fmt.Sprintf("+1%d555%04d", 210+place%700, business%10_000),
			Street: fmt.Sprintf("%d Main Street", business%9000), City: "Los Angeles", State: "CA", PostalCode: fmt.Sprintf("%05d", 10_000+place*37+i%3),
			Categories: []string{"Plumbers", "Water Heaters & Repair"}, Snippet: "Licensed and insured: free estimates on every job.",
		}
		ls[i].ProfileURL = fmt.Sprintf("http://127.0.0.1:42183/los-angeles-ca/mip/acme-plumbing-%s", ls[i].ID)
		if r%5 < 2 {
			ls[i].Domain = fmt.Sprintf("acme%dplumbing.example", r)
			ls[i].Website, ls[i].WebsiteURL = "https://"+ls[i].Domain, "http://www."+ls[i].Domain+"/?utm_source=yp"
		}
		if r%3 == 0 {
			ls[i].Rating, ls[i].ReviewCount, ls[i].Hours = 4.5, 12, []string{"Mo-Fr 07:30-18:00", "Sa 08:00-14:00", "Su"}
		}
	}
	return ls
}

// growthEnv, when set, is how many listings are stored before BenchmarkGrowth measures; 500,000
// take a minute or two. Without it there are few: that it runs.
const growthEnv = "YPCRAWL_BENCH_STORED"

// BenchmarkGrowth is the time of a page of 30 new listings in a file that has many beside one
// into an empty file, of five workers at once and in turn. Bound: with what a page of 250 kB takes
// beside its commit, 2.3 ms of processor time, a file of 500,000 listings keeps 0.85 of the pages a second.
func BenchmarkGrowth(b *testing.B) {
	stored, _ := strconv.Atoi(os.Getenv(growthEnv))
	stored = cmp.Or(stored, 3000)
	large, small := &growing{k: benchDB(b, 10_000)}, &growing{k: benchDB(b, 10_000)}
	large.crawl(b, stored/30)
	large.cpu, large.wall = 0, 0
	pages := 0
	for b.Loop() {
		small.crawl(b, 100)
		large.crawl(b, 100)
		pages += 100
	}
	const beside = 2300 * time.Microsecond
	perPage := func(d time.Duration) time.Duration { return d / time.Duration(pages) }
	b.ReportMetric(perPage(small.cpu).Seconds()*1000, "empty-cpu-ms/page")
	b.ReportMetric(perPage(large.cpu).Seconds()*1000, "stored-cpu-ms/page")
	b.ReportMetric(large.wall.Seconds()/small.wall.Seconds(), "wall-ratio")
	b.ReportMetric(float64(beside+perPage(small.cpu))/float64(beside+perPage(large.cpu)), "pages-ratio")
}

// growing is a file into which five workers crawl one page after the other.
type growing struct {
	k         *checkpoint.Keeper
	next      int
	cpu, wall time.Duration
}

func (g *growing) crawl(b *testing.B, pages int) {
	run, err := g.k.StartRun(b.Context(), 1, "bench", false)
	noErr(b, err)
	work := make(chan int, pages)
	for range pages {
		work <- g.next
		g.next++
	}
	close(work)
	cpu, wall := cpuTime(b), time.Now()
	together(b, 5, func(i int) error { return g.work(b, checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}, work) })
	g.cpu, g.wall = g.cpu+cpuTime(b)-cpu, g.wall+time.Since(wall)
	execute(b, g.k.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, page_current = 0, claimed_by = NULL, claimed_at = NULL, run_id = NULL,
		heartbeat_at = NULL WHERE status IN ('DONE', 'IN_PROGRESS')`)
	noErr(b, run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0))
}

// work crawls targets of five pages until there is no work.
func (g *growing) work(b *testing.B, w checkpoint.Worker, work <-chan int) error {
	for {
		c, err := g.k.Claim(b.Context(), w, store.Scope{SourceID: 1, States: allStates()}, 8)
		if err != nil {
			return err
		}
		for number := 1; number <= 5; number++ {
			page, ok := <-work
			if !ok {
				return nil
			}
			c.Requests = []store.Request{{
				SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Page: number, Correlation: "0123456789abcdef", Type: yp.RequestListing,
				URL: "https://www.example.com/search?search_terms=plumbers&geo_location_terms=Los+Angeles%2C+CA&page=2", Started: time.Now(),
				Latency: 321 * time.Millisecond, Waited: 2 * time.Second, WaitReason: "pace", Status: 200, Results: 30, Bytes: 54321, Identity: "honest",
			}}
			if _, err := g.k.CommitPage(b.Context(), c, yp.Page{Number: number, NextURL: "/x?page=2", Raw: 30, Listings: directoryPage(page), Last: number == 5}); err != nil {
				return err
			}
		}
	}
}
