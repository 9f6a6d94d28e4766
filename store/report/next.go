package report

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Next says when a target is crawled next, and what would change that.
type Next struct {
	When   NextWhen   `json:"when"`
	At     yp.Stamp   `json:"at"`                // of NextLater, when that is known
	Why    string     `json:"why"`               // for people
	Remedy string     `json:"remedy,omitempty"`  // the command that makes it claimable, without the program's name
	Held   WorkerName `json:"held_by,omitempty"` // the worker of NextHeld
}

// NextWhen is when, roughly.
type NextWhen string

// The answers to "when is it crawled next?".
const (
	NextNow   NextWhen = "now"   // the next free worker may take it
	NextHeld  NextWhen = "held"  // a worker has it
	NextLater NextWhen = "later" // by itself
	NextNever NextWhen = "never" // not before an operator says so
)

// next reads the answer off what the views say of the target: it decides nothing
// but how to say it.
func (t *waiting) next() Next {
	switch {
	case t.Status == yp.InProgress:
		return Next{When: NextHeld, Held: t.ClaimedBy, Why: "a worker is crawling it"}
	case t.Available:
		return Next{When: NextNow, Why: "the next free worker may take it"}
	case !t.Retired.IsZero() && t.Kind == yp.KindDetail:
		return never("its listing is closed (no longer on the site); its page is read again when the listing is back", "")
	case !t.Retired.IsZero():
		return never("its city is no longer in the source's index; it is crawled again once `discover` finds the city there", "")
	case t.Schedule == ScheduleFailed:
		return never("it was given up (PARKED)", fmt.Sprintf("reset %d", t.ID))
	case !t.Enabled:
		return never("it is disabled", fmt.Sprintf("targets enable %d", t.ID))
	case t.Health == yp.Paused:
		return never("it is paused", fmt.Sprintf("targets resume %d", t.ID))
	case t.Schedule == ScheduleNeedsPlan:
		return never("it is stuck, because its worker died too often", fmt.Sprintf("reset %d", t.ID))
	case t.Schedule == ScheduleNone:
		return never("it is done, and not to be crawled again", "")
	case t.Availability == store.SourceDisabled:
		return never("its source is disabled", SourceRemedy(t.Source, t.Availability))
	case t.Availability == store.SourcePaused && t.ClosedUntil.IsZero():
		return never("its source is paused: "+t.ClosedWhy, SourceRemedy(t.Source, t.Availability))
	}
	return t.later()
}

func never(why, remedy string) Next { return Next{When: NextNever, Why: why, Remedy: remedy} }

// later is the latest of the times that the target waits for.
func (t *waiting) later() Next {
	n := Next{When: NextLater, Why: "it is due"}
	waits := []Next{{At: yp.Stamp{Time: t.NotBefore}, Why: "it is due again then"}}
	switch t.Wait {
	case "backoff":
		waits[0].Why = "it is retried then after a failure"
		if t.Failures > 1 {
			waits[0].Why = fmt.Sprintf("it is retried then after %d failures in a row", t.Failures)
		}
		// Where the site said no, it would only be asked again too soon.
		if !yp.ErrorCode(t.ErrorCode).SaysNo() {
			waits[0].Remedy = fmt.Sprintf("targets enable %d", t.ID)
		}
	case "gap":
		waits[0].Why = "it was crawled less than 2 minutes ago"
	}
	if t.Availability != store.SourceOpen {
		waits = append(waits, Next{
			At:  yp.Stamp{Time: t.ClosedUntil},
			Why: fmt.Sprintf("its source is %s: %s", t.Availability, ReasonText(t.ClosedWhy)), Remedy: SourceRemedy(t.Source, t.Availability),
		})
	}
	for _, w := range waits {
		if w.At.After(n.At.Time) {
			n.At, n.Why, n.Remedy = w.At, w.Why, w.Remedy
		}
	}
	if n.At.IsZero() { // its time came while it was looked at
		n.When, n.Why = NextNow, "the next free worker may take it"
	}
	return n
}

// Penalty is the reason of a hold that is ours, after a block, not the host's.
const Penalty = "penalty"

// Trouble counts targets that are not as they should be.
type Trouble struct {
	Waiting               int64 // PLANNED, until their first short backoff is over
	Gap                   int64 // due, and waiting only because two crawls of a target start yp.MinCrawlGap apart
	Failed, Parked, Stuck int64
	OwnPages              int64 // of those PARKED and STUCK: listings' own pages
	Since                 int64 // waiting, FAILED, PARKED or STUCK, and so since the time asked for

	Searches, Indexes, Details int64 // the kinds of those that wait, FAILED, PARKED or STUCK

	GapOthers int64     // of Gap: no searches
	GapOver   time.Time // when the last of Gap may be crawled; zero = there is none
}

