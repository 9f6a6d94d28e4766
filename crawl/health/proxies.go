package health

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Proxy is a proxy of the operator's: what a run needs of a row of proxies.
type Proxy struct {
	ID            int64
	URL           string // may hold a password: for dialling, never for showing
	Name          string // the same without it
	Enabled       bool
	Consecutive   int       // failures in a row
	FailingSince  time.Time // the first of them; zero = it is not known
	CooldownUntil time.Time // it rests until then; zero = it does not
}

const (
	selectProxies = `SELECT id, url, name, enabled, consecutive_failures, failing_since, cooldown_until FROM proxies ORDER BY id`
	// ON CONFLICT DO NOTHING would use a number up.
	insertProxy = `INSERT INTO proxies (url, name, created_at) SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM proxies WHERE url = ?1)`
	// Never a trap: a proxy that an operator enables has its rest behind it.
	enableProxy = `
	UPDATE proxies SET enabled = ?2, consecutive_failures = iif(?2, 0, consecutive_failures), failing_since = iif(?2, NULL, failing_since),
		cooldown_until = iif(?2, NULL, cooldown_until)
	WHERE id = ?1`
	removeProxy = `DELETE FROM proxies WHERE id = ?1`
	// countProxy adds what a process has seen of proxy ?1 until ?7: ?2 successes and ?3 failures, ?4 of them in a row at
	// the end, the rest ?5 that it knows of. Failures of several processes add up, so that ten in a row are ten, whoever
	// saw them; a success starts the count anew. A rest that another process has ordered stands until the proxy is seen
	// to work, and one that this process knows of even then. What comes in while the proxy rests does not prolong that. A
	// rest lasts until ?8 at most: one that is further ahead is the mark of a clock that was set back. The failures of a rest
	// began at ?11 or before, half a minute before the last one; when they began (?10, or earlier in the row) may be unknown, which
	// is long ago, as is a time to come.
	countProxy = `
	UPDATE proxies AS p SET successes = successes + ?2, failures = failures + ?3, consecutive_failures = x.in_a_row,
		last_error = ifnull(?6, last_error), last_used_at = ?7, failing_since = x.since,
		cooldown_until = CASE WHEN x.in_a_row = 0 THEN ?5 WHEN x.rest <= ?7 AND x.in_a_row >= ?9 AND (ifnull(x.since, '') <= ?11
			OR x.since > ?7) THEN ?8 ELSE nullif(x.rest, '') END
	FROM (
		SELECT iif(?4 > 0 AND ?2 = 0, consecutive_failures + ?3, ?4) AS in_a_row,
			max(ifnull(?5, ''), min(ifnull(cooldown_until, ''), ?8)) AS rest, CASE WHEN ?4 = 0 THEN NULL WHEN ?2 = 0 AND consecutive_failures > 0 THEN min(failing_since,
				?10) ELSE ?10 END AS since
		FROM proxies
		WHERE id = ?1) AS x
	WHERE p.id = ?1`
)

// Proxies returns all proxies, the oldest first. A rest further ahead than
// yp.ProxyRest, the mark of a clock that was set back, is cut to it.
func (m *Monitor) Proxies(ctx context.Context) ([]Proxy, error) {
	all, err := store.All(m.db.Reader(ctx), selectProxies, nil, func(p *Proxy) []any {
		return []any{&p.ID, &p.URL, &p.Name, &p.Enabled, &p.Consecutive, store.Instant(&p.FailingSince), store.Instant(&p.CooldownUntil)}
	})
	if err != nil {
		return nil, fmt.Errorf("read proxies: %w", err)
	}
	for i := range all {
		all[i].CooldownUntil = notAfter(all[i].CooldownUntil, m.db.Now().Add(yp.ProxyRest))
	}
	return all, nil
}

// AddProxy adds a proxy under its name (its URL without the password); added is
// false when that URL is there already.
func (m *Monitor) AddProxy(ctx context.Context, url, name string) (added bool, err error) {
	added, err = m.change(ctx, insertProxy, url, name, yp.FormatTime(m.db.Now()))
	if err != nil {
		return false, fmt.Errorf("add proxy %s: %w", name, err)
	}
	return added, nil
}

// SetProxyEnabled is the operator's word on a proxy. Enabling it ends its rest.
func (m *Monitor) SetProxyEnabled(ctx context.Context, id int64, enabled bool) (found bool, err error) {
	return m.change(ctx, enableProxy, id, flag(enabled))
}

// RemoveProxy forgets a proxy, and how it fared.
func (m *Monitor) RemoveProxy(ctx context.Context, id int64) (found bool, err error) {
	return m.change(ctx, removeProxy, id)
}

// ProxyUse is how a proxy fared since it was last counted.
type ProxyUse struct {
	Successes, Failures int       // since then
	Consecutive         int       // failures in a row, as this process knows
	FailingSince        time.Time // the first of them; zero = it is not known
	LastFailure         time.Time // zero = now
	CooldownUntil       time.Time // zero = it does not rest, as this process knows
	LastError           string    // without the password; "" = none since then
}

// Then is the use with what came after it.
func (u ProxyUse) Then(next ProxyUse) ProxyUse {
	next.Successes += u.Successes
	next.Failures += u.Failures
	next.LastError = cmp.Or(next.LastError, u.LastError)
	next.LastFailure = cmp.Or(next.LastFailure, u.LastFailure)
	return next
}

// CountProxies adds what a process has seen of proxies, by id: all of it, or nothing. A
// proxy that was removed meanwhile is none of our business.
func (m *Monitor) CountProxies(ctx context.Context, uses map[int64]ProxyUse) error {
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		for id, use := range uses {
			err := tx.Run(countProxy, id, use.Successes, use.Failures, use.Consecutive, stamp(use.CooldownUntil), store.Text(use.LastError),
				tx.Now, yp.FormatTime(tx.At.Add(yp.ProxyRest)), yp.ProxyFailures, stamp(use.FailingSince),
				yp.FormatTime(cmp.Or(use.LastFailure, tx.At).Add(-yp.ProxySpread)))
			if err != nil {
				return fmt.Errorf("proxy %d: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the use of proxies: %w", err)
	}
	return nil
}
