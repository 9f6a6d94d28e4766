package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/notify"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// lookEvery is how often a run looks whether there is something to tell: nothing is asked of
// the database for a page.
const lookEvery = 30 * time.Second

// Shares of few listings say nothing.
const (
	fewestDropped = 10
	fewestShown   = 50
)

// observer looks after a run, and tells of trouble once: what was reported stands in the database.
type observer struct {
	*announcer
	r       *run
	ids     []int64
	results func() []crawl.Result

	quit    chan struct{}
	looking sync.WaitGroup
	waiting sync.WaitGroup // for messages to be delivered

	deadUnderWay atomic.Pointer[time.Time] // until when the message of dead letters tells that is being sent
}

// observe begins to look after a run; end must follow. It does nothing where nobody is to be
// notified.
func (r *run) observe(ctx context.Context, results func() []crawl.Result) *observer {
	l := &observer{announcer: r.out, r: r, results: results, quit: make(chan struct{})}
	if len(l.queues) == 0 {
		return l
	}
	for _, s := range r.sources {
		l.ids = append(l.ids, s.scope.SourceID)
	}
	ctx = context.WithoutCancel(ctx)
	l.looking.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for until := r.began; ; until = r.keeper.DB().Now() { // first what was left by those before it
			l.look(ctx, until)
			select {
			case <-tick.C:
			case <-l.quit:
				return
			}
		}
	})
	return l
}

// end looks a last time, at how the run has ended, and waits until what is to be reported is
// delivered, or its time is over.
func (l *observer) end(ctx context.Context, runErr error, ended []ending) {
	if len(l.queues) == 0 {
		return
	}
	close(l.quit)
	l.looking.Wait()
	ctx = context.WithoutCancel(ctx)
	l.look(ctx, l.r.keeper.DB().Now())
	for _, e := range ended {
		l.tellDropped(ctx, e)
		l.tellFewer(ctx, e)
	}
	l.tellEnd(ctx, worst(runErr, ended))
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.waiting.Wait()
	}()
	limit := time.NewTimer(max(0, l.left()-pingWait))
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}

// look tells of what stands now, and of dead letters until a time.
func (l *observer) look(ctx context.Context, until time.Time) {
	if err := errors.Join(l.tellClosed(ctx), l.tellDead(ctx, until)); err != nil {
		l.log.Warn().Err(err).Str("component", "notify").Msg("the events to report could not be read")
	}
	l.tellBusy(ctx)
}

// tell tells a message, if it is this run's to tell now, to all destinations.
func (l *observer) tell(ctx context.Context, source int64, mark string, m notify.Message) {
	if !l.wants(m.Event) {
		return
	}
	db := l.r.keeper.DB()
	n := store.Notice{Event: m.Event, SourceID: source, Mark: mark, Run: l.r.row.ID, At: m.At}
	mine, err := db.TakeNotice(ctx, n, timeOf(l.c, "notify-every"))
	if err != nil {
		l.log.Warn().Err(err).Str("component", "notify").Msg("a message is not sent: that it was sent can't be stored")
	}
	if !mine || err != nil {
		return
	}
	if m.Run = l.r.row.ID; m.At.IsZero() {
		m.At = db.Now()
	}
	l.waiting.Add(1)
	if m.Event == yp.NoticeDeadLetters {
		l.deadUnderWay.Store(&m.At)
	}
	l.send(m, func(delivered bool) {
		defer l.waiting.Done()
		defer l.deadUnderWay.CompareAndSwap(&m.At, nil)
		if err := db.NoticeEnded(ctx, n, delivered); err != nil && !errors.Is(err, store.ErrClosed) {
			l.log.Warn().Err(err).Str("component", "notify").Msg("a message may be sent again by the next run")
		}
	})
}

// tellClosed tells of sources that are quarantined, or wait for an operator after a layout alarm.
func (l *observer) tellClosed(ctx context.Context) error {
	closed, err := l.r.keeper.Closures(ctx, l.ids)
	for _, s := range closed {
		m := notify.Message{Source: s.Name, Severity: notify.Critical}
		switch {
		case s.State == store.SourceQuarantined:
			m.Event, m.Title = yp.NoticeQuarantine, s.Name+" is quarantined: "+report.ReasonText(s.Reason)
			m.Text = "The source is not crawled until a page of it answers again. `ypcrawl status` shows more."
			if !s.Until.IsZero() {
				m.Text = "The source is not crawled until " + minute(s.Until) + "; then one page is requested. `ypcrawl status` shows more."
			}
			l.tell(ctx, s.ID, yp.FormatTime(s.Since), m)
		case s.Code == yp.CodeHTMLChanged:
			m.Event, m.Title = yp.NoticeLayout, s.Name+" is paused: its layout has changed"
			m.Text = fmt.Sprintf("%s.\nThe pages are kept: `ypcrawl sources samples %s`. Fix the definition, then: `ypcrawl sources enable %[2]s`.", s.Reason, s.Name)
			l.tell(ctx, s.ID, s.Reason, m)
		}
	}
	return err
}

