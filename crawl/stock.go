package crawl

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// loose gathers the requests that belong to no target, robots.txt above all, until
// they are written with the next roll-up.
type loose struct {
	mu   sync.Mutex
	rows []store.Request
	made int
}

func (l *loose) add(r store.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	r.Correlation += "." + strconv.Itoa(l.made)
	l.rows = append(l.rows, r)
}

func (l *loose) take() []store.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := l.rows
	l.rows = nil
	return rows
}

func robotsRequest(source int64, o fetch.Observation) store.Request {
	return store.Request{
		SourceID: source, Correlation: "robots." + strconv.FormatInt(source, 10) + "." + strconv.FormatInt(o.Started.UnixMilli(), 36), Type: yp.RequestRobots, URL: o.URL, Started: o.Started,
		Latency: o.Latency, Waited: o.Waited, WaitReason: o.WaitReason, Class: o.Class, Status: o.Status, Bytes: o.WireBytes,
		Proxy: o.Proxy, ProxyFailed: o.ProxyFailed, Identity: o.Identity, Via: o.Via,
	}
}

// takeStock keeps what the run has learned of its source.
func (e *Engine) takeStock(ctx context.Context) error {
	if err := e.cfg.Keeper.Record(ctx, e.loose.take()); err != nil {
		return err
	}
	return errors.Join(e.hosts.Refresh(ctx), e.layout.Flush(ctx))
}

// tell logs the source's status when it is another than before.
func (e *Engine) tell(profiles []health.Profile) {
	for _, p := range profiles {
		if p.SourceID != e.cfg.Scope.SourceID || string(p.Status) == e.status {
			continue
		}
		before := e.status
		if e.status = string(p.Status); before == "" && p.Status == health.Healthy {
			continue // nothing that anybody waits to hear
		}
		log := e.cfg.Logger.Info()
		if p.Status == health.Failing || p.Status == health.Quarantined {
			log = e.cfg.Logger.Warn()
		}
		if p.Class != "" {
			log = log.Str("cause", p.Cause())
		}
		log.Str("component", "crawl").Str("source", e.cfg.Source.Name()).Str("status", e.status).Msg("health of the source")
	}
}

// settleUp is the last stock of a run.
func (e *Engine) settleUp(ctx context.Context) error {
	if e.layout == nil {
		return nil
	}
	return e.takeStock(ctx)
}

// takeStock rolls up the health of all sources, after every engine at work has
// written what it knows.
func (h *house) takeStock(ctx context.Context) error {
	var errs []error
	for _, e := range h.atWork() {
		errs = append(errs, e.takeStock(ctx))
	}
	return errors.Join(append(errs, h.rollUp(ctx))...)
}

// rollUp rolls up the health of the sources, and says where that has changed.
func (h *house) rollUp(ctx context.Context) error {
	profiles, err := h.cfg.Monitor.RollUp(ctx)
	if err != nil {
		return err
	}
	for _, e := range h.engines {
		e.tell(profiles)
	}
	return nil
}

// forget deletes old requests and attempts, once at the start of a run and then
// every day, in steps that let the workers' commits pass.
func (h *house) forget(ctx context.Context) {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		_, _, err := h.cfg.Monitor.Prune(ctx, h.cfg.Keep)
		if err != nil && !errors.Is(err, context.Canceled) {
			h.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg("old requests could not be deleted")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
