package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Keeper keeps the progress of targets in one database.
type Keeper struct {
	db   *store.DB
	host string
}

// New returns a Keeper over db.
func New(db *store.DB) *Keeper {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Keeper{db: db, host: host}
}

// DB returns the database under the keeper.
func (k *Keeper) DB() *store.DB { return k.db }

// Worker is who claims: one goroutine of a run.
type Worker struct {
	ID    string // yp.WorkerID
	RunID int64

	// Busy, when set, is called when the database is too busy for a claim, before the claim is
	// tried again: with the number of the try and of all tries.
	Busy func(try, of int)
}

// Claim is a worker's hold on a target, with all that the worker must know of it.
type Claim struct {
	TargetID    int64
	Token       int64
	Kind        yp.Kind
	Worker      Worker
	SourceID    int64
	CategoryID  int64
	Place       yp.Place
	Priority    int
	MaxPages    int    // 0 = all
	PageCurrent int    // last page committed
	NextPageURL string // of page PageCurrent+1, when the site gave it, or its position in a list without links
	StartedAt   string // when the current crawl of the target began
	Crawl       int64  // its number: crawls of the target begun so far
	Accepted    int    // listings accepted so far by this crawl; cities new to the source
	Seen        int    // listings and bad cards on its pages so far; cities met
	Bad         int    // of them, cards that could not be read
	Shrunk      int    // crawls in a row that ended on a short page although the last complete one went further
	SiteTotal   int    // what the site said last that it has; 0 = nothing
	MaxRetries  int    // of one page within an attempt
	Dropped     int    // listings that the end of this crawl showed to be gone
	ListingID   string // of a detail: the source's id of its listing; NextPageURL is its page
	listing     int64  // its row

	Behind      int64     // number of the database's last commit when it was made
	Committed   int64     // number of the target's last commit
	CommittedAt time.Time // when this claim made it; zero = an earlier one did
	Ended       int64     // number of the commit that ended it, where that was no page's
	EndedAt     time.Time

	attempts int       // of the target so far, this one included
	number   int64     // of the commit under way
	logged   bool      // it is made anew from a log: nobody holds it between two events
	fetched  time.Time // of a kept page that is read again: what is newer stays

	// Attempt adds up what this claim did; the worker notes its steps and requests
	// here, and the next write on the claim that succeeds takes them along: they
	// cost no transaction of their own.
	Attempt  store.Attempt
	Requests []store.Request
}

func (c *Claim) key() store.AttemptKey { return store.AttemptKey{TargetID: c.TargetID, Token: c.Token} }

// fenced are the arguments of the condition under which a claim may still write,
// "WHERE id = ? AND claimed_by IS ? AND claim_token = ? AND status = ?". Of a claim in a replay it is that nobody has the target.
func (c *Claim) fenced() []any {
	if c.logged {
		return []any{c.TargetID, nil, c.Token, string(yp.Planned)}
	}
	return []any{c.TargetID, c.Worker.ID, c.Token, string(yp.InProgress)}
}

const (
	nextCommit = `
	INSERT INTO meta (key, value) VALUES ('committed', '1')
	ON CONFLICT DO UPDATE SET value = CAST(value + 1 AS TEXT) RETURNING CAST(value AS INTEGER)`
	// What is rebuilt goes on behind the commits that the logs tell of.
	raiseCommit = `
	INSERT INTO meta (key, value) VALUES ('committed', CAST(?1 AS TEXT))
	ON CONFLICT DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < ?1`
)

// take takes the number of a commit of a page, or of an end; a log has it already.
func (c *Claim) take(tx *store.Tx) error {
	if c.logged {
		return nil
	}
	return tx.Get(nextCommit, nil, &c.number)
}

// change runs a statement with the arguments of its SET, those of the fence and more; no row
// means ErrClaimLost.
func (c *Claim) change(tx *store.Tx, query string, set []any, more ...any) error {
	n, err := tx.Changed(query, slices.Concat(set, c.fenced(), more)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrClaimLost
	}
	return nil
}

// write runs fn in a transaction; what it is for begins the text of its error.
func (k *Keeper) write(ctx context.Context, what string, fn func(*store.Tx) error) error {
	if err := k.db.Write(ctx, fn); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// changed runs a statement in a transaction, with the arguments that args returns, and
// returns how many rows it changed.
func (k *Keeper) changed(ctx context.Context, what, query string, args func(*store.Tx) []any) (n int, err error) {
	err = k.write(ctx, what, func(tx *store.Tx) error {
		changed, err := tx.Changed(query, args(tx)...)
		n = int(changed)
		return err
	})
	return n, err
}

// row reads the one row of a query into dest.
func (k *Keeper) row(ctx context.Context, query string, args []any, dest ...any) error {
	return k.db.Row(ctx, query, args, dest...)
}

var (
	// ErrClaimLost means that the target is no longer the worker's: it was
	// recovered, reset or finished by somebody else. Nothing was written.
	ErrClaimLost = errors.New("another worker or an operator has taken over the target")
	// ErrNothing means that no target can be claimed now.
	ErrNothing = errors.New("no target can be claimed")
	// ErrExclusive means that another run has the database to itself and one of the two
	// asked to be alone.
	ErrExclusive = errors.New("another run has the database to itself")
)
