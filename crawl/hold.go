package crawl

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
)

// unasked sees to a page that was not asked for: because its host is held, because of
// robots.txt, or because the run stops.
func (w *worker) unasked(ctx context.Context, t *task, err error) error {
	var fe *fetch.Error
	if !errors.As(err, &fe) {
		return nil
	}
	if fe.Proxy { // it failed at robots.txt
		w.grade(fe)
	}
	if fe.RetryAfter <= 0 {
		return nil
	}
	host := ""
	if u, err := url.Parse(fe.URL); err == nil {
		host = u.Host
	}
	_, reason := w.cfg.Fetch.HeldUntil(host)
	if errors.Is(err, fetch.ErrHeld) {
		w.deferred(t, fe.URL, reason)
	}
	return w.tellOfHold(ctx, host, fe)
}

// deferred notes a request that was not made because the host's turn has not come.
func (w *worker) deferred(t *task, address, reason string) {
	r := store.Request{SourceID: w.cfg.Scope.SourceID, Page: t.number, Correlation: t.id, Retry: t.made, Type: t.kind, URL: address}
	if t.claim != nil {
		r.TargetID, r.ClaimToken = t.claim.TargetID, t.claim.Token
	}
	t.note(r.Deferral(w.cfg.Keeper.DB().Now(), reason))
}

// tellOfHold writes down a hold that only the fetcher knows of: one that came with
// robots.txt, or one that is over by the database's clock (after a suspend of the
// machine, say). Else the target that is handed back would be claimed again at once.
// One that an operator has just taken back is no longer in force, and not written.
func (w *worker) tellOfHold(ctx context.Context, host string, fe *fetch.Error) error {
	if err := w.hosts.Refresh(context.WithoutCancel(ctx)); err != nil {
		return fatalOrNil(err)
	}
	until, reason := w.cfg.Fetch.HeldUntil(host)
	gate, err := w.cfg.Keeper.Gate(ctx, w.cfg.Scope.SourceID)
	if err != nil || !gate.Open() || until.IsZero() {
		return fatalOrNil(err)
	}
	if errors.Is(fe, fetch.ErrHeld) {
		w.turnedAway = fe.RetryAfter
	}
	kind, _, _ := strings.Cut(reason, ":") // "penalty: 3 blocks in a row"
	return fatalOrNil(w.hosts.Held(ctx, host, fe.RetryAfter, kind))
}
