//go:build unix

package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// lifeOf is what each question about the run of the bundle is answered with.
func (b *bundle) lifeOf(t *testing.T, target int64) string {
	t.Helper()
	var all []string
	noErr(t, b.Snapshot(t.Context(), func(k *report.Reader) error {
		m, err := k.Measure(t.Context(), "")
		noErr(t, err)
		r := m.Runs[0]
		all = append(all, fmt.Sprintf("alive %t dead %t unknown %t", r.Alive, r.Dead, r.Unseen != nil))
		for _, state := range []string{"alive", "dead", "unknown"} {
			all = append(all, fmt.Sprint(*m.Value("runs", "state", state)))
		}
		all = append(all, fmt.Sprintf("orphans %t age %t", m.Value("targets_orphaned") != nil, m.Value("run_heartbeat_age_seconds") != nil))
		for _, list := range []string{"workers", "runs list"} {
			all = append(all, listed(t, k, list, report.Choice{Columns: []string{"state"}}))
		}
		s, err := k.Standing(t.Context(), store.Scope{})
		noErr(t, err)
		begins, _, _ := strings.Cut(s.Sentence(), ",")
		begins, _, _ = strings.Cut(begins, ": ")
		passes, err := k.LastPasses(t.Context(), store.Scope{})
		noErr(t, err)
		next, err := k.Next(t.Context(), target)
		noErr(t, err)
		abandoned, err := k.Abandoned(t.Context(), store.Scope{})
		all = append(all, begins, "pass "+string(passes[0].State), next.Why, fmt.Sprint("abandoned ", abandoned))
		return err
	}))
	return strings.Join(all, " | ")
}

// TestLockOutOfSight: whether a run lives has three answers. Where its lock can't be looked at, a heartbeat younger than
// three minutes says that it does; after that nobody says that it is dead.
func TestLockOutOfSight(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA")
	_, err := b.run.BeginPass(t.Context(), b.scope, nil)
	noErr(t, err)
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{}))
	b.commit(t, b.claim(t, 0), page(true, "a"))
	c := b.claim(t, 0)
	_, err = b.run.Heartbeat(t.Context(), 0, checkpoint.Usage{})
	noErr(t, err)
	lock := filepath.Join(store.LockDir(b.DB().Path()), b.run.UUID+".lock")
	const (
		lives   = "alive true dead false unknown false | 1 | 0 | 0 | orphans true age true | running | running | A run is crawling demo with 1 worker | pass running | a worker is crawling it | abandoned false"
		unknown = "alive false dead false unknown true | 0 | 0 | 1 | orphans false age false | unknown | unknown | A run may be active | pass unknown | " +
			"the worker crawling it is silent, and may be dead | abandoned false"
		dead = "alive false dead true unknown false | 0 | 1 | 0 | orphans true age false | killed | killed | No run is active. The last one was killed; its last heartbeat was at %s. Run the same command to resume it. | pass stopped | " +
			"the process that was crawling it died; the next run continues it | abandoned true"
	)
	storetest.Equal(t, b.lifeOf(t, c.TargetID), lives, "its lock is held")
	noErr(t, os.Remove(lock))
	noErr(t, os.Symlink(filepath.Base(lock), lock)) // which nobody can open
	storetest.Equal(t, b.lifeOf(t, c.TargetID), lives, "its lock can't be opened")
	clock.Move(3 * time.Minute)
	storetest.Equal(t, b.lifeOf(t, c.TargetID), unknown, "and it is silent")
	passes, err := b.LastPasses(t.Context(), store.Scope{})
	noErr(t, err)
	if text := passes[0].Sentence(); !passes[0].Ended.IsZero() || !strings.HasSuffix(text, "1 run; it may still be in progress.") {
		t.Errorf("the pass is %s", text)
	}
	slow, err := b.MeasureSlowly(t.Context())
	noErr(t, err)
	figures(t, &report.Measures{Metrics: slow.Metrics}, map[string]string{"pass_running source demo": ""})

	noErr(t, os.Remove(lock))
	storetest.Equal(t, regexp.MustCompile(`[0-9:]{8} UTC`).ReplaceAllString(b.lifeOf(t, c.TargetID), "%s"), dead, "its lock is gone")
}
