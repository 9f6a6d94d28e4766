package web

import (
	"context"
	"slices"
	"sync"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// sentenceModel is what is going on, and what else there is to say of it: each cause once.
type sentenceModel struct {
	*report.Standing
	Sources []report.SourceStatus // that may not be asked, and that the sentence does not tell
	Remedy  string                // of the source that it tells: the command that opens it
	Paces   []string
	Reasons []string
}

// noticesOf leaves out what the sentence says already.
func noticesOf(st *report.Standing) sentenceModel {
	m := sentenceModel{Standing: st, Sources: st.Closed}
	if st.WaitingFor == "" {
		m.Paces = st.PaceLines()
	} else if told := slices.IndexFunc(st.Closed, func(s report.SourceStatus) bool { return s.Until.Equal(st.WaitingUntil.Time) }); told >= 0 {
		m.Remedy = st.Closed[told].Remedy
		m.Sources = slices.Delete(slices.Clone(st.Closed), told, told+1)
	}
	m.Reasons = reasonsOf(st)
	return m
}

// reasonsOf are the reasons but those waits that the sentence tells: that everything waits, and until when; and without a run what
// failed, and when the next crawl is due.
func reasonsOf(st *report.Standing) []string {
	told := st.WaitingFor != "" || st.Live == 0 && (st.Overall.Failed > 0 || !st.NextDue.IsZero())
	if !told {
		return st.Reasons()
	}
	p, waits := st.Progress, *st.Waits
	waits.Rows = slices.DeleteFunc(slices.Clone(waits.Rows), func(row []any) bool { return row[0] == "backoff" || row[0] == "gap" })
	p.Waits = &waits
	return p.Reasons()
}

// onceKey is that of what several parts of one look need.
type onceKey struct{}

// once is the standing of one look: the first part that asks has it read.
type once struct {
	sync.Mutex
	standing *report.Standing
}

// standingOf reads what is going on, once for all parts of a look.
func standingOf(ctx context.Context, k *report.Reader, scope store.Scope) (*report.Standing, error) {
	o, shared := ctx.Value(onceKey{}).(*once)
	if !shared {
		return k.Standing(ctx, scope)
	}
	o.Lock()
	defer o.Unlock()
	var err error
	if o.standing == nil {
		o.standing, err = k.Standing(ctx, scope)
	}
	return o.standing, err
}
