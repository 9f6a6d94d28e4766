package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestStoredSources(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	err := b.DB().Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO sources (name, base_url, enabled, stage, definition, created_at, updated_at)
			VALUES ('acme', 'https://acme.test', 0, 'sandbox', 'name: acme', ?1, ?1)`, tx.Now)
		return err
	})
	noErr(t, err)
	all, err := b.StoredSources(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v; want two sources", all, err)
	}
	acme := checkpoint.StoredSource{ID: all[0].ID, Name: "acme", BaseURL: "https://acme.test", Stage: checkpoint.StageSandbox, Definition: "name: acme", Country: "US"}
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
	claim := func(scope store.Scope) error {
		_, err := b.Claim(t.Context(), b.worker(0), scope, 1)
		return err
	}
	noErr(t, claim(b.scope))
	if err := claim(b.scope); !errors.Is(err, checkpoint.ErrNothing) {
		t.Errorf("the state is full: got %v, want ErrNothing", err)
	}
	noErr(t, claim(store.Scope{SourceID: other, States: []string{"CA"}}))
}

func emptyKeeper(t *testing.T) *checkpoint.Keeper {
	t.Helper()
	return checkpoint.New(storetest.Open(t))
}

// sourceAt is what was found at an address, with a score of 80.
func sourceAt(name, base string) checkpoint.NewSource {
	return checkpoint.NewSource{Name: name, BaseURL: base, Definition: "name: " + name + "\n"}
}

func addSource(t *testing.T, k *checkpoint.Keeper, n checkpoint.NewSource) checkpoint.Added {
	t.Helper()
	added, err := k.AddSource(t.Context(), n)
	noErr(t, err)
	return added
}

func TestAddSource(t *testing.T) {
	t.Parallel()
	const sandbox, active = checkpoint.StageSandbox, checkpoint.StageActive
	k := emptyKeeper(t)
	n := sourceAt("acme", "https://acme.com")
	if got, want := addSource(t, k, n), (checkpoint.Added{Stage: sandbox, Enabled: true, Changed: true}); got != want {
		t.Errorf("new: %+v, want %+v", got, want)
	}
	if got, want := addSource(t, k, n), (checkpoint.Added{Stage: sandbox, Enabled: true, Updated: true}); got != want {
		t.Errorf("the same: %+v, want %+v", got, want)
	}
	execute(t, k.DB(), `UPDATE sources SET stage = 'active', enabled = 0`)
	n.Definition += "delay: 3s\n"
	n.BaseURL = "https://acme.net"
	if got, want := addSource(t, k, n), (checkpoint.Added{Stage: active, Updated: true, Changed: true}); got != want {
		t.Errorf("another, of one that is active and disabled: %+v, want %+v", got, want)
	}
	s, ok, err := k.StoredSource(t.Context(), "acme")
	if err != nil || !ok || s.Definition != n.Definition || s.BaseURL != n.BaseURL || s.Stage != active || s.Enabled {
		t.Errorf("%+v, %t, %v", s, ok, err)
	}
}

// promotes compares the stage that a source was in before it is promoted.
func promotes(t *testing.T, k *checkpoint.Keeper, name string, want checkpoint.Stage) {
	t.Helper()
	before, err := k.Promote(t.Context(), name)
	noErr(t, err)
	storetest.Equal(t, before, want, "stage before")
}

func TestPromote(t *testing.T) {
	t.Parallel()
	k := emptyKeeper(t)
	addSource(t, k, sourceAt("acme", "https://acme.com"))
	promotes(t, k, "acme", checkpoint.StageSandbox)
	same(t, "rows", table(t, k.DB(), `SELECT stage, enabled FROM sources`), []string{`active|1`})
	promotes(t, k, "acme", checkpoint.StageActive)
	execute(t, k.DB(), `UPDATE sources SET definition = NULL`)
	if _, err := k.Promote(t.Context(), "acme"); !errors.Is(err, checkpoint.ErrNotStaged) {
		t.Error(err)
	}
	if _, err := k.Promote(t.Context(), "nobody"); err == nil {
		t.Error("a source that is not there was promoted")
	}
}

// sandbox is a new source.
func sandbox(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Keeper: emptyKeeper(t), scope: store.Scope{SourceID: 1}}
	addSource(t, b.Keeper, sourceAt("demo", "http://127.0.0.1:1"))
	return b
}

// boxed is a source in the sandbox with n searches planned, all done with listings.
func boxed(t *testing.T, n int) *bundle {
	t.Helper()
	b := sandbox(t)
	storetest.Equal(t, planSome(t, b, 20, n), n, "searches planned")
	execute(t, b.DB(),
		`UPDATE targets SET status = 'DONE', page_current = 1, raw_count = 10, accepted_count = 10, finished_at = '2026-11-20T12:00:00.000Z'`)
	return b
}

// planSome plans cities × 1 category, at most limit of them (0 = all).
func planSome(t *testing.T, b *bundle, cities, limit int) int {
	t.Helper()
	p := checkpoint.Plan{
		SourceID: b.scope.SourceID, Cities: storetest.Cities(cities, "CA"), Categories: storetest.Categories("Plumbers"), TierPages: storetest.TierPages, MaxTargets: limit,
	}
	out, err := b.Plan(t.Context(), p)
	noErr(t, err)
	return out.Added
}

func stageOf(t *testing.T, b *bundle) string {
	t.Helper()
	return table(t, b.DB(), `SELECT stage FROM sources WHERE id = 1`)[0]
}

func TestPromoteBySelf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   checkpoint.Stage
	}{
		"holds":                     {``, checkpoint.StageActive},
		"70 percent":                {`UPDATE targets SET bad_count = 3`, checkpoint.StageActive},
		"less":                      {`UPDATE targets SET bad_count = 3; UPDATE targets SET bad_count = 4 WHERE id = 1`, checkpoint.StageSandbox},
		"with rejected listings":    {`UPDATE targets SET bad_count = 3; INSERT INTO staged_listings VALUES (1, 'x', 1, 1, '[]', '{}', 'x', 'x')`, checkpoint.StageSandbox},
		"no cards":                  {`UPDATE targets SET raw_count = 0, accepted_count = 0`, checkpoint.StageSandbox},
		"an alarm":                  {`UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no phone'`, checkpoint.StageSandbox},
		"a page that was not known": {`UPDATE sources SET layout_strikes = 1`, checkpoint.StageSandbox},
		"a pause for a password":    {`UPDATE sources SET paused_until = '2099-01-01T00:00:00.000Z', paused_code = 'AUTH_FAILED'`, checkpoint.StageActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := boxed(t, 10)
			for _, q := range strings.Split(c.change, ";") {
				if q != "" {
					execute(t, b.DB(), q)
				}
			}
			promoted, err := b.PromoteBySelf(t.Context(), 1)
			if got := stageOf(t, b); err != nil || got != string(c.want) || promoted != (c.want == checkpoint.StageActive) {
				t.Errorf("%s, %t, %v: want %s", got, promoted, err, c.want)
			}
			if promoted, err := b.PromoteBySelf(t.Context(), 1); err != nil || promoted {
				t.Errorf("again: %t, %v", promoted, err)
			}
		})
	}
}

