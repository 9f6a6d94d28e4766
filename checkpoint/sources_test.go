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
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
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

func emptyKeeper(t *testing.T) *checkpoint.Keeper {
	t.Helper()
	return checkpoint.New(storetest.Open(t))
}

// sourceAt is what was found at an address, with a score of 80.
func sourceAt(name, base string, stage checkpoint.Stage) checkpoint.NewSource {
	points := 80
	return checkpoint.NewSource{
		Name: name, BaseURL: base, Definition: "name: " + name + "\n", Stage: stage, Score: &points, Notes: []string{"fine"}, BuiltIn: []string{"builtin"},
	}
}

func addSource(t *testing.T, k *checkpoint.Keeper, n checkpoint.NewSource) checkpoint.Added {
	t.Helper()
	added, err := k.AddSource(t.Context(), n)
	noErr(t, err)
	return added
}

func TestAddSource(t *testing.T) {
	t.Parallel()
	const sandbox, review, active = checkpoint.StageSandbox, checkpoint.StageReview, checkpoint.StageActive
	t.Run("new", func(t *testing.T) {
		t.Parallel()
		k := emptyKeeper(t)
		if got, want := addSource(t, k, sourceAt("acme", "https://acme.com", sandbox)), (checkpoint.Added{Stage: sandbox, Enabled: true, Changed: true}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got, want := addSource(t, k, sourceAt("thin", "https://thin.com", review)), (checkpoint.Added{Stage: review, Changed: true}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		score, notes, err := report.New(k.DB()).SourceNotes(t.Context(), 1)
		if err != nil || *score != 80 || len(notes) != 1 || notes[0] != "fine" {
			t.Error(score, notes, err)
		}
	})
	for name, c := range map[string]struct {
		first, then checkpoint.Stage
		disable     bool
		want        checkpoint.Added // Updated is true
	}{
		"a sandbox again":                      {sandbox, sandbox, false, checkpoint.Added{Stage: sandbox, Enabled: true, Before: sandbox}},
		"a sandbox found thin":                 {sandbox, review, false, checkpoint.Added{Stage: review, Before: sandbox}},
		"a review found good":                  {review, sandbox, false, checkpoint.Added{Stage: sandbox, Enabled: true, Before: review}},
		"an active one stays so":               {active, sandbox, false, checkpoint.Added{Stage: active, Enabled: true, Before: active}},
		"an active one found thin":             {active, review, false, checkpoint.Added{Stage: review, Before: active}},
		"an operator's word against it stands": {sandbox, sandbox, true, checkpoint.Added{Stage: sandbox, Before: sandbox}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := emptyKeeper(t)
			addSource(t, k, sourceAt("acme", "https://acme.com", c.first))
			if c.disable {
				execute(t, k.DB(), `UPDATE sources SET enabled = 0`)
			}
			n := sourceAt("acme", "http://www.acme.com/path", c.then)
			c.want.Updated = true
			if got := addSource(t, k, n); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			n.Definition += "delay: 3s\n"
			if got := addSource(t, k, n); !got.Changed || got.Stage != c.want.Stage || got.Enabled != c.want.Enabled {
				t.Errorf("with another definition: %+v, want the same stage", got)
			}
			s, ok, err := k.StoredSource(t.Context(), "acme")
			if err != nil || !ok || s.Definition != n.Definition || s.BaseURL != n.BaseURL || s.Stage != c.want.Stage || s.Enabled != c.want.Enabled {
				t.Errorf("%+v, %t, %v", s, ok, err)
			}
		})
	}
}

func TestSourceTaken(t *testing.T) {
	t.Parallel()
	k := emptyKeeper(t)
	addSource(t, k, sourceAt("acme", "https://acme.com", checkpoint.StageSandbox))
	execute(t, k.DB(), `INSERT INTO sources (name, base_url, created_at, updated_at) VALUES ('builtin', 'http://127.0.0.1:8080', 'x', 'x')`)
	for name, c := range map[string]struct {
		n    checkpoint.NewSource
		want string
	}{
		"name of another host":  {sourceAt("acme", "https://other.com", checkpoint.StageSandbox), "the name acme belongs to https://acme.com"},
		"host of another name":  {sourceAt("acme2", "http://www.ACME.com.", checkpoint.StageSandbox), "https://acme.com is already the source acme"},
		"name of a built-in":    {sourceAt("builtin", "https://other.com", checkpoint.StageSandbox), "builtin is the name of a built-in source"},
		"host of a built-in":    {sourceAt("mine", "http://127.0.0.1:8080/x", checkpoint.StageSandbox), "http://127.0.0.1:8080 is crawled by the built-in source builtin"},
		"a built-in, once more": {sourceAt("builtin", "http://127.0.0.1:8080", checkpoint.StageSandbox), "builtin is the name of a built-in source"},
	} {
		t.Run(name, func(t *testing.T) {
			var taken *checkpoint.SourceTakenError
			if _, err := k.AddSource(t.Context(), c.n); !errors.As(err, &taken) || taken.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	t.Run("an operator may move one", func(t *testing.T) {
		n := sourceAt("acme", "https://other.com", checkpoint.StageSandbox)
		n.Moves = true
		if got := addSource(t, k, n); !got.Updated {
			t.Errorf("%+v", got)
		}
	})
	if got := table(t, k.DB(), `SELECT name, base_url FROM sources ORDER BY id`); got[0] != "acme|https://other.com" || got[1] != "builtin|http://127.0.0.1:8080" || len(got) != 2 {
		t.Error(got)
	}
}

func TestPromote(t *testing.T) {
	t.Parallel()
	k := emptyKeeper(t)
	addSource(t, k, sourceAt("acme", "https://acme.com", checkpoint.StageReview))
	if before, err := k.Promote(t.Context(), "acme"); err != nil || before != checkpoint.StageReview {
		t.Error(before, err)
	}
	same(t, "rows", table(t, k.DB(), `SELECT stage, enabled, notes FROM sources`), []string{`active|1|["fine","sandbox: made active by an operator"]`})
	if before, err := k.Promote(t.Context(), "acme"); err != nil || before != checkpoint.StageActive {
		t.Errorf("twice: %s, %v", before, err)
	}
	execute(t, k.DB(), `UPDATE sources SET definition = NULL`)
	if _, err := k.Promote(t.Context(), "acme"); !errors.Is(err, checkpoint.ErrNotStaged) {
		t.Error(err)
	}
	if _, err := k.Promote(t.Context(), "nobody"); err == nil {
		t.Error("a source that is not there was promoted")
	}
}

func TestSameHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://acme.com", "http://www.acme.com/x?y", true},
		{"https://acme.com:443", "http://ACME.com.:80", true},
		{"http://127.0.0.1:1", "http://127.0.0.1:2", false},
		{"http://a.acme.com", "http://acme.com", false},
		{"http://%zz", "http://%zz", false},
	} {
		if got := checkpoint.SameHost(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}

// boxed is a source in the sandbox with n targets planned, all done with listings.
func boxed(t *testing.T, n int) *bundle {
	t.Helper()
	b := &bundle{Keeper: emptyKeeper(t)}
	_, err := b.AddSource(t.Context(), checkpoint.NewSource{
		Name: "demo", BaseURL: "http://127.0.0.1:1", Definition: "name: demo\n", Stage: checkpoint.StageSandbox, Notes: []string{"30 of 30 cards"},
	})
	noErr(t, err)
	b.scope.SourceID = 1
	if got := planSome(t, b, 20, n); got != n {
		t.Fatalf("%d targets planned, want %d", got, n)
	}
	execute(t, b.DB(),
		`UPDATE targets SET status = 'DONE', page_current = 1, raw_count = 10, accepted_count = 10, finished_at = '2026-11-20T12:00:00.000Z'`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (1, 'Acme', 1, 'a', 'x')`)
	for i := range 10 {
		listing(t, b, i, `'555'`, `NULL`)
	}
	return b
}

func listing(t *testing.T, b *bundle, i int, phone, street string) {
	t.Helper()
	execute(t, b.DB(), fmt.Sprintf(`INSERT INTO listings (source_id, listing_id, company_id, name, phone, street, found_state, fingerprint, first_seen_at, last_seen_at)
		VALUES (1, 'l%d', 1, 'Acme', %s, %s, 'CA', 0, 'x', 'x')`, i, phone, street))
}

// planSome plans cities × 1 category, at most limit of them (0 = all).
func planSome(t *testing.T, b *bundle, cities, limit int) int {
	t.Helper()
	p := checkpoint.Plan{SourceID: b.scope.SourceID, TierPages: [4]int{0, 3, 2, 1}, Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}}, MaxTargets: limit}
	for i := range cities {
		p.Cities = append(p.Cities, yp.City{Slug: fmt.Sprintf("city-%d-ca", i), Name: fmt.Sprintf("City %d", i), State: "CA", Tier: 1})
	}
	out, err := b.Plan(t.Context(), p)
	noErr(t, err)
	return out.Added
}

func stageOf(t *testing.T, b *bundle) string {
	t.Helper()
	return table(t, b.DB(), `SELECT stage, enabled, notes FROM sources WHERE id = 1`)[0]
}

func TestJudgeSandbox(t *testing.T) {
	t.Parallel()
	const listings = `["30 of 30 cards","sandbox: `
	for name, c := range map[string]struct {
		targets int
		change  string
		want    string // stage|enabled|notes
		text    string
	}{
		"holds":                     {10, "", `active|1|` + listings + `10 of 10 targets were read, with 10 listings, 10 of them with a phone or an address"]`, "leaves the sandbox"},
		"holds with fewer":          {4, "", `active|1|` + listings + `4 of 4 targets`, "leaves the sandbox"},
		"too few":                   {2, "", `sandbox|1|["30 of 30 cards"]`, "only 2 of the 10 targets of the sandbox were crawled"},
		"still waiting":             {10, `UPDATE targets SET status = 'PLANNED', finished_at = NULL, page_current = 0, raw_count = 0, accepted_count = 0 WHERE id = 3`, `sandbox|1|["30 of 30 cards"]`, "9 of 10 targets have an outcome"},
		"an explicit empty counts":  {10, `UPDATE targets SET raw_count = 0, accepted_count = 0 WHERE id < 5`, `active|1|`, "leaves"},
		"two failures are let pass": {10, failed("TIMEOUT", 3), `active|1|`, "leaves"},
		"three are not":             {10, failed("TIMEOUT", 4), `review|0|` + listings + `7 of 10 targets were read, at least 80 % must be (TIMEOUT)"]`, "is disabled until you have reviewed it"},
		"a changed layout":          {10, failed("HTML_CHANGED", 2), `review|0|` + listings + `the pages of 1 of 10 targets could not be read"]`, "is disabled until you have reviewed it"},
		"broken HTML":               {10, failed("PARSE_ERROR", 2), `review|0|`, "could not be read"},
		"a layout that broke at once does not wait for the rest": {10, failed("HTML_CHANGED", 2) + `; UPDATE targets SET status = 'PLANNED', finished_at = NULL WHERE id > 2`, `review|0|`, "is disabled until you have reviewed it"},
		"a first failure that waits":                             {10, `UPDATE targets SET status = 'PLANNED', finished_at = NULL, last_error_code = 'TIMEOUT', wait_reason = 'backoff', not_before = '2099-01-01T00:00:00.000Z' WHERE id = 1`, `sandbox|1|`, "9 of 10"},
		"an alarm":                                               {10, `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no phone'`, `review|0|` + listings + `layout alarm: no phone"]`, "layout alarm"},
		"nothing at all":                                         {10, `DELETE FROM listings; UPDATE targets SET raw_count = 0, accepted_count = 0`, `review|0|` + listings + `no target has a listing"]`, "is disabled until"},
		"listings without a phone":                               {10, `UPDATE listings SET phone = NULL WHERE listing_id < 'l3'`, `review|0|` + listings + `7 of 10 listings have a name and a phone or an address, at least 80 % must"]`, "is disabled until"},
		"an address does":                                        {10, `UPDATE listings SET phone = NULL, street = '1 Main St' WHERE listing_id < 'l3'`, `active|1|`, "leaves"},
		"bad cards are listings without a name":                  {10, `UPDATE targets SET bad_count = 3 WHERE id = 1`, `review|0|` + listings + `10 of 13 listings`, "is disabled until you have reviewed it"},
		"one that an operator disabled stays so":                 {10, `UPDATE sources SET enabled = 0`, `active|0|`, "leaves"},
		"an active one":                                          {10, `UPDATE sources SET stage = 'active'`, `active|1|["30 of 30 cards"]`, ""},
		"one in review":                                          {10, `UPDATE sources SET stage = 'review', enabled = 0`, `review|0|["30 of 30 cards"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := boxed(t, c.targets)
			for _, q := range strings.Split(c.change, ";") {
				if q != "" {
					execute(t, b.DB(), q)
				}
			}
			stage, text, err := b.JudgeSandbox(t.Context(), 1)
			if err != nil || !strings.Contains(text, c.text) || c.text == "" && text != "" {
				t.Errorf("%q, %v: want %q", text, err, c.text)
			}
			if got := stageOf(t, b); !strings.HasPrefix(got, c.want) || !strings.HasPrefix(got, string(stage)) {
				t.Errorf("%s, %s: want %s", got, stage, c.want)
			}
		})
	}
}

// failed makes the targets below id fail.
func failed(code string, id int) string {
	return fmt.Sprintf(`UPDATE targets SET status = 'FAILED', last_error_code = '%s', backoff_level = 1, wait_reason = 'backoff', not_before = '2099-01-01T00:00:00.000Z' WHERE id < %d`, code, id)
}

func TestSandboxAgain(t *testing.T) {
	t.Parallel()
	b := boxed(t, 10)
	execute(t, b.DB(), failed("HTML_CHANGED", 2))
	if stage, _, err := b.JudgeSandbox(t.Context(), 1); err != nil || stage != checkpoint.StageReview {
		t.Fatal(stage, err)
	}
	t.Run("an operator who enables it sends it there again, its targets anew", func(t *testing.T) {
		if entered, err := b.EnterSandbox(t.Context(), "demo"); err != nil || !entered {
			t.Fatal(entered, err)
		}
		got := table(t, b.DB(), `SELECT count(*), min(status), max(page_current), max(raw_count), count(not_before), count(finished_at) FROM targets`)
		if diff := cmp.Diff([]string{"10|PLANNED|0|0|0|0"}, got); diff != "" {
			t.Error(diff)
		}
		recount(t, b.DB())
		if stage, text, err := b.JudgeSandbox(t.Context(), 1); err != nil || stage != checkpoint.StageSandbox || !strings.Contains(text, "0 of 10") {
			t.Error(stage, text, err)
		}
		if entered, err := b.EnterSandbox(t.Context(), "demo"); err != nil || entered {
			t.Errorf("twice: %t, %v", entered, err)
		}
	})
	t.Run("the next verdict takes the place of the last", func(t *testing.T) {
		execute(t, b.DB(), `UPDATE targets SET status = 'DONE', page_current = 1, raw_count = 10, accepted_count = 10, last_error_code = NULL, finished_at = 'x'`)
		if stage, _, err := b.JudgeSandbox(t.Context(), 1); err != nil || stage != checkpoint.StageActive {
			t.Error(stage, err)
		}
		if got := stageOf(t, b); strings.Contains(got, "could not be read") || !strings.Contains(got, "30 of 30 cards") {
			t.Error(got)
		}
	})
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
		if n := table(t, b.DB(), `SELECT count(*) FROM targets`)[0]; n != fmt.Sprint(checkpoint.SandboxTargets) {
			t.Fatalf("%s targets are planned, want %d", n, checkpoint.SandboxTargets)
		}
	}
}

// TestFullSandboxTakesNoCities: a plan of the whole country for a sandbox stores few cities.
func TestFullSandboxTakesNoCities(t *testing.T) {
	t.Parallel()
	b := &bundle{Keeper: emptyKeeper(t)}
	b.scope.SourceID = 1
	n := checkpoint.NewSource{Name: "demo", BaseURL: "http://127.0.0.1:1", Definition: "name: demo\n", Stage: checkpoint.StageSandbox}
	if _, err := b.AddSource(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got := planSome(t, b, 1200, 0); got != checkpoint.SandboxTargets {
		t.Errorf("planned %d targets", got)
	}
	if got := storetest.Table(t, b.DB(), `SELECT count(*) FROM cities`); got[0] != "500" {
		t.Errorf("%s cities are stored, want those of one transaction", got[0])
	}
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	b := &bundle{Keeper: emptyKeeper(t)}
	b.scope.SourceID = 1
	n := checkpoint.NewSource{Name: "demo", BaseURL: "http://127.0.0.1:1", Definition: "name: demo\n", Stage: checkpoint.StageSandbox}
	if _, err := b.AddSource(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	limit := func(want int) {
		t.Helper()
		if got, err := b.PlanLimit(t.Context(), 1); err != nil || got != want {
			t.Errorf("limit %d, %v: want %d", got, err, want)
		}
	}
	limit(10)
	if got := planSome(t, b, 3, 0); got != 3 {
		t.Errorf("planned %d of 3", got)
	}
	limit(7)
	if got := planSome(t, b, 5, 0); got != 2 { // three of them are there
		t.Errorf("planned %d new ones of 5, want 2", got)
	}
	if got := planSome(t, b, 50, 0); got != 5 {
		t.Errorf("planned %d, want the 5 there is room for", got)
	}
	limit(0)
	if got := planSome(t, b, 50, 0); got != 0 {
		t.Errorf("planned %d in a full sandbox", got)
	}
	if before, err := b.Promote(t.Context(), "demo"); err != nil || before != checkpoint.StageSandbox {
		t.Error(before, err)
	}
	limit(-1)
	if got := planSome(t, b, 50, 0); got != 40 {
		t.Errorf("planned %d of an active source, want 40", got)
	}
	if _, err := b.PlanLimit(t.Context(), 99); err == nil {
		t.Error("a source that is not there has a limit")
	}
}
