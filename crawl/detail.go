package crawl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// takeDetail claims a listing's own page and brings it to an outcome, when no results
// page can be had: those go first. taken is false when there is none to claim.
func (w *worker) takeDetail(ctx context.Context) (taken bool, err error) {
	if !w.wantsDetails() {
		return false, nil
	}
	c, err := w.claimDetail(ctx)
	if errors.Is(err, checkpoint.ErrNothing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.count.wait("")
	w.barredBy.Store(nil)
	w.free() // there may be another one
	w.count.busy.Add(1)
	err = w.detail(ctx, c)
	w.count.busy.Add(-1)
	if err == nil {
		w.stepBack(ctx)
	}
	return true, err
}

// claimDetail claims a detail within the budget; what was asked for in vain goes back
// into it.
func (w *worker) claimDetail(ctx context.Context) (*checkpoint.DetailClaim, error) {
	b, h := w.cfg.Budget.Details, w.house
	if b > 0 && h.detailTickets.Add(1) > b {
		h.detailTickets.Add(-1)
		return nil, checkpoint.ErrNothing
	}
	c, err := w.details.Claim(ctx, w.me)
	switch {
	case b == 0:
	case err != nil:
		h.detailTickets.Add(-1)
	case h.detailsClaimed.Add(1) == b:
		h.enough(fmt.Errorf("%w: %d details", ErrBudget, b))
	}
	return c, err
}

// detail brings one claimed detail to an outcome. Only an error that ends the run is
// returned.
func (w *worker) detail(ctx context.Context, c *checkpoint.DetailClaim) error {
	w.cfg.Reached(PointClaimed)
	t := w.task(nil, yp.RequestDetail, w.rebased(c.URL), 0)
	o := w.guardedDetail(ctx, c, t)
	err := w.concludeDetail(context.WithoutCancel(ctx), c, t, o)
	if errors.Is(err, checkpoint.ErrClaimLost) {
		w.count.lost.Add(1)
		w.logger.Warn().Str("listing", c.ListingID).Msg("claim lost: the details are no longer this worker's")
		return fatalOrNil(w.cfg.Keeper.Record(context.WithoutCancel(ctx), t.rows))
	}
	if err == nil {
		w.cfg.Reached(PointEnded)
	}
	return err
}

// guardedDetail is readDetail, but for a bug.
func (w *worker) guardedDetail(ctx context.Context, c *checkpoint.DetailClaim, t *task) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			w.logger.Error().Str("listing", c.ListingID).Any("panic", p).Bytes("stack", debug.Stack()).Msg("internal error: please report it")
			o = outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return w.bringDetail(ctx, c, t)
}

// bringDetail fetches, parses, logs and checkpoints the page.
func (w *worker) bringDetail(ctx context.Context, c *checkpoint.DetailClaim, t *task) outcome {
	var found yp.Detail
	t.read = func(resp *fetch.Response) (*site.Page, error) {
		return w.understandDetail(t, resp, c.ListingID, &found)
	}
	page, err := w.persist(ctx, t)
	if err != nil {
		w.oddDetail(err)
		return w.judge(ctx, err)
	}
	w.oddDetails.Store(0)
	if page.Outcome == site.NoListings {
		return settled(yp.CauseMissing, "the source has no such page: "+page.Reason)
	}
	err = w.appendPage(&wal.Event{Type: wal.DetailComplete, Status: yp.Done, Detail: &wal.Detail{
		Source: w.cfg.Source.Name(), Listing: c.ListingID, Token: c.Token, Found: found,
	}})
	if err != nil {
		return outcome{err: fatalError{err}}
	}
	w.cfg.Reached(PointAppended)
	// A page in hand is carried through: a stop must not cost it.
	err = w.cfg.Keeper.SaveDetail(context.WithoutCancel(ctx), c, &found, w.cfg.Details.Every, t.rows)
	if err != nil {
		return w.judge(ctx, err)
	}
	t.rows = nil
	w.cfg.Reached(PointCommitted)
	return outcome{event: yp.EventLastPage, saved: true}
}

