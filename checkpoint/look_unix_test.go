//go:build unix

package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestRecoverUnseen: a run whose lock can't be looked at is never taken for dead, and holds up no recovery.
func TestRecoverUnseen(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA")
	b.claim(t, 0)
	dying := start(t, "hold", b.DB().Path(), "CA")
	dying.Number(t, "holds")
	lock := filepath.Join(store.LockDir(b.DB().Path()), b.run.UUID+".lock")
	noErr(t, errors.Join(os.Remove(lock), os.Symlink(filepath.Base(lock), lock))) // which nobody can open
	recovers := func(what string, want checkpoint.Recovered) {
		t.Helper()
		got, err := b.RecoverDead(t.Context(), store.Scope{})
		noErr(t, err)
		if (got.Unseen != nil) != (want.Unknown > 0) {
			t.Errorf("%s: the reason is %v", what, got.Unseen)
		}
		got.Unseen = nil
		storetest.Equal(t, got, want, what)
	}
	recovers("it sends heartbeats", checkpoint.Recovered{})
	alive, err := b.AlivePIDs(t.Context())
	if noErr(t, err); !alive[os.Getpid()] {
		t.Error("its logs are taken for those of a dead process")
	}
	clock.Move(time.Hour)
	recovers("it is silent", checkpoint.Recovered{Unknown: 1})
	dying.Kill(t)
	recovers("another one died", checkpoint.Recovered{Planned: 3, Dead: 1, Unknown: 1})
	same(t, "held", table(t, b.DB(), `SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS'`), []string{"1"})
}
