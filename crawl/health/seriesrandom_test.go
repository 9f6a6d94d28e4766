package health

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ypcrawl/yp"
)

// TestSeriesOfAnything: whatever two processes do in whatever order, and whatever the clock says, each request that was ever written is counted
// once, also where it has been deleted since, or was dated in the future.
func TestSeriesOfAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		inWorld(t, fmt.Sprint(seed), func(t *testing.T, w *world) {
			r := randomSeries{rand.New(rand.NewPCG(seed, 7)), w, w.again(t), map[int64]int{}}
			for range 50 {
				r.step(t)
			}
			ok(t, w.rollSeries(t.Context(), 0))
			for source, n := range r.written {
				wantRows(t, w.db, fmt.Sprintf(`SELECT requests, http_403 + timeout + pages FROM request_spans WHERE source_id = %d AND span = 'ever'`, source), fmt.Sprintf("%d|%[1]d", n))
			}
		})
	}
}

// randomSeries is two processes with a file, and what they have written of each source.
type randomSeries struct {
	rnd     *rand.Rand
	w, more *world
	written map[int64]int
}

// step does anything.
func (r *randomSeries) step(t *testing.T) {
	t.Helper()
	w := r.w
	if r.rnd.IntN(3) == 0 {
		w = r.more
	}
	switch r.rnd.IntN(8) {
	case 0, 1:
		ok(t, w.rollSeries(t.Context(), 1+r.rnd.IntN(3)))
	case 2:
		ok(t, w.prune(t.Context(), time.Duration(1+r.rnd.IntN(20))*day))
	case 3: // one that is cut off
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.rnd.IntN(20))*time.Millisecond)
		_ = w.prune(ctx, day)
		cancel()
	case 4:
		r.w.clock.Move(time.Duration(r.rnd.IntN(40_000)-18_000) * time.Hour)
	case 5:
		r.w.restart(t)
	default:
		r.write(t, w)
	}
}

// write writes requests of any time, some more than a batch.
func (r *randomSeries) write(t *testing.T, w *world) {
	t.Helper()
	q := req{
		n: 1 + r.rnd.IntN(40), source: 1 + r.rnd.Int64N(2), class: []yp.ErrorClass{"", yp.ClassTimeout, yp.ClassHTTP403}[r.rnd.IntN(3)],
		latency: r.rnd.IntN(40_000), ago: time.Duration(r.rnd.IntN(4000)) * time.Minute,
	}
	switch r.rnd.IntN(6) {
	case 0:
		q.n += 2 * countBatch
	case 1:
		q.ago *= -60
	case 2:
		q.ago *= 60
	}
	w.requests(t, q)
	r.written[q.source] += q.n
}
