package checkpoint

import (
	"cmp"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// kind is what a claim leaves to the kind of its target: searches, indexes or own. It works within the transaction of
// the claim's step, which is fenced.
type kind interface {
	// save stores what a page says, and notes what became of it.
	save(tx *store.Tx, c *Claim, p *yp.Page, listings *store.Prepared, out *Committed) error
	// adds is what a page that was saved adds to its crawl and to the attempt at it.
	adds(p *yp.Page, out *Committed) added
	// complete makes the target DONE with its last page. set are the arguments of pageSet.
	complete(tx *store.Tx, c *Claim, p *yp.Page, set []any, out *Committed) (store.AttemptEnd, error)
	// ended does what the end of a crawl brings beside the status of its target, which is DONE.
	ended(tx *store.Tx, c *Claim, how yp.Ending) error
	// counted reports whether the targets are among those that a run counts.
	counted() bool
	// blames reports whether an attempt that ended so says something of the source.
	blames(event yp.Event, code yp.ErrorCode) bool

	logged
}

// logged is what a replay leaves to the kind of a target.
type logged interface {
	// find is the query for the id of a target that a log names.
	find(t *wal.Target) (query string, args []any)
	// plan prepares the plan of a target that a log names: what its row has beside its names.
	plan(tx *store.Tx, r *replayer, c *Claim, t *wal.Target) (plannedLog, error)
	// reparse stores what a kept page says that is read again. older counts the listings of which something newer is stored.
	reparse(tx *store.Tx, c *Claim, p *KeptPage) (saved Committed, older int, err error)
	// lost are the listings of a page that nobody knows.
	lost(tx *store.Tx, c *Claim, p *yp.Page) ([]yp.Listing, error)
	// count counts a page that is replayed.
	count(out *Replayed, p *yp.Page)
}

// added is what a page adds.
type added struct {
	seen, accepted             int    // to the target's crawl: what it shows, and what of it is kept or new
	listings, updated, changed int    // to the attempt
	text                       string // for the trace
}

// plannedLog is what the row of a target that is planned from a log has beside the names in it.
type plannedLog struct {
	city    int64 // its row; 0 = it has none
	listing any   // the row of its listing; nil = none
	minutes int64 // between two crawls
}

// kinds are the kinds of targets. Here alone one is chosen.
var kinds = map[yp.Kind]kind{yp.KindSearch: searches{}, yp.KindIndex: indexes{}, yp.KindDetail: own{}}

// kindOf returns the kind of a target; "" is a search.
func kindOf(k yp.Kind) kind { return kinds[cmp.Or(k, yp.KindSearch)] }

func (c *Claim) kind() kind { return kindOf(c.Kind) }
