package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// observe looks after a run until stop is called: what --notify is told is in the database
// before it is sent, and what could not be delivered is tried at the next look, or by the next run.
func (r *run) observe(ctx context.Context) (stop func()) {
	if r.out.notify == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			r.tellClosed(ctx)
			r.sendMessages(sending, r.out.sender.Send)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { // what is on its way may arrive: else it would be sent twice
		cancel()
		late := time.AfterFunc(pingWait, giveUp)
		looking.Wait()
		late.Stop()
		giveUp()
	}
}

// tellEnd tells how the run has ended, and sends what waits until that is delivered or its time is over.
func (r *run) tellEnd(ctx context.Context, err error, st crawl.Stats, ended []ending) {
	a := r.out
	if a.notify == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.tellClosed(ctx)
	for _, e := range ended {
		if b, ok := errors.AsType[*crawl.BlockedError](e.Err); ok && b.Availability.State == store.SourceHeld {
			r.keepMessage(ctx, e.scope.SourceID, yp.FormatTime(b.Availability.Until), notify.Message{
				Event: notify.SourceClosed, Severity: notify.Warning, Source: e.Source, Title: yp.Printable(e.Err.Error()),
				Text: "The run has stopped crawling it. `ypcrawl status` shows more.",
			})
		}
	}
	dead, derr := r.keeper.ParkedSince(ctx, r.ids(), r.began)
	r.warnUnsent(derr)
	outcome := outcomeOf(err)
	m := notify.Message{
		Event: notify.RunEnded, Severity: notify.Info, Text: strings.Join(a.facts, "\n"),
		Title: fmt.Sprintf("ypcrawl %s: %s; %s new, %s closed, %s given up", r.c.Command.Name, report.OutcomeText(string(outcome)),
			thousands(st.New), thousands(st.Dropped), thousands(dead)),
		Figures: map[string]float64{
			"targets": float64(st.Done), "pages": float64(st.PagesRead()), "requests": float64(st.Requests),
			"new": float64(st.New), "changed": float64(st.Changed),
			"dropped": float64(st.Dropped), "restored": float64(st.Restored), "rejected": float64(st.Rejected), "dead_letters": float64(dead),
			"claims": float64(st.Claims), "claim_retries_share": float64(st.BusyTries) / float64(max(st.Claims, 1)),
		},
	}
	if len(r.sources) == 1 {
		m.Source = r.sources[0].src.Name()
	}
	switch outcome {
	case checkpoint.OutcomeError, checkpoint.OutcomeLayout, checkpoint.OutcomeNoProxies:
		m.Severity = notify.Critical
	default:
		if dead > 0 || outcome == checkpoint.OutcomeBlocked {
			m.Severity = notify.Warning
		}
	}
	r.keepMessage(ctx, 0, fmt.Sprint(r.row.ID), m)
	a.told = true
	each := a.left() - pingWait // for its tries
	all := each
	if a.notify.Command() && r.c.Context.Err() == nil {
		all = a.sender.CommandTimeout // a slow one may have several to do
	}
	ctx, cancel := context.WithTimeout(ctx, all)
	defer cancel()
	r.sendMessages(ctx, func(ctx context.Context, d notify.Destination, p notify.Parcel) error {
		ctx, cancel := context.WithTimeout(ctx, each)
		defer cancel()
		return a.sender.Deliver(ctx, d, p)
	})
}

// tellClosed tells of sources that are quarantined or paused, and of layout alarms.
func (r *run) tellClosed(ctx context.Context) {
	all, err := r.keeper.Sources(ctx)
	r.warnUnsent(err)
	for _, s := range all {
		if s.Availability != store.SourceQuarantined && s.Availability != store.SourcePaused || !slices.Contains(r.ids(), s.ID) {
			continue
		}
		m := notify.Message{Source: s.Name, Severity: notify.Critical, Event: notify.SourceClosed}
		m.Title, m.Text = fmt.Sprintf("%s is %s: %s", s.Name, s.Availability, report.ReasonText(s.Reason)),
			"`ypcrawl status` shows what to do."
		mark := s.Reason
		switch {
		case s.Code == yp.CodeHTMLChanged:
			m.Event, m.Title = notify.LayoutAlarm, s.Name+" is paused: its layout has changed"
			m.Text = s.Reason + ".\nFix the definition, then run `ypcrawl sources enable " + s.Name + "`."
		case s.Availability == store.SourceQuarantined:
			mark = yp.FormatTime(s.FailingSince)
		}
		r.keepMessage(ctx, s.ID, mark, m)
	}
}

// keepMessage keeps a message until it is sent.
func (r *run) keepMessage(ctx context.Context, source int64, mark string, m notify.Message) {
	m.At.Time, m.Run, m.Database = r.keeper.DB().Now(), r.row.ID, r.out.database()
	m.Title, m.Text = r.p.HideAll(m.Title), r.p.Hints(r.p.HideAll(m.Text))
	body, err := m.JSON()
	if err == nil {
		err = r.keeper.DB().AddMessage(ctx, store.Message{Event: m.Event, SourceID: source, Mark: mark, Run: r.row.ID, Body: body})
	}
	r.warnUnsent(err)
}

// sendMessages sends what waits, until one can't be delivered.
func (r *run) sendMessages(ctx context.Context, send func(context.Context, notify.Destination, notify.Parcel) error) {
	db := r.keeper.DB()
	all, err := db.UnsentMessages(ctx, r.row.ID)
	for _, m := range all {
		if failed := send(ctx, *r.out.notify, notify.Stored(m.Body)); failed != nil {
			r.log.Debug().Str("component", "notify").Str("to", r.out.notify.Name()).Err(failed).Msg("a message will be sent again later")
			return
		}
		err = errors.Join(err, db.MessageSent(context.WithoutCancel(ctx), m.ID))
	}
	r.warnUnsent(err)
}

func (r *run) warnUnsent(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		r.log.Warn().Err(err).Str("component", "notify").Msg("messages could not be read or stored")
	}
}

func (r *run) ids() []int64 {
	ids := make([]int64, len(r.sources))
	for i, s := range r.sources {
		ids[i] = s.scope.SourceID
	}
	return ids
}
