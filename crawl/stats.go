package crawl

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats is what a run has done so far.
type Stats struct {
	Targets   int64         `json:"targets"` // brought to an outcome
	Done      int64         `json:"done"`
	Failed    int64         `json:"failed"`
	Parked    int64         `json:"parked"`
	Waiting   int64         `json:"waiting"` // failed for the first or second time in a row: tried again in minutes
	Empty     int64         `json:"empty"`   // done: the site says there is nothing
	Lost      int64         `json:"claims_lost"`
	Released  int64         `json:"released"`
	Pages     int64         `json:"pages"`
	Requests  int64         `json:"requests"`
	Retries   int64         `json:"retries"`
	Raw       int64         `json:"raw"`
	Accepted  int64         `json:"accepted"`
	Bad       int64         `json:"bad"`
	New       int64         `json:"new"`
	Changed   int64         `json:"changed"`
	Rejected  int64         `json:"rejected"`  // listings that break a rule of their source, once a page
	Dropped   int64         `json:"dropped"`   // listings that are gone from their source
	Restored  int64         `json:"restored"`  // and back again
	Companies int64         `json:"companies"` // added, less those merged away
	Bytes     int64         `json:"bytes"`
	LeftOut   int64         `json:"cards_left_out"`       // beyond the first 1,000 of a page
	Elsewhere int64         `json:"next_links_elsewhere"` // next links off the source, not followed
	Elapsed   time.Duration `json:"-"`
	Busy      int64         `json:"-"` // workers that hold a target now

	Details        int64 `json:"details"`         // listings' own pages saved
	DetailsFailed  int64 `json:"details_failed"`  // to be tried again, or parked
	DetailsMissing int64 `json:"details_missing"` // parked: the source has no such page
	IndexPages     int64 `json:"index_pages"`     // of the source's indexes of cities
	IndexesFailed  int64 `json:"indexes_failed"`  // likewise; to be tried again, or parked
}

// counters is Stats in the making.
type counters struct {
	targets, done, failed, waiting, parked, empty, lost, released    atomic.Int64
	pages, requests, retries, raw, accepted, bad, newListings        atomic.Int64
	changed, companies, bytes, busy, details, detailsFailed          atomic.Int64
	detailsMissing, indexPages, rejected, dropped, restored, leftOut atomic.Int64
	nextElsewhere, indexesFailed                                     atomic.Int64

	mu   sync.Mutex
	idle string
}

func (c *counters) snapshot(elapsed time.Duration) Stats {
	return Stats{
		Targets: c.targets.Load(), Done: c.done.Load(), Failed: c.failed.Load(), Waiting: c.waiting.Load(), Parked: c.parked.Load(),
		Empty: c.empty.Load(), Lost: c.lost.Load(), Released: c.released.Load(), Pages: c.pages.Load(),
		Requests: c.requests.Load(), Retries: c.retries.Load(), Raw: c.raw.Load(), Accepted: c.accepted.Load(),
		Rejected: c.rejected.Load(), Dropped: c.dropped.Load(), Restored: c.restored.Load(),
		Bad: c.bad.Load(), New: c.newListings.Load(), Changed: c.changed.Load(), Companies: c.companies.Load(),
		Details: c.details.Load(), DetailsFailed: c.detailsFailed.Load(), DetailsMissing: c.detailsMissing.Load(), IndexPages: c.indexPages.Load(), IndexesFailed: c.indexesFailed.Load(),
		LeftOut: c.leftOut.Load(), Elsewhere: c.nextElsewhere.Load(),
		Bytes: c.bytes.Load(), Busy: c.busy.Load(), Elapsed: elapsed,
	}
}

// add adds what another engine has done beside it.
func (s *Stats) add(o Stats) {
	s.Targets += o.Targets
	s.Done += o.Done
	s.Failed += o.Failed
	s.Parked += o.Parked
	s.Waiting += o.Waiting
	s.Empty += o.Empty
	s.Lost += o.Lost
	s.Released += o.Released
	s.Pages += o.Pages
	s.Requests += o.Requests
	s.Retries += o.Retries
	s.Raw += o.Raw
	s.Accepted += o.Accepted
	s.Bad += o.Bad
	s.New += o.New
	s.Changed += o.Changed
	s.Rejected += o.Rejected
	s.Dropped += o.Dropped
	s.Restored += o.Restored
	s.Companies += o.Companies
	s.Bytes += o.Bytes
	s.LeftOut += o.LeftOut
	s.Elsewhere += o.Elsewhere
	s.Details += o.Details
	s.DetailsFailed += o.DetailsFailed
	s.DetailsMissing += o.DetailsMissing
	s.IndexPages += o.IndexPages
	s.IndexesFailed += o.IndexesFailed
	s.Busy += o.Busy
	s.Elapsed = max(s.Elapsed, o.Elapsed)
}

// wait says what the idle workers wait for; empty when one has found work.
func (c *counters) wait(reason string) {
	c.mu.Lock()
	c.idle = reason
	c.mu.Unlock()
}

// pacer spaces out what all idle workers would else do, each for itself.
type pacer struct {
	mu    sync.Mutex
	last  time.Time
	marks int
}

func (p *pacer) mark() {
	p.mu.Lock()
	p.last = time.Now()
	p.marks++
	p.mu.Unlock()
}

// due reports whether the last mark is d ago.
func (p *pacer) due(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last) >= d
}
