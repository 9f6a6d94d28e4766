package checkpoint_test

import (
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// TestAhead: what is due is counted by what it is, up to the limit.
func TestAhead(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	scope := b.scope
	scope.Kinds = []yp.Kind{yp.KindSearch}
	ahead := func(limit int) checkpoint.Ahead {
		t.Helper()
		a, err := b.Ahead(t.Context(), scope, limit)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if got, want := ahead(1000), (checkpoint.Ahead{Due: 12, New: 12, Cities: 6}); got != want {
		t.Errorf("at first %+v, want %+v", got, want)
	}
	execute(t, b.DB(), `UPDATE targets SET total_attempts = 1, page_current = 1 WHERE id = 1`, `UPDATE targets SET paused = 1 WHERE id = 2`)
	if got, want := ahead(1000), (checkpoint.Ahead{Due: 11, New: 10, Resumed: 1, Cities: 6}); got != want {
		t.Errorf("then %+v, want %+v", got, want)
	}
	if got := ahead(2); got.Due != 2 {
		t.Errorf("up to 2: %+v", got)
	}
}
