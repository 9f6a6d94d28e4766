package crawl

import (
	"reflect"
	"sync"
	"time"
)

// Stats is what a run has done so far. All fields are of kind int64: see Add.
type Stats struct {
	Targets   int64         `json:"targets"` // finished, whatever the outcome
	Done      int64         `json:"done"`
	Failed    int64         `json:"failed"`
	Parked    int64         `json:"parked"`
	Waiting   int64         `json:"waiting"` // failed for the first or second time in a row: tried again in minutes
	Empty     int64         `json:"empty"`   // done: the site says there is nothing
	Lost      int64         `json:"claims_lost"`
	Released  int64         `json:"released"`
	Pages     int64         `json:"pages"` // of results; see PagesRead
	Requests  int64         `json:"requests"`
	Retries   int64         `json:"retries"`
	Raw       int64         `json:"raw"`
	Accepted  int64         `json:"accepted"`
	Cards     int64         `json:"cards"` // that pages of results show or announce: ads, repeated and unreadable ones, too
	Bad       int64         `json:"bad"`   // cards that could not be read, of all reasons, see Unread
	New       int64         `json:"new"`
	Changed   int64         `json:"changed"`
	Rejected  int64         `json:"rejected"`  // listings that break a rule of their source, once a page
	Dropped   int64         `json:"dropped"`   // listings that their source no longer shows
	Restored  int64         `json:"restored"`  // and back again
	Companies int64         `json:"companies"` // added, less those merged away
	Bytes     int64         `json:"bytes"`
	LeftOut   int64         `json:"cards_left_out"`       // beyond the first 1,000 of a page
	Elsewhere int64         `json:"next_links_elsewhere"` // next links off the source, not followed
	Claims    int64         `json:"claims"`               // of targets
	BusyTries int64         `json:"claim_retries"`        // tries more that these took: the database was busy
	Elapsed   time.Duration `json:"-"`
	Busy      int64         `json:"-"` // workers that hold a target now

	NoID       int64 `json:"bad_no_id"` // of Bad, each reason: see site.Unread
	NoName     int64 `json:"bad_no_name"`
	NotShown   int64 `json:"bad_not_shown"`
	PerhapsAds int64 `json:"bad_perhaps_ads"`
	NoCard     int64 `json:"bad_no_card"`
	Alike      int64 `json:"bad_alike"`
	InPart     int64 `json:"bad_in_part"`

	Details        int64 `json:"details"`         // listings' own pages saved
	DetailsFailed  int64 `json:"details_failed"`  // to be tried again, or parked
	DetailsMissing int64 `json:"details_missing"` // parked: the source has no such page
	DetailsWaiting int64 `json:"details_waiting"` // of those that failed: tried again in minutes
	IndexPages     int64 `json:"index_pages"`     // of the source's indexes of cities
	Indexes        int64 `json:"indexes"`         // read to the end
	IndexesFailed  int64 `json:"indexes_failed"`  // likewise; to be tried again, or parked
}

// PagesRead counts the pages that were committed, of every kind: of results, of indexes, and those of
// listings. Speeds count these, as do runs.pages and workers.pages.
func (s Stats) PagesRead() int64 { return s.Pages + s.IndexPages + s.Details }

// Add adds what another engine has done beside it.
func (s *Stats) Add(o Stats) {
	longest := max(s.Elapsed, o.Elapsed)
	sum, more := reflect.ValueOf(s).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
	s.Elapsed = longest
}

// counters is Stats in the making.
type counters struct {
	mu      sync.Mutex
	stats   Stats
	waiting string
}

// update changes the stats.
func (c *counters) update(change func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

func (c *counters) snapshot(elapsed time.Duration) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Elapsed = elapsed
	return s
}

// wait says what the idle workers wait for; empty when one has found work.
func (c *counters) wait(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = reason
}
