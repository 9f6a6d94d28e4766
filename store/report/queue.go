package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// QueueGroup is a part of the queue. Every target that is not retired and not done for good
// stands in one of them.
type QueueGroup string

// The groups of the queue.
const (
	QueueRunning   QueueGroup = "running"   // claimed by a worker
	QueueDue       QueueGroup = "due"       // may be claimed now
	QueueHeld      QueueGroup = "held"      // due, but its source is closed
	QueueResting   QueueGroup = "resting"   // after a failure, until a time
	QueueScheduled QueueGroup = "scheduled" // done, and due again at a time
	QueuePaused    QueueGroup = "paused"    // paused or disabled by an operator
	QueueDead      QueueGroup = "dead"      // PARKED or STUCK: no crawl takes it again by itself
)

// QueueGroups lists every group in the order in which people read them.
func QueueGroups() []QueueGroup {
	return []QueueGroup{QueueRunning, QueueDue, QueueHeld, QueueResting, QueueScheduled, QueuePaused, QueueDead}
}

// ParseQueueGroup returns the group named s, in any letter case, or an error that lists the
// valid ones.
func ParseQueueGroup(s string) (QueueGroup, error) {
	if g := QueueGroup(strings.ToLower(s)); slices.Contains(QueueGroups(), g) {
		return g, nil
	}
	return "", fmt.Errorf("unknown part of the queue %q: want one of %v", s, QueueGroups())
}

const (
	// queueFilter is a Filter as a condition on targets t, its arguments ?1 to ?5; ?6 is now.
	queueFilter = `
	(?1 = 0 OR t.source_id = ?1) AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2))) AND t.kind IN (SELECT value FROM json_each(?3))
	AND (?4 = '[]' OR t.status IN (SELECT value FROM json_each(?4))) AND (?5 = '' OR t.last_error_code = ?5) AND t.retired_at IS NULL AND ?6 = ?6 AND `
	usable     = `t.enabled = 1 AND t.paused = 0`
	ready      = `t.status = 'PLANNED' AND t.enabled = 1 AND t.paused = 0 AND t.not_before IS NULL AND t.retired_at IS NULL`
	openSource = `t.source_id IN (SELECT source_id FROM v_source_availability WHERE open = 1)`
	// A wait that is over, until a run plans the target again.
	overdue = `t.wait_reason IN ('backoff', 'recrawl', 'gap') AND t.not_before <= ?6 AND ` + usable

	// Of those that are ready the first of each source, kind and state are looked at, and no
	// others: as many as the totals have rows, whatever the number of targets.
	firstReady = `
	SELECT id FROM (
		SELECT t.id, t.kind, t.priority FROM target_totals n CROSS JOIN targets t ON t.id IN (
			SELECT x.id FROM targets x WHERE x.source_id = n.source_id AND x.kind = n.kind AND x.state = n.state
				AND x.status = 'PLANNED' AND x.enabled = 1 AND x.paused = 0 AND x.not_before IS NULL AND x.retired_at IS NULL
				AND (?5 = '' OR x.last_error_code = ?5) ORDER BY x.priority, x.id LIMIT ?7)
		WHERE n.status = 'PLANNED' AND n.targets > 0 AND ` + queueFilter + `%[1]s
		UNION ALL SELECT * FROM (SELECT t.id, t.kind, t.priority FROM targets t WHERE ` + overdue + ` AND ` + queueFilter + `%[1]s LIMIT ?7))
	ORDER BY priority, id LIMIT ?7`
)

// queueGroup says which targets are in a group, and in which order.
type queueGroup struct {
	where string // a condition on targets t
	order string
	first string // the whole question for the first ones, where it can be put better; empty = by where and order
}

