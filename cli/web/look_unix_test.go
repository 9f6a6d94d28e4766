//go:build unix

package web

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestLockOutOfSight: the page calls no run dead whose lock can't be looked at.
func TestLockOutOfSight(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	lock := filepath.Join(store.LockDir(b.DB().Path()), b.run.UUID+".lock")
	storetest.NoError(t, errors.Join(os.Remove(lock), os.Symlink(filepath.Base(lock), lock))) // which nobody can open
	b.answers(t, "/", page{200, []string{"A run is crawling demo", `class="sentence working"`}})
	storetest.Execute(t, b.DB(), `UPDATE runs SET heartbeat_at = '`+storetest.Ago(4*time.Minute)+`'`)
	text := b.answers(t, "/", page{200, []string{"A run may be active", `class="sentence troubled"`, "time left: unknown"}})
	if strings.Contains(text, "No run") || strings.Contains(text, "killed") || strings.Contains(text, filepath.Dir(lock)) {
		t.Errorf("the page says\n%s", text)
	}
	b.answers(t, "/runs", page{200, []string{">unknown<"}})
}