// TestSandboxAgain: another definition reads the targets of a sandbox anew, and is judged by its own pages.
func TestSandboxAgain(t *testing.T) {
	t.Parallel()
	b := boxed(t, 10)
	added := addSource(t, b.Keeper, checkpoint.NewSource{Name: "demo", BaseURL: "http://127.0.0.1:1", Definition: "name: demo\ndelay: 1s\n"})
	if !added.Changed || added.Stage != checkpoint.StageSandbox {
		t.Fatalf("%+v", added)
	}
	got := table(t, b.DB(), `SELECT count(*), min(status), max(page_current), max(raw_count), count(not_before), count(finished_at) FROM targets`)
	if diff := cmp.Diff([]string{"10|PLANNED|0|0|0|0"}, got); diff != "" {
		t.Error(diff)
	}
	recount(t, b.DB())
	if promoted, err := b.PromoteBySelf(t.Context(), 1); err != nil || promoted {
		t.Error(promoted, err)
	}
}

// TestPlanTogether: processes that plan other places of one sandbox at once fill it, and no more.
func TestPlanTogether(t *testing.T) {
	t.Parallel()
	for range 5 {
		b := boxed(t, 3)
		var all sync.WaitGroup
		for _, state := range []string{"AZ", "CA", "NM", "TX"} {
			p := checkpoint.Plan{SourceID: 1, TierPages: [4]int{0, 3, 2, 1}, Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}}}
			for i := range 8 {
				p.Cities = append(p.Cities, yp.City{Slug: fmt.Sprintf("town-%d-%s", i, state), Name: "Town", State: state, Tier: 1})
			}
			all.Go(func() {
				if _, err := b.Plan(t.Context(), p); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		storetest.Equal(t, table(t, b.DB(), `SELECT count(*) FROM targets`)[0], fmt.Sprint(checkpoint.SandboxTargets), "searches planned")
	}
}

// TestFullSandboxTakesNoCities: a plan of the whole country for a sandbox stores few cities.
func TestFullSandboxTakesNoCities(t *testing.T) {
	t.Parallel()
	b := sandbox(t)
	storetest.Equal(t, planSome(t, b, 1200, 0), checkpoint.SandboxTargets, "searches planned")
	storetest.Equal(t, storetest.Table(t, b.DB(), `SELECT count(*) FROM cities`)[0], "500", "cities stored, those of one transaction,")
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	b := sandbox(t)
	limit := func(want int) {
		t.Helper()
		if got, err := b.PlanLimit(t.Context(), 1); err != nil || got != want {
			t.Errorf("limit %d, %v: want %d", got, err, want)
		}
	}
	limit(10)
	storetest.Equal(t, planSome(t, b, 3, 0), 3, "planned")
	limit(7)
	if got := planSome(t, b, 5, 0); got != 2 { // three of them are there
		t.Errorf("planned %d new ones of 5, want 2", got)
	}
	storetest.Equal(t, planSome(t, b, 50, 0), 5, "planned, for which there is room,")
	limit(0)
	storetest.Equal(t, planSome(t, b, 50, 0), 0, "planned in a full sandbox")
	promotes(t, b.Keeper, "demo", checkpoint.StageSandbox)
	limit(-1)
	storetest.Equal(t, planSome(t, b, 50, 0), 40, "planned of an active source")
	if _, err := b.PlanLimit(t.Context(), 99); err == nil {
		t.Error("a source that is not there has a limit")
	}
}

// TestCitiesAbroad: cities are told apart by slug, state and country; a source's row has its country, its file and its states, and its
// listings follow when the country is another one.
func TestCitiesAbroad(t *testing.T) {
	t.Parallel()
	k := checkpoint.New(storetest.Open(t))
	de := checkpoint.NewSource{
		Name: "de", BaseURL: "http://de.test", Country: "DE", Cities: "state,city\n", States: []yp.State{{Code: "HE", Name: "Hessen"}, {Code: "BB", Name: "Brandenburg"}},
	}
	id, err := k.Register(t.Context(), de)
	noErr(t, err)
	us, err := k.Source(t.Context(), "us", "http://us.test")
	noErr(t, err)
	cats := []yp.Category{{Slug: "a", Name: "A"}}
	for range 2 {
		_, err = k.Plan(t.Context(), checkpoint.Plan{SourceID: id, Categories: cats, Cities: []yp.City{
			{Slug: "frankfurt", Name: "Frankfurt am Main", State: "HE", Tier: 1, Country: "DE"},
			{Slug: "frankfurt", Name: "Frankfurt (Oder)", State: "BB", Tier: 1, Country: "DE"},
			{Slug: "perth-wa", Name: "Perth", State: "WA", Tier: 1, Country: "DE"},
		}})
		noErr(t, err)
		_, err = k.Plan(t.Context(), checkpoint.Plan{SourceID: us, Categories: cats, Cities: []yp.City{{Slug: "perth-wa", Name: "Perth", State: "WA", Tier: 3}}})
		noErr(t, err)
	}
	same(t, "cities", table(t, k.DB(), `SELECT c.country || ' ' || c.state || ' ' || c.slug || ' ' || count(*) FROM targets t JOIN cities c ON c.id = t.city_id GROUP BY c.id ORDER BY 1`),
		[]string{"DE BB frankfurt 1", "DE HE frankfurt 1", "DE WA perth-wa 1", "US WA perth-wa 1"})
	same(t, "states", table(t, k.DB(), `SELECT source_id || ' ' || state || ' ' || name FROM source_states ORDER BY 1`), []string{"1 BB Brandenburg", "1 HE Hessen"})

	de.Definition, de.Cities = "name: de", "state,city\nHE,A\n"
	added, err := k.AddSource(t.Context(), de)
	noErr(t, err)
	de.Definition, de.Cities, de.Country, de.States = "", "another", "AT", de.States[:1]
	_, err = k.Register(t.Context(), de) // a run by a file of that name
	noErr(t, err)
	s, _, err := k.StoredSource(t.Context(), "de")
	if err != nil || !added.Changed || s.Cities != "state,city\nHE,A\n" || s.Country != "AT" {
		t.Errorf("%+v, %+v, %v", added, s, err)
	}
	same(t, "states then", table(t, k.DB(), `SELECT state FROM source_states`), []string{"HE"})
}
