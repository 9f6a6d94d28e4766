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

// refreshEvery is how soon a host that told another process to stop, or that an
// operator has reset, is known here: between two requests at the usual pace. It is also
// what a kill may cost of the scores of proxies.
const refreshEvery = 2 * time.Second

// countEvery is how long it takes until the figures over time have a request that has just ended.
const countEvery = time.Minute

// heartbeats keeps the claims of this process alive, takes back what processes that
// died meanwhile held, wakes what falls due, and rolls up the sources' health.
func (s *Sources) heartbeats(ctx context.Context) {
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	roll := time.NewTicker(s.cfg.RollUp)
	defer roll.Stop()
	count := time.NewTicker(countEvery)
	defer count.Stop()
	refresh := time.NewTicker(s.refresh)
	defer refresh.Stop()
	for {
		var err error
		var what string
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err, what = s.heartbeat(ctx), "heartbeat failed"; store.Fatal(err) && ctx.Err() == nil {
				s.stop(err)
			}
		case <-refresh.C:
			errs := []error{s.cfg.Monitor.CorrectClock(ctx), s.cfg.Refresh(ctx), s.journal(ctx)}
			for _, e := range s.active() {
				errs = append(errs, e.hosts.Refresh(ctx)) // what other processes have been told by the hosts
			}
			err, what = errors.Join(errs...), "limits set by other processes could not be read"
		case <-count.C:
			err, what = s.cfg.Monitor.RollSeries(ctx), "requests could not be counted by time"
		case <-roll.C:
			var errs []error
			for _, e := range s.active() {
				errs = append(errs, e.flush(ctx))
			}
			err, what = errors.Join(append(errs, s.rollUp(ctx))...), "roll-up failed"
		}
		if err != nil && ctx.Err() == nil {
			s.warn(err, what)
		}
	}
}

func (s *Sources) warn(err error, what string) {
	s.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg(what)
}

func (s *Sources) heartbeat(ctx context.Context) error {
	requests := int64(0)
	for _, e := range s.engines {
		requests += e.Stats().Requests
	}
	if _, err := s.cfg.Run.Heartbeat(ctx, requests, usage()); err != nil {
		return err
	}
	errs := []error{s.recoverDead(ctx)}
	for _, e := range s.active() {
		errs = append(errs, e.pool.heartbeat(), e.hosts.Refresh(ctx), e.wake(ctx))
	}
	return errors.Join(errs...)
}

// journal says once a run that the database's journal grows because another program keeps it from
// being folded in.
func (s *Sources) journal(ctx context.Context) error {
	if s.journalTold {
		return nil
	}
	j, err := s.cfg.Keeper.DB().Journal(ctx)
	if err != nil || !j.Held {
		return err
	}
	s.journalTold = true
	s.cfg.Logger.Warn().Str("component", "crawl").Int64("journal_bytes", j.Bytes).Int64("database_bytes", j.Database).
		Str("fix", store.HeldFix).Msg(j.HeldText())
	return nil
}

// recoverDead takes back what dead processes held, and lets idle workers look again. A run that would take itself
// for one of them ends: its pages would be asked for again and again.
func (s *Sources) recoverDead(ctx context.Context) error {
	if err := s.cfg.Run.InPlace(); err != nil {
		s.stop(err)
		return err
	}
	s.recovered.mark()
	rec, err := s.cfg.Keeper.RecoverDead(ctx, s.cfg.Scope)
	if err != nil || rec.Total() == 0 {
		return err
	}
	s.cfg.Logger.Info().Str("component", "crawl").Int("planned", rec.Planned).Int("stuck", rec.Stuck).
		Msg("searches held by a dead process were released")
	for _, e := range s.active() {
		e.wakeWorker()
	}
	return nil
}

// rollUp rolls up the health of the sources, and logs where that has changed.
func (s *Sources) rollUp(ctx context.Context) error {
	profiles, err := s.cfg.Monitor.RollUp(ctx)
	if err != nil {
		return err
	}
	for _, e := range s.engines {
		for _, p := range profiles {
			before := e.status
			if p.SourceID != e.cfg.Scope.SourceID {
				continue
			}
			if e.status = string(p.Status); e.status == before || before == "" && p.Status == health.Healthy {
				continue // nothing that anybody waits to hear
			}
			log := e.cfg.Logger.Info()
			if p.Status == health.Failing || p.Status == health.Quarantined {
				log = e.cfg.Logger.Warn()
			}
			if p.Class != "" {
				log = log.Str("cause", string(p.Class))
			}
			log.Str("component", "crawl").Str("source", e.cfg.Source.Name()).Str("status", e.status).Msg("health of the source")
		}
	}
	return nil
}

// prune deletes old requests and attempts, once at the start of a run and then
// every day, in steps that let the workers' commits pass.
func (s *Sources) prune(ctx context.Context) {
	began, tick := time.Now(), time.NewTicker(24*time.Hour)
	defer tick.Stop()
	var age *health.Age // nil = it could not be read yet
	for {
		var err error
		if age == nil {
			age, err = s.cfg.Monitor.Age(ctx)
		}
		if err == nil {
			err = s.cfg.Monitor.Prune(ctx, s.cfg.Keep, age, time.Since(began))
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			s.warn(err, "old requests could not be deleted")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// flush keeps what the run has learned of its source.
func (e *Engine) flush(ctx context.Context) error {
	if err := e.cfg.Keeper.Record(ctx, e.robots.take()); err != nil {
		return err
	}
	return errors.Join(e.hosts.Refresh(ctx), e.layout.Flush(ctx), e.tellUnread(ctx))
}

// wake plans what fell due.
func (e *Engine) wake(ctx context.Context) error {
	e.woken.mark()
	woken, err := e.cfg.Keeper.Wake(ctx, e.scope())
	if woken > 0 {
		e.wakeWorker()
	}
	return err
}

// wakeWorker lets one waiting worker look again.
func (e *Engine) wakeWorker() {
	select {
	case e.wakeup <- struct{}{}:
	default:
	}
}

// robotsRequests gathers the requests for robots.txt, which belong to no target, until
// they are written with the next roll-up.
type robotsRequests struct {
	mu   sync.Mutex
	rows []store.Request
	made int
}

func (r *robotsRequests) add(source int64, o fetch.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	r.rows = append(r.rows, store.Request{
		SourceID: source, Type: yp.RequestRobots, URL: o.URL, Started: o.Started,
		Correlation: "robots." + strconv.FormatInt(source, 10) + "." + strconv.FormatInt(o.Started.UnixMilli(), 36) + "." + strconv.Itoa(r.made),
		Latency:     o.Latency, Waited: o.Waited, WaitReason: o.WaitReason, Class: o.Class, Status: o.Status, Bytes: o.WireBytes,
		Proxy: o.Proxy, ProxyFailed: o.ProxyFailed, Identity: o.Identity, Via: o.Via,
	})
}

func (r *robotsRequests) take() []store.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := r.rows
	r.rows = nil
	return rows
}
