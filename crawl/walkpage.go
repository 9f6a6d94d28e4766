package crawl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// maxStateCities bounds what an index may make of a state: Texas, with the most places
// of all, has some 1,900, and every city becomes ten targets.
const maxStateCities = 10_000

// pages walks the pages of a state's index from the one after the last committed.
func (w *walker) pages(ctx context.Context, walk *checkpoint.Walk, leg *Leg) error {
	urls := w.cfg.Source.IndexPages(walk.State)
	if len(urls) != walk.Pages {
		return fmt.Errorf("the index of %s has %d pages, and another process planned %d", walk.State, len(urls), walk.Pages)
	}
	m := w.matcher(walk.State)
	for walk.PagesDone < walk.Pages {
		number, address := walk.PagesDone+1, urls[walk.PagesDone]
		if err := w.admitted(ctx, walk, address, number); err != nil {
			return err
		}
		index, err := w.read(ctx, walk, address, number)
		if err != nil {
			return err
		}
		page := checkpoint.IndexPage{Number: number, Path: pathOf(address), Cities: matched(m, index.Cities)}
		if n := walk.Cities + len(page.Cities); n > maxStateCities {
			return &attemptError{cause: yp.CauseLayout, err: fmt.Errorf("the index of %s shows up to %d cities: no state has more than %d", walk.State, n, maxStateCities)}
		}
		// A page in hand is carried through: a stop must not cost it.
		if err := w.cfg.Keeper.CommitIndex(context.WithoutCancel(ctx), walk, page); err != nil {
			return err
		}
		w.cfg.Reached(PointCommitted)
		w.count.pages.Add(1)
		leg.Fetched++
		w.logger.Debug().Str("state", walk.State).Int("page", number).Int("cities", len(page.Cities)).Str("reason", index.Reason).Msg("index page committed")
		w.tell(walk, leg)
	}
	return nil
}

func matched(m *discover.Matcher, links []site.CityLink) []checkpoint.FoundCity {
	cities := make([]checkpoint.FoundCity, 0, len(links))
	for _, l := range links {
		if c, ok := m.Match(l.Slug, l.Name); ok {
			cities = append(cities, c)
		}
	}
	return cities
}

// pathOf is the address of a page without scheme and host.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.RequestURI()
}

// admitted waits until the source may be asked. A *BlockedError says that this takes
// longer than the run waits. A source whose quarantine is over is probed with a page that
// a crawl would ask for, and with the index page itself where nothing is planned yet.
func (w *walker) admitted(ctx context.Context, walk *checkpoint.Walk, address string, number int) error {
	for w.patience.Err() == nil && ctx.Err() == nil {
		gate, err := w.cfg.Keeper.Gate(ctx, w.cfg.Scope.SourceID)
		if err != nil || gate.Open() {
			w.count.wait("")
			return err
		}
		left := gate.Until.Sub(w.cfg.Keeper.DB().Now())
		if gate.State == checkpoint.GateQuarantined && left <= 0 {
			index, _ := w.indexTask(yp.RequestProbe, walk.State, address, number)
			if more, err := w.tryProbe(ctx, gate, index); err != nil {
				return err
			} else if !more {
				break
			}
			continue
		}
		if gate.Until.IsZero() || left > w.cfg.Patience {
			return &BlockedError{Source: w.cfg.Source.Name(), Gate: gate}
		}
		w.count.wait(w.reasonOf(gate))
		w.pause(ctx, min(max(left, 10*time.Millisecond), w.look))
	}
	if barred := w.barredBy.Load(); barred != nil {
		return barred
	}
	return errStopped
}

// indexTask is the fetch of a page of a state's index, and where it puts what it read.
func (w *walker) indexTask(kind yp.RequestType, state, address string, number int) (*task, **site.Index) {
	index := new(*site.Index)
	t := w.task(nil, kind, address, number)
	t.read = func(resp *fetch.Response) (_ *site.Page, err error) {
		if *index, err = w.understandIndex(resp, state); err == nil {
			t.found = len((*index).Cities)
		}
		return nil, err
	}
	return t, index
}

// read brings one page of a state's index. Its error is an *attemptError, errHeld,
// errStopped, or one that ends the run.
func (w *walker) read(ctx context.Context, walk *checkpoint.Walk, address string, number int) (*site.Index, error) {
	for {
		t, read := w.indexTask(yp.RequestStateIndex, walk.State, address, number)
		_, err := w.persist(ctx, t)
		walk.Requests = append(walk.Requests, t.rows...)
		var attempt *attemptError
		if errors.As(err, &attempt) && attempt.cause.Policy().Final == yp.EventRelease {
			continue // its proxies failed: each rests after ten times, and then there is another way or none
		}
		index := *read
		if err == nil && number == 1 && index.NotFound {
			err = &attemptError{cause: yp.CauseMissing, err: fmt.Errorf("the source has no index of %s: %s", walk.State, index.Reason)}
		}
		return index, err
	}
}

// understandIndex parses an index page; one that shows no city and does not say so
// itself is a *pageError. A letter that the source does not know has no cities.
func (w *walker) understandIndex(resp *fetch.Response, state string) (*site.Index, error) {
	index, err := w.parseIndex(resp, state)
	if err != nil {
		return nil, err
	}
	w.cfg.Reached(PointParsed)
	switch index.Outcome {
	case site.OK, site.NoListings:
		return index, nil
	}
	pe := &pageError{page: &site.Page{Outcome: index.Outcome, Reason: index.Reason}, url: resp.URL.Redacted()}
	if index.Outcome == site.HTMLChanged {
		pe.body = bytes.Clone(resp.Body)
	}
	return nil, pe
}

// parseIndex guards the tour against a page that makes the parser panic.
func (w *walker) parseIndex(resp *fetch.Response, state string) (index *site.Index, err error) {
	defer w.house.parsing.enter(len(resp.Body))()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return w.cfg.Source.ParseIndex(resp.Body, resp.URL, resp.Status, state)
}
