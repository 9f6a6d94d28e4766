package health

import (
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const (
	urlA, nameA = "http://u:secret@a:8080", "http://u:xxxxx@a:8080"
	urlB, nameB = "socks5://b:1080", "socks5://b:1080"
)

func withProxies(t *testing.T) *world {
	t.Helper()
	w := setup(t)
	for url, name := range map[string]string{urlA: nameA, urlB: nameB} {
		added, err := w.AddProxy(t.Context(), url, name)
		if err != nil || !added {
			t.Fatal(added, err)
		}
	}
	must(t, w.db, `UPDATE proxies SET id = iif(name LIKE 'socks%', 20, 10)`)
	return w
}

func (w *world) proxies(t *testing.T) (a, b Proxy) {
	t.Helper()
	all, err := w.Proxies(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	return all[0], all[1]
}

func (w *world) countProxy(t *testing.T, id int64, use ProxyUse) error {
	t.Helper()
	return w.CountProxies(t.Context(), map[int64]ProxyUse{id: use})
}

func TestProxies(t *testing.T) {
	t.Parallel()
	t.Run("added once", func(t *testing.T) {
		t.Parallel()
		w := withProxies(t)
		if added, err := w.AddProxy(t.Context(), urlA, "again"); added || err != nil {
			t.Errorf("%v, %v", added, err)
		}
		a, b := w.proxies(t)
		want := []Proxy{
			{ID: 10, URL: urlA, Name: nameA, Enabled: true},
			{ID: 20, URL: urlB, Name: nameB, Enabled: true},
		}
		storetest.Diff(t, []Proxy{a, b}, want)
	})
	t.Run("disabled and removed", func(t *testing.T) {
		t.Parallel()
		w := withProxies(t)
		for id, want := range map[int64]bool{10: true, 20: true, 11: false} {
			if found, err := w.SetProxyEnabled(t.Context(), id, false); found != want || err != nil {
				t.Errorf("%d: found %v, %v", id, found, err)
			}
		}
		if a, b := w.proxies(t); a.Enabled || b.Enabled {
			t.Error("not disabled")
		}
		for id, want := range map[int64]bool{20: true, 21: false} {
			if found, err := w.RemoveProxy(t.Context(), id); found != want || err != nil {
				t.Errorf("%d: removed %v, %v", id, found, err)
			}
		}
		wantRows(t, w.db, `SELECT id FROM proxies`, "10")
	})
}

func TestCountProxy(t *testing.T) {
	t.Parallel()
	rest := noon.Add(yp.ProxyRest)
	w := withProxies(t)
	ok(t, w.countProxy(t, 10, ProxyUse{Successes: 5, Failures: 12, Consecutive: 10, CooldownUntil: rest, LastError: "refused"}))
	w.clock.Move(time.Minute)
	ok(t, w.countProxy(t, 10, ProxyUse{Failures: 1, Consecutive: 1})) // another process, which knows of no rest
	wantRows(t, w.db, `SELECT successes, failures, consecutive_failures, substr(last_used_at, 12, 8), last_error, substr(cooldown_until, 12, 8) FROM proxies ORDER BY id`,
		"5|13|11|12:01:00|refused|13:00:00", "0|0|0|||")
	t.Run("an operator ends its rest", func(t *testing.T) {
		_, err := w.SetProxyEnabled(t.Context(), 10, false)
		ok(t, err)
		if a, _ := w.proxies(t); a.Consecutive != 11 || a.CooldownUntil.IsZero() {
			t.Errorf("disabling has ended its rest: %+v", a)
		}
		_, err = w.SetProxyEnabled(t.Context(), 10, true)
		ok(t, err)
		if a, _ := w.proxies(t); a.Consecutive != 0 || !a.CooldownUntil.IsZero() {
			t.Errorf("%+v", a)
		}
	})
	t.Run("one that was removed", func(t *testing.T) {
		ok(t, w.countProxy(t, 99, ProxyUse{Successes: 1}))
	})
}

// score is what all processes together know of a proxy.
type score struct {
	inARow     int // failures
	restsUntil time.Time
}

// TestCountProxyOfMany: failures in a row are those of all processes.
func TestCountProxyOfMany(t *testing.T) {
	t.Parallel()
	rest := noon.Add(yp.ProxyRest)
	for _, tt := range []struct {
		name   string
		stored score
		use    ProxyUse
		want   score
	}{
		{"failures add up", score{inARow: 4}, ProxyUse{Failures: 3, Consecutive: 3}, score{inARow: 7}},
		{"and not what was counted before", score{inARow: 8}, ProxyUse{Failures: 1, Consecutive: 5}, score{inARow: 9}},
		{"ten are a rest", score{inARow: 4}, ProxyUse{Failures: 6, Consecutive: 6}, score{10, rest}},
		{"after the rest one is enough", score{10, noon}, ProxyUse{Failures: 1, Consecutive: 1}, score{11, rest}},
		{"a rest is not prolonged", score{10, noon.Add(time.Minute)}, ProxyUse{Failures: 1, Consecutive: 1}, score{11, noon.Add(time.Minute)}},
		{"its own rest", score{inARow: 2}, ProxyUse{Failures: 10, Consecutive: 10, CooldownUntil: noon.Add(time.Hour - time.Second)}, score{12, noon.Add(time.Hour - time.Second)}},
		{"the longer rest", score{10, rest}, ProxyUse{Failures: 1, Consecutive: 10, CooldownUntil: noon.Add(time.Minute)}, score{11, rest}},
		{"a success and then failures", score{inARow: 8}, ProxyUse{Successes: 1, Failures: 9, Consecutive: 3}, score{inARow: 3}},
		{"failures and then a success", score{inARow: 8}, ProxyUse{Successes: 1, Failures: 9}, score{}},
		{"a success ends the rest that another has ordered", score{10, rest}, ProxyUse{Successes: 1}, score{}},
		{"and not its own", score{10, rest}, ProxyUse{Successes: 1, CooldownUntil: rest}, score{0, rest}},
		{"a rest from before the clock was set back", score{10, noon.Add(48 * time.Hour)}, ProxyUse{Failures: 1, Consecutive: 1}, score{11, rest}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := withProxies(t)
			ok(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.Run(`UPDATE proxies SET consecutive_failures = ?, cooldown_until = ? WHERE id = 10`, tt.stored.inARow, stamp(tt.stored.restsUntil))
			}))
			ok(t, w.countProxy(t, 10, tt.use))
			if a, _ := w.proxies(t); a.Consecutive != tt.want.inARow || !a.CooldownUntil.Equal(tt.want.restsUntil) {
				t.Errorf("got %d, %s, want %v", a.Consecutive, a.CooldownUntil, tt.want)
			}
		})
	}
	t.Run("ten at once are no rest, and ten over half a minute are", func(t *testing.T) {
		t.Parallel()
		w := withProxies(t)
		now := func() time.Time { return w.clock.Now() }
		is := func(what string, inARow int, since, rest time.Time) {
			t.Helper()
			if a, _ := w.proxies(t); a.Consecutive != inARow || !a.FailingSince.Equal(since) || !a.CooldownUntil.Equal(rest) {
				t.Errorf("%s: %+v", what, a)
			}
		}
		first := now()
		ok(t, w.countProxy(t, 10, ProxyUse{Failures: 10, Consecutive: 10, FailingSince: first, LastFailure: first.Add(44 * time.Millisecond)}))
		is("at once", 10, first, time.Time{})
		w.clock.Move(20 * time.Second)
		ok(t, w.countProxy(t, 10, ProxyUse{Failures: 1, Consecutive: 1, FailingSince: now(), LastFailure: now()})) // another process
		is("over 20 s", 11, first, time.Time{})
		w.clock.Move(10 * time.Second)
		ok(t, w.countProxy(t, 10, ProxyUse{Failures: 1, Consecutive: 2, FailingSince: now(), LastFailure: now()}))
		is("over 30 s", 12, first, now().Add(yp.ProxyRest))
		ok(t, w.countProxy(t, 10, ProxyUse{Successes: 1}))
		is("after a success", 0, time.Time{}, time.Time{})
		again := now()
		w.clock.Move(time.Minute)
		ok(t, w.countProxy(t, 10, ProxyUse{Failures: 10, Consecutive: 10, FailingSince: again, LastFailure: again.Add(29 * time.Second)}))
		is("written later", 10, again, time.Time{})
		if _, err := w.SetProxyEnabled(t.Context(), 10, true); err != nil {
			t.Fatal(err)
		}
		is("enabled", 0, time.Time{}, time.Time{})
		ok(t, w.countProxy(t, 10, ProxyUse{Successes: 1, Failures: 10, Consecutive: 10, FailingSince: now().Add(time.Hour), LastFailure: now()}))
		is("begun in the future, by a clock that was set back", 10, now().Add(time.Hour), now().Add(yp.ProxyRest))
	})
	t.Run("in the database", func(t *testing.T) {
		t.Parallel()
		w := withProxies(t)
		for range 2 { // two processes, five failures each
			ok(t, w.CountProxies(t.Context(), map[int64]ProxyUse{10: {Failures: 5, Consecutive: 5}, 20: {Failures: 4, Consecutive: 4}, 99: {Failures: 1, Consecutive: 1}}))
		}
		a, b := w.proxies(t)
		if a.Consecutive != 10 || !a.CooldownUntil.Equal(rest) {
			t.Errorf("ten failures: %+v", a)
		}
		if b.Consecutive != 8 || !b.CooldownUntil.IsZero() {
			t.Errorf("eight failures: %+v", b)
		}
	})
}

func TestProxyUseThen(t *testing.T) {
	first := ProxyUse{Successes: 1, Failures: 2, Consecutive: 2, LastError: "first"}
	got := first.Then(ProxyUse{Failures: 8, Consecutive: 10, CooldownUntil: noon})
	if want := (ProxyUse{Successes: 1, Failures: 10, Consecutive: 10, CooldownUntil: noon, LastError: "first"}); got != want {
		t.Errorf("got %+v", got)
	}
	storetest.Equal(t, first.Then(ProxyUse{LastError: "second"}).LastError, "second", "the last error")
}
