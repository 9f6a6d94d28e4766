package checkpoint_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

const healthRow = `SELECT status, crawl_status, consecutive_failures, backoff_level, backoff_until, auto_disabled, last_error_code, last_error,
	total_attempts, total_successes, page_current, claimed_by, (SELECT run_id FROM targets t WHERE t.id = v.id) FROM v_crawler_status v WHERE `

// failing is a crawl of one target that only fails.
type failing struct {
	*bundle
	clock *clock
}

func newFailing(t *testing.T) *failing {
	b, clock := setupClock(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	return &failing{b, clock}
}

// fail claims the target and fails; it returns what became of it, when.
func (f *failing) fail(t *testing.T) (yp.Setback, time.Time) {
	t.Helper()
	set, err := f.Fail(t.Context(), f.claim(t, 0), yp.CodeTimeout, "slow")
	noErr(t, err)
	return set, f.clock.Now()
}

// nothing fails the test if something can be claimed.
func (f *failing) nothing(t *testing.T, when string) {
	t.Helper()
	if _, err := f.Wake(t.Context(), f.scope); err != nil {
		t.Fatal(err)
	}
	if c, err := f.Claim(t.Context(), f.worker(0), f.scope, 5); !errors.Is(err, checkpoint.ErrNothing) {
		t.Fatalf("%s: claimed %+v (%v), want nothing", when, c, err)
	}
}

// rest waits until the target may be claimed again, and holds that it can't be before.
func (f *failing) rest(t *testing.T, wait time.Duration) {
	t.Helper()
	f.nothing(t, "at once")
	f.clock.Move(wait.Truncate(time.Millisecond) - time.Millisecond)
	f.nothing(t, "a millisecond early")
	f.clock.Move(time.Millisecond)
	if n, err := f.Wake(t.Context(), f.scope); err != nil || n != 1 {
		t.Fatalf("woke %d (%v), want 1", n, err)
	}
}

// TestSuccessClears: whatever went wrong before, a success makes all good.
func TestSuccessClears(t *testing.T) {
	t.Parallel()
	for name, succeed := range map[string]func(t *testing.T, f *failing, c *checkpoint.Claim) error{
		"a last page": func(t *testing.T, f *failing, c *checkpoint.Claim) error {
			_, err := f.CommitPage(t.Context(), c, yp.Page{Number: 1, Last: true})
			return err
		},
		"an empty result": func(t *testing.T, f *failing, c *checkpoint.Claim) error {
			return f.Complete(t.Context(), c, yp.CodeNoListings, "none", true)
		},
		"no further page": func(t *testing.T, f *failing, c *checkpoint.Claim) error {
			return f.Complete(t.Context(), c, "", "", false)
		},
	} {
		for _, failures := range []int{0, 1, 4, 7} {
			t.Run(fmt.Sprintf("%s after %d failures", name, failures), func(t *testing.T) {
				t.Parallel()
				f := newFailing(t)
				for range failures {
					set, _ := f.fail(t)
					f.rest(t, set.Wait)
				}
				noErr(t, succeed(t, f, f.claim(t, 0)))
				const q = `SELECT status, crawl_status, consecutive_failures, backoff_level, backoff_until, auto_disabled, total_successes, last_success_at, next_crawl_at FROM v_crawler_status WHERE id = 1`
				now := f.clock.Now()
				same(t, "target", table(t, f.DB(), q), []string{"DONE|active|0|0||0|1|" + stamp(now) + "|" + stamp(now.Add(yp.RecrawlAfter*9/10))})
				same(t, "source", table(t, f.DB(), `SELECT consecutive_failures FROM sources`), []string{"0"})
			})
		}
	}
	t.Run("once only is never due again", func(t *testing.T) {
		t.Parallel()
		f := newFailing(t)
		execute(t, f.DB(), `UPDATE targets SET crawl_frequency_minutes = 0`)
		noErr(t, f.Complete(t.Context(), f.claim(t, 0), "", "", false))
		same(t, "target", table(t, f.DB(), `SELECT status, not_before FROM targets WHERE id = 1`), []string{"DONE|"})
		f.clock.Move(10000 * time.Hour)
		f.nothing(t, "for ever")
	})
}