// understandDetail parses an answer. A page of another listing than was asked for says
// that this one has no page any more.
func (w *worker) understandDetail(t *task, resp *fetch.Response, listing string, found *yp.Detail) (*site.Page, error) {
	t.found = 0
	d, err := w.parseDetail(resp)
	if err != nil {
		return nil, err
	}
	w.cfg.Reached(PointParsed)
	page := &site.Page{Outcome: d.Outcome, Reason: d.Reason}
	if d.Outcome == site.OK && d.Detail.ID != listing && listing != "" {
		page.Outcome, page.Reason = site.NoListings, "the site shows listing "+d.Detail.ID+" in its place"
	}
	switch page.Outcome {
	case site.OK:
		*found, t.found = d.Detail, 1
		return page, nil
	case site.NoListings:
		page.NotFound = true
		return page, nil
	}
	pe := &pageError{page: page, url: resp.URL.Redacted()}
	if page.Outcome == site.HTMLChanged {
		pe.body = bytes.Clone(resp.Body)
	}
	return nil, pe
}

// parseDetail guards the worker against a page that makes the parser panic.
func (w *worker) parseDetail(resp *fetch.Response) (d *site.DetailPage, err error) {
	defer w.house.parsing.enter(len(resp.Body))()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return w.cfg.Source.ParseDetail(resp.Body, resp.URL, resp.Status)
}

// concludeDetail makes the outcome durable.
func (w *worker) concludeDetail(ctx context.Context, c *checkpoint.DetailClaim, t *task, o outcome) error {
	k, fatal := w.cfg.Keeper, o.err
	var err error
	switch {
	case fatal != nil && (errors.Is(fatal, checkpoint.ErrClaimLost) || !refused(fatal)):
		return fatal
	case fatal != nil:
		return errors.Join(fatal, k.ReleaseDetail(ctx, c, t.rows))
	case o.saved:
	case o.event == yp.EventRelease:
		err = k.ReleaseDetail(ctx, c, t.rows)
	case o.event == yp.EventPark:
		err = k.ParkDetail(ctx, c, o.code, o.reason, t.rows)
	default:
		var set yp.Setback
		set, err = k.FailDetail(ctx, c, o.code, o.reason, t.rows)
		o.event, o.wait = set.Event, set.Wait
	}
	if err == nil {
		w.tallyDetail(c, o)
	}
	return err
}

func (w *worker) tallyDetail(c *checkpoint.DetailClaim, o outcome) {
	n := &w.count
	switch {
	case o.event == yp.EventRelease:
		n.released.Add(1)
		return
	case o.saved:
		n.details.Add(1)
		w.logger.Debug().Str("listing", c.ListingID).Msg("details saved")
		return
	}
	if o.code == yp.CodeNoListings {
		n.detailsMissing.Add(1)
	} else {
		n.detailsFailed.Add(1)
	}
	log := w.logger.Info()
	if o.wait > 0 {
		log = log.Str("next_try_in", o.wait.Round(time.Second).String())
	}
	if proxy := w.proxy(); proxy != "" {
		log = log.Str("proxy", proxy)
	}
	log.Str("listing", c.ListingID).Str("error_code", string(o.code)).Str("reason", o.reason).Msg("details failed")
}

// rebased returns the address of a listing's page on the source as it is now: a source
// that moves (--base-url, another port) keeps its paths.
func (w *worker) rebased(address string) string {
	u, err := url.Parse(address)
	base := w.cfg.Source.BaseURL()
	if err != nil || u.Host == base.Host || sameDomain(u, base) {
		return address
	}
	u.Scheme, u.Host, u.User = base.Scheme, base.Host, nil
	return u.String()
}

func sameDomain(a, b *url.URL) bool {
	x, okA := yp.CanonicalWebsite(a.String())
	y, okB := yp.CanonicalWebsite(b.String())
	return okA && okB && x.Domain != "" && x.Domain == y.Domain
}
