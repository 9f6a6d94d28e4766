package report_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store"
)

func TestHostAvailability(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	execute(t, b.DB(), fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'a', '%s', 'Retry-After', 'x'), (1, 'b', '%s', 'penalty', 'x')`,
		ahead(time.Hour), ago(time.Second)))
	if g, err := b.HostAvailability(t.Context(), "a"); err != nil || g.State != store.SourceHeld || g.Reason != "Retry-After" || g.Until.Before(time.Now()) {
		t.Errorf("one that is held: %+v, %v", g, err)
	}
	for _, host := range []string{"b", "c"} {
		if g, err := b.HostAvailability(t.Context(), host); err != nil || !g.Open() {
			t.Errorf("%s: %+v, %v", host, g, err)
		}
	}
}