// tellDead tells of targets that were parked since that was last reported.
func (l *observer) tellDead(ctx context.Context, until time.Time) error {
	if !l.wants(yp.NoticeDeadLetters) {
		return nil
	}
	since, err := l.r.keeper.DB().ReportedUntil(ctx, yp.NoticeDeadLetters, l.r.began)
	if err != nil {
		return err
	}
	if sent := l.deadUnderWay.Load(); sent != nil && sent.After(since) { // nobody has taken it yet
		since = *sent
	}
	parked, err := l.r.keeper.ParkedBetween(ctx, l.ids, since, until)
	if err != nil || len(parked) == 0 {
		return err
	}
	m := notify.Message{Event: yp.NoticeDeadLetters, Severity: notify.Warning, Figures: map[string]float64{}}
	all, sources, lines := int64(0), map[string]bool{}, []string{}
	for _, x := range parked {
		all += x.Targets
		sources[x.Source] = true
		if len(lines) < mostNamed {
			lines = append(lines, fmt.Sprintf("%s: %s, %s", x.Source, plural(x.Targets, "target"), codeText(string(x.Code), false)))
		}
	}
	if len(sources) == 1 {
		m.Source = parked[0].Source
	}
	m.Figures["dead_letters"], m.Figures["sources"] = float64(all), float64(len(sources))
	m.Title = plural(all, "target") + " parked: no run crawls them again automatically"
	m.Text = "Since " + minute(since) + ":\n" + strings.Join(lines, "\n") + "\n`ypcrawl dead list` shows them."
	m.At = until
	l.tell(ctx, 0, yp.FormatTime(until), m)
	return nil
}

// tellBusy tells when the database was too busy for the claims of this run.
func (l *observer) tellBusy(ctx context.Context) {
	var st crawl.Stats
	for _, r := range l.results() {
		st.Claims += r.Stats.Claims
		st.BusyTries += r.Stats.BusyTries
	}
	if !crawl.Busy(st.Claims, st.BusyTries) {
		return
	}
	share := 100 * float64(st.BusyTries) / float64(st.Claims)
	l.tell(ctx, 0, fmt.Sprint(l.r.row.ID), notify.Message{
		Event: yp.NoticeClaimRetries, Severity: notify.Warning,
		Title:   fmt.Sprintf("the database is often busy: %.0f %% more tries to claim targets", share),
		Text:    "Use fewer --workers or fewer programs on the file. `ypcrawl status` shows who works on it.",
		Figures: map[string]float64{"claims": float64(st.Claims), "claim_retries": float64(st.BusyTries)},
	})
}

// tellDropped tells when many of a source's listings were dropped by this run.
func (l *observer) tellDropped(ctx context.Context, e ending) {
	st := e.Stats
	share := 100 * float64(st.Dropped) / float64(max(st.Dropped+st.Accepted, 1))
	if st.Dropped < fewestDropped || share <= 100*flagValue[float64](l.c, "notify-dropped") {
		return
	}
	l.tell(ctx, e.scope.SourceID, fmt.Sprint(l.r.row.ID), notify.Message{
		Event: yp.NoticeDropped, Severity: notify.Warning, Source: e.Source,
		Title:   fmt.Sprintf("%s of %s dropped: %.1f %%", plural(st.Dropped, "listing"), e.Source, share),
		Text:    "The site no longer shows these of the listings that this run searched for. `ypcrawl changes --kind dropped` lists them.",
		Figures: map[string]float64{"dropped": float64(st.Dropped), "seen": float64(st.Accepted)},
	})
}

// tellFewer tells when a pass that has come to its end found fewer listings than its targets
// had shown before it.
func (l *observer) tellFewer(ctx context.Context, e ending) {
	was, now := e.shown, e.now.accepted
	share := 100 * float64(was-now) / float64(max(was, 1))
	if e.unknown || e.now.toDo() > 0 || e.now.InGap > 0 || was < fewestShown || share <= 100*flagValue[float64](l.c, "notify-fewer") {
		return
	}
	text := "The searches of this selection show fewer listings than before the pass began; a listing counts once for each search that shows it."
	if n := e.now.troubled(); n > 0 {
		text += fmt.Sprintf(" %s could not be read.", plural(n, "target"))
	}
	l.tell(ctx, e.scope.SourceID, fmt.Sprint(l.r.row.ID), notify.Message{
		Event: yp.NoticeFewerListings, Severity: notify.Warning, Source: e.Source,
		Title: fmt.Sprintf("%s: %s, %.1f %% fewer than before", e.Source, plural(now, "listing"), share), Text: text,
		Figures: map[string]float64{"listings": float64(now), "before": float64(was), "targets_failed": float64(e.now.troubled())},
	})
}

// tellEnd tells of a run that ended early by itself.
func (l *observer) tellEnd(ctx context.Context, err error) {
	l.failed = true // or it was no failure
	severity := notify.Critical
	outcome := outcomeOf(err)
	switch outcome {
	case checkpoint.OutcomeDone, checkpoint.OutcomeInterrupted, checkpoint.OutcomeBudget:
		return
	case checkpoint.OutcomeBlocked:
		severity = notify.Warning
	}
	m := notify.Message{
		Event: yp.NoticeRunFailed, Severity: severity, Title: fmt.Sprintf("ypcrawl %s ended early: %s", l.c.Command.Name, strings.ReplaceAll(string(outcome), "_", " ")),
		Text: l.p.hideAll(err.Error()) + "\nType the same command again to go on.",
	}
	if len(l.ids) == 1 {
		m.Source = l.r.sources[0].src.Name()
	}
	l.tell(ctx, 0, string(outcome)+": "+err.Error(), m)
}
