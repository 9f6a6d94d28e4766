package crawl

import (
	"fmt"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// task is one logical page fetch: its retries share it.
type task struct {
	claim  *checkpoint.Claim // nil for a probe
	url    string
	number int
	kind   yp.RequestType
	id     string           // correlation id
	made   int              // requests so far
	tried  []*fetch.Session // in vain
	rows   []store.Request

	read parser // nil = that of results pages

	doubted bool // its list ended before the site's own count did, and it was asked for again
}

// target is the task's target, 0 = none.
func (t *task) target() int64 {
	if t.claim == nil {
		return 0
	}
	return t.claim.TargetID
}

// retries is how often the page may be asked for again under a policy.
func (t *task) retries(p yp.Policy) int {
	if t.claim == nil {
		return p.Retries
	}
	return retries(p, t.claim.MaxRetries)
}

// task begins a page fetch. Its id is unique in the database: a worker that is
// hired again has the name and number of one that went.
func (w *worker) task(c *checkpoint.Claim, kind yp.RequestType, url string, number int) *task {
	return &task{claim: c, kind: kind, url: url, number: number, id: fmt.Sprintf("%d.%s.%d", w.cfg.Run.ID, w.name, w.house.fetches.Add(1))}
}

// asked is what one call of the fetcher did on the wire: a request, and perhaps
// redirects that led on from it.
type asked struct {
	hops   int
	first  fetch.Observation
	last   fetch.Observation
	waited time.Duration
	reason string
	bytes  int64
}

func (a *asked) observe(o fetch.Observation) {
	if a.hops == 0 {
		a.first = o
	}
	a.hops++
	a.last = o
	a.waited += o.Waited
	a.bytes += o.WireBytes
	if a.reason == "" {
		a.reason = o.WaitReason
	}
}

// observer is where the fetcher tells what it did for one page.
func (w *worker) observer(on *asked) func(fetch.Observation) {
	if !w.shares {
		return on.observe
	}
	return func(o fetch.Observation) {
		w.countRequest(o)
		on.observe(o)
	}
}

// request is the row that tells of it: redirects are part of the request that led
// to them.
func (a *asked) request(w *worker, t *task) store.Request {
	r := store.Request{
		SourceID: w.cfg.Scope.SourceID, Page: t.number, Correlation: t.id, Retry: t.made, Type: t.kind, URL: a.first.URL,
		Started: a.first.Started, Latency: a.last.Started.Add(a.last.Latency).Sub(a.first.Started), Waited: a.waited, WaitReason: a.reason,
		Status: a.last.Status, Bytes: a.bytes, Proxy: a.last.Proxy, ProxyFailed: a.last.ProxyFailed, Identity: a.last.Identity, Via: a.last.Via,
	}
	if c := t.claim; c != nil {
		r.TargetID, r.ClaimToken = c.TargetID, c.Token
	}
	return r
}

// note keeps a row until the claim's next write takes it along.
func (t *task) note(r store.Request) {
	t.made++
	c := t.claim
	if c == nil {
		t.rows = append(t.rows, r)
		return
	}
	c.Requests = append(c.Requests, r)
	if r.Class == yp.ClassRateLimited {
		return // nobody was asked: what was answered last stands
	}
	c.Attempt.HTTPStatus, c.Attempt.Proxy, c.Attempt.Identity = r.Status, r.Proxy, r.Identity
	c.Attempt.Bytes += r.Bytes
}

// step notes in the attempt's trace what was done and why.
func (w *worker) step(t *task, event, format string, args ...any) {
	if t.claim != nil {
		t.claim.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), event, t.number, fmt.Sprintf(format, args...))
	}
}