func (t Trouble) sum() int64 { return t.Failed + t.Parked + t.Stuck }

// Add adds that of another scope.
func (t *Trouble) Add(o Trouble) {
	t.Waiting += o.Waiting
	t.Gap += o.Gap
	t.Failed += o.Failed
	t.Parked += o.Parked
	t.Stuck += o.Stuck
	t.OwnPages += o.OwnPages
	t.Since += o.Since
	t.Searches += o.Searches
	t.Indexes += o.Indexes
	t.Details += o.Details
	t.GapOthers += o.GapOthers
	if o.GapOver.After(t.GapOver) {
		t.GapOver = o.GapOver
	}
}

const (
	// A gap that ends later than ?8 is the mark of a clock that was set back, and none.
	countWaiting = `
	SELECT count(*) FILTER (WHERE backoff), count(*) FILTER (WHERE gap), count(*) FILTER (WHERE gap AND kind <> 'search'),
		max(not_before) FILTER (WHERE gap)
	FROM (
		SELECT t.wait_reason = 'backoff' AND t.status = 'PLANNED' AS backoff,
			t.wait_reason = 'gap' AND t.not_before > ?7 AND t.not_before <= ?8
				AND t.enabled = 1 AND t.paused = 0 AND t.retired_at IS NULL AS gap,
			t.kind, t.not_before
		FROM targets t
		WHERE t.wait_reason IN ('backoff', 'gap')
			AND t.not_before IS NOT NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6)))`
	// A listing's page that its source has no more is no trouble: see the exit codes of `run`.
	countTrouble = `
	SELECT ifnull(sum(t.status = 'FAILED'), 0), ifnull(sum(t.status = 'PARKED'), 0), ifnull(sum(t.status = 'STUCK'), 0),
		ifnull(sum(t.kind = 'detail' AND t.status IN ('PARKED', 'STUCK')), 0), ifnull(sum(t.finished_at >= ?7), 0),
		ifnull(sum(t.kind = 'search'), 0), ifnull(sum(t.kind = 'index'), 0), ifnull(sum(t.kind = 'detail'), 0)
	FROM targets t
	WHERE (t.status IN ('FAILED', 'STUCK', 'PARKED') OR t.wait_reason IS 'backoff')
		AND (t.kind <> 'detail' OR t.last_error_code IS NOT 'NO_LISTINGS')
		AND t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
)

// Trouble counts the targets of a scope that wait or went wrong since a time.
func (k *Reader) Trouble(ctx context.Context, scope store.Scope, since time.Time) (t Trouble, err error) {
	now := k.db.Now()
	args := scope.Args(yp.FormatTime(now), yp.FormatTime(now.Add(yp.MinCrawlGap)))
	_, err = k.one(ctx, "count waiting targets", countWaiting, args, &t.Waiting, &t.Gap, &t.GapOthers, at(&t.GapOver))
	if err == nil {
		_, err = k.one(ctx, "count failed targets", countTrouble, scope.Args(yp.FormatTime(since)), &t.Failed, &t.Parked,
			&t.Stuck, &t.OwnPages, &t.Since, &t.Searches, &t.Indexes, &t.Details)
	}
	return t, err
}

// Waiting counts the targets of a scope that failed once or twice in a row, and are tried again when a short backoff is over.
func (k *Reader) Waiting(ctx context.Context, scope store.Scope) (n int64, err error) {
	t, now := Trouble{}, k.db.Now()
	_, err = k.one(ctx, "count waiting targets", countWaiting,
		scope.Args(yp.FormatTime(now), yp.FormatTime(now.Add(yp.MinCrawlGap))), &t.Waiting, &t.Gap, &t.GapOthers, at(&t.GapOver))
	return t.Waiting, err
}

// A listing's page that its source has no more is no trouble: see the exit codes of `run`.
const countParked = `
	SELECT count(*) FROM targets t
	WHERE t.kind IN ('index', 'search', 'detail')
		AND t.status = 'PARKED'
		AND t.status IN ('FAILED', 'STUCK', 'PARKED')
		AND t.retired_at IS NULL
		AND t.finished_at >= ?1
		AND (t.kind <> 'detail' OR t.last_error_code <> 'NO_LISTINGS')
		AND t.source_id IN (SELECT value FROM json_each(?2))`

// ParkedSince counts the dead letters of the sources that came since a time.
func (k *Reader) ParkedSince(ctx context.Context, ids []int64, since time.Time) (n int64, err error) {
	_, err = k.one(ctx, "count dead letters", countParked, []any{yp.FormatTime(since), store.JSONInts(ids)}, &n)
	return n, err
}
