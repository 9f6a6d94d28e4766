package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func TestStoredSources(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	err := b.DB().Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO sources (name, base_url, enabled, stage, definition, created_at, updated_at)
			VALUES ('acme', 'https://acme.test', 0, 'review', 'name: acme', ?1, ?1)`, tx.Now)
		return err
	})
	noErr(t, err)
	all, err := b.StoredSources(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v; want two sources", all, err)
	}
	acme := checkpoint.StoredSource{ID: all[0].ID, Name: "acme", BaseURL: "https://acme.test", Stage: checkpoint.StageReview, Definition: "name: acme"}
	if diff := cmp.Diff(acme, all[0]); diff != "" {
		t.Errorf("the first by name (-want +got):\n%s", diff)
	}
	if s := all[1]; !s.Enabled || s.Stage != checkpoint.StageActive || s.Definition != "" {
		t.Errorf("a source that was crawled is %+v", s)
	}
	got, found, err := b.StoredSource(t.Context(), "acme")
	if err != nil || !found || got != acme {
		t.Errorf("by its name: %+v, %v, %v", got, found, err)
	}
	if _, found, err := b.StoredSource(t.Context(), "nobody"); err != nil || found {
		t.Errorf("one that is not there: %v, %v", found, err)
	}
}

// TestClaimPerSource: a source that holds all it may of a state takes no place from
// another one.
func TestClaimPerSource(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	other, err := b.Source(t.Context(), "other", "https://other.test")
	noErr(t, err)
	_, err = b.Keeper.Plan(t.Context(), checkpoint.Plan{
		SourceID: other, Cities: []yp.City{{Slug: "city-0-ca", Name: "City 0", State: "CA", Population: 1, Tier: 1}},
		Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}},
	})
	noErr(t, err)
	claim := func(n int, scope store.Scope) error {
		_, err := b.Claim(t.Context(), b.worker(n), scope, 1)
		return err
	}
	noErr(t, claim(0, b.scope))
	if err := claim(1, b.scope); !errors.Is(err, checkpoint.ErrNothing) {
		t.Errorf("the state is full: got %v, want ErrNothing", err)
	}
	if err := claim(2, store.Scope{SourceID: other, States: []string{"CA"}}); err != nil {
		t.Errorf("the other source is full too: %v", err)
	}
}
