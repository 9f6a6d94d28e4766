package checkpoint_test

import (
	"errors"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

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
		"host of another name":  {sourceAt("acme2", "http://www.ACME.com.", checkpoint.StageSandbox), "https://acme.com is the source acme already"},
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