func queueGroupOf(group QueueGroup) queueGroup {
	held := `NOT ` + openSource
	return map[QueueGroup]queueGroup{
		QueueRunning:   {where: `t.status = 'IN_PROGRESS'`, order: `t.heartbeat_at, t.id`},
		QueueDue:       {where: openSource, first: fmt.Sprintf(firstReady, openSource)},
		QueueHeld:      {where: held, first: fmt.Sprintf(firstReady, held)},
		QueueResting:   {where: `t.wait_reason = 'backoff' AND t.not_before > ?6 AND ` + usable, order: `t.not_before, t.id`},
		QueueScheduled: {where: `t.wait_reason IN ('recrawl', 'gap') AND t.not_before > ?6 AND ` + usable, order: `t.not_before, t.id`},
		QueuePaused:    {where: `(t.enabled = 0 OR t.paused = 1) AND t.status NOT IN ('IN_PROGRESS', 'PARKED')`, order: `t.id`},
		QueueDead: {
			where: `t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.status IN ('PARKED', 'STUCK') AND (t.status = 'PARKED' OR ` + usable + `)`,
			order: `t.finished_at DESC, t.id`,
		},
		"": {where: `1`, order: `t.id`},
	}[group]
}

func (k *Reader) queueArgs(f Filter, more ...any) []any {
	kinds := f.Scope.Kinds
	if len(kinds) == 0 {
		kinds = yp.Kinds()
	}
	return append([]any{
		f.Scope.SourceID, store.JSONTexts(f.Scope.States), store.JSONTexts(kinds), store.JSONTexts(f.Statuses), string(f.Error), yp.FormatTime(k.db.Now()),
	}, more...)
}

const queueRows = `
	SELECT ` + targetColumns + ` FROM json_each(?1) w CROSS JOIN v_crawler_status v ON v.id = w.value ORDER BY w.key`

// Queue lists targets of a group of the queue, those first that matter first, at most limit
// of them, and reports whether there are more. An empty group means every target. Of the
// filter source, kinds (none = all), states, statuses and error count.
func (k *Reader) Queue(ctx context.Context, group QueueGroup, f Filter, limit int) (rows []Target, more bool, err error) {
	const what = "list the queue"
	q := queueGroupOf(group)
	ids, err := list(ctx, k, what, q.list(), k.queueArgs(f, limit+1), value[int64])
	if err != nil {
		return nil, false, err
	}
	if more = len(ids) > limit; more {
		ids = ids[:limit]
	}
	rows, err = list(ctx, k, what, queueRows, []any{store.JSONInts(ids)}, fields[Target])
	return rows, more, err
}

// QueueCount is how many targets are in a group of the queue.
type QueueCount struct {
	Group   QueueGroup `json:"group"`
	Targets int64      `json:"targets"`
	More    bool       `json:"more"` // there are more than were counted
}

// queueCounted is how many targets of a group are counted.
const queueCounted = 10_000

// QueueCounts counts the targets of every group, each up to ten thousand.
func (k *Reader) QueueCounts(ctx context.Context, f Filter) ([]QueueCount, error) {
	var all []QueueCount
	for _, group := range QueueGroups() {
		q, c := queueGroupOf(group), QueueCount{Group: group}
		if _, err := k.one(ctx, "count the queue", q.count(), k.queueArgs(f, queueCounted+1), &c.Targets); err != nil {
			return nil, err
		}
		if c.More = c.Targets > queueCounted; c.More {
			c.Targets = queueCounted
		}
		all = append(all, c)
	}
	return all, nil
}

// list asks for the first targets of the group, by the arguments of queueArgs and a limit.
func (q queueGroup) list() string {
	if q.first != "" {
		return q.first
	}
	return `SELECT t.id FROM targets t WHERE ` + queueFilter + q.where + ` ORDER BY ` + q.order + ` LIMIT ?7`
}

// count asks how many targets the group has, up to a limit.
func (q queueGroup) count() string {
	some := func(where string) string { return `SELECT 1 FROM targets t WHERE ` + queueFilter + where }
	if q.first != "" {
		return `SELECT count(*) FROM (` + some(ready+` AND `+q.where) + ` UNION ALL ` + some(overdue+` AND `+q.where) + ` LIMIT ?7)`
	}
	return `SELECT count(*) FROM (` + some(q.where) + ` LIMIT ?7)`
}
