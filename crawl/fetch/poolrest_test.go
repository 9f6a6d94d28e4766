package fetch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// The nth failure in a row, and the time after the tenth.
func TestProxyRest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		failures int
		after    time.Duration
		active   bool
	}{
		{"9 failures", 9, 0, true},
		{"10 failures", 10, 0, false},
		{"10 failures, a second before the hour", 10, 60*time.Minute - time.Second, false},
		{"10 failures, an hour ago", 10, 60 * time.Minute, true},
		{"15 failures, an hour ago", 15, 60 * time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPoolOf(t, PolicyRequire, 1)
			s := p.take(t)
			start := p.now
			for range tt.failures {
				p.Report(s, errBroken)
			}
			p.now = start.Add(tt.after)
			if (p.Active() == 1) != tt.active {
				t.Errorf("%d active", p.Active())
			}
			want := time.Time{}
			if !tt.active {
				want = start.Add(ProxyRest)
			}
			if got := p.nextReturn(); !got.Equal(want) {
				t.Errorf("returns at %s, want %s", got, want)
			}
		})
	}
}

// Ten in a row: a success in between starts the count anew.
func TestSuccessClearsTheCount(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 1)
	s := p.take(t)
	for range 3 {
		for range 9 {
			p.Report(s, errBroken)
		}
		p.Report(s, nil)
	}
	if p.Active() != 1 {
		t.Error("rests")
	}
}

// After its rest a proxy is on probation until a request succeeds.
func TestProbation(t *testing.T) {
	t.Parallel()
	for _, redeemed := range []bool{false, true} {
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.rest(s)
		p.now = p.now.Add(ProxyRest)
		if redeemed {
			p.Report(s, nil)
		}
		p.Report(s, errBroken)
		if (p.Active() == 1) != redeemed {
			t.Errorf("redeemed %v: %d active", redeemed, p.Active())
		}
		if want := p.now.Add(ProxyRest); !redeemed && !p.nextReturn().Equal(want) {
			t.Errorf("returns at %s, want %s", p.nextReturn(), want)
		}
	}
}

// What comes in late changes nothing of a rest.
func TestReportsDuringRest(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 1)
	s := p.take(t)
	p.rest(s)
	until := p.nextReturn()
	p.now = p.now.Add(time.Minute)
	p.Report(s, errBroken)
	p.Report(s, nil)
	if p.Active() != 0 || !p.nextReturn().Equal(until) {
		t.Errorf("%d active, returns at %s, want %s", p.Active(), p.nextReturn(), until)
	}
}

// What another process has written counts from the start.
func TestProxiesAsLoaded(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyRequire, 3)
	p.members[0].Consecutive, p.members[0].CooldownUntil = 10, p.now.Add(time.Minute)
	p.members[1].Consecutive = 9
	p.members[2].Consecutive, p.members[2].CooldownUntil = 12, p.now.Add(-time.Minute)
	if p.Active() != 2 {
		t.Errorf("%d active", p.Active())
	}
	for range 2 {
		p.Report(p.take(t), errBroken)
	}
	if p.Active() != 0 {
		t.Errorf("%d active after a failure of each", p.Active())
	}
}

// as is the pool's proxies as the table has them: those of the numbers, changed by
// each.
func (p *poolOf) as(each func(*Proxy), ids ...int64) []Proxy {
	var rows []Proxy
	for _, m := range p.members {
		if slices.Contains(ids, m.ID) {
			x := Proxy{ID: m.ID, URL: m.URL, Name: m.Name}
			if each != nil {
				each(&x)
			}
			rows = append(rows, x)
		}
	}
	return rows
}

// TestUpdate: what an operator or another process does to the proxies holds for the
// pool, too.
func TestUpdate(t *testing.T) {
	t.Parallel()
	t.Run("one that is gone is not handed out, and its sessions are replaced", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 2)
		a, b := p.take(t), p.take(t)
		p.Update(p.as(nil, 2))
		if kept, err := p.Keep(b); kept != b || err != nil {
			t.Errorf("of the one that stays: %v, %v", kept, err)
		}
		fresh, err := p.Keep(a)
		if err != nil || number(fresh) != 1 || !a.closed.Load() {
			t.Errorf("of the one that is gone: %v, %v", fresh, err)
		}
		p.Report(a, errBroken) // comes in late
		for range 4 {
			if s := p.take(t); number(s) != 1 {
				t.Errorf("took %v", s)
			}
		}
		if p.Active() != 1 {
			t.Errorf("%d active", p.Active())
		}
	})
	t.Run("all gone", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.Update(nil)
		if _, err := p.Keep(s); !errors.Is(err, ErrNoProxies) || !strings.Contains(err.Error(), "none is known") {
			t.Errorf("kept: %v", err)
		}
		prefer := newPoolOf(t, PolicyPrefer, 1)
		s = prefer.take(t)
		prefer.Update(nil)
		if s, err := prefer.Keep(s); err != nil || s != prefer.client.direct {
			t.Errorf("to prefer: %v, %v", s, err)
		}
	})
	t.Run("back again, and new ones", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyPrefer, 2)
		rows := p.as(nil, 1, 2)
		p.Update(nil)
		s := p.take(t)
		p.Update(append(rows, Proxy{ID: 3, URL: parse(t, "http://proxy3:1"), Name: "http://proxy3:1"}))
		s, err := p.Keep(s)
		if err != nil || number(s) == -1 {
			t.Fatalf("direct, with a proxy back: %v, %v", s, err)
		}
		numbers := map[int]bool{number(s): true, number(p.take(t)): true, number(p.take(t)): true}
		if len(numbers) != 3 || p.Active() != 3 {
			t.Errorf("took %v, %d active", numbers, p.Active())
		}
	})
	t.Run("the score of one that stays", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		for range 9 {
			p.Report(s, errBroken)
		}
		p.Update(p.as(nil, 1))
		p.Report(s, errBroken)
		if p.Active() != 0 {
			t.Error("the failures before were forgotten")
		}
		p.Update(p.as(nil, 1)) // read before the rest was written
		if p.Active() != 0 {
			t.Error("the rest was forgotten")
		}
	})
	t.Run("a rest ordered elsewhere, and probation after it", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 2)
		s := p.take(t)
		until := p.now.Add(time.Minute)
		p.Update(p.as(func(x *Proxy) {
			if x.ID == 1 {
				x.Consecutive, x.CooldownUntil = 10, until
			}
		}, 1, 2))
		if p.Active() != 1 || !p.nextReturn().Equal(until) {
			t.Errorf("%d active, the first back at %s", p.Active(), p.nextReturn())
		}
		p.now = until
		p.Report(s, errBroken)
		if p.Active() != 1 || !p.nextReturn().Equal(until.Add(ProxyRest)) {
			t.Errorf("after a failure more: %d active", p.Active())
		}
	})
	t.Run("a rest that was ended elsewhere", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.rest(s)
		until := p.nextReturn().Truncate(time.Millisecond)
		p.Update(p.as(func(x *Proxy) { x.Consecutive, x.CooldownUntil = 10, until }, 1))
		if p.Active() != 0 {
			t.Error("the rest was forgotten")
		}
		p.Update(p.as(nil, 1)) // an operator has enabled it
		p.Report(s, errBroken)
		if p.Active() != 1 {
			t.Error("it rests on, or is on probation")
		}
	})
	t.Run("without a policy", func(t *testing.T) {
		t.Parallel()
		p := newPoolOf(t, PolicyOff, 0)
		p.Update([]Proxy{{ID: 1, URL: parse(t, "http://proxy3:1"), Name: "http://proxy3:1"}})
		if s := p.take(t); s != p.client.direct || p.Active() != 0 {
			t.Errorf("took %v, %d active", s, p.Active())
		}
	})
}

func TestChanged(t *testing.T) {
	t.Parallel()
	p := newPoolOf(t, PolicyPrefer, 1)
	s := p.take(t)
	p.Report(s, fmt.Errorf("no way with pw, %w", errBroken))
	p.Report(s, nil)
	for range ProxyFailures {
		p.Report(s, &Error{Class: yp.ClassTimeout, Err: errors.New("no way with pw")})
	}
	p.Report(nil, errBroken)             // nobody's
	p.Report(p.client.direct, errBroken) // and nobody to blame
	if len(p.changes) != 12 {
		t.Fatalf("%d changes", len(p.changes))
	}
	want := []ProxyState{
		{ID: 1, Failures: 1, Consecutive: 1, LastError: "failed"},
		{ID: 1, Successes: 1},
		{ID: 1, Failures: 1, Consecutive: 10, CooldownUntil: p.now.Add(ProxyRest), LastError: "timeout"},
	}
	if diff := cmp.Diff(want, []ProxyState{p.changes[0], p.changes[1], p.changes[11]}); diff != "" {
		t.Error(diff)
	}
}
