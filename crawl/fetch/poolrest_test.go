package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestProxyRest: ten failures in a row, over half a minute, are an hour's rest, and sooner a pause of 5 s. A success in
// between starts the count anew, and ends a pause; what comes in during the rest or the pause changes nothing of it; after it
// a proxy is on probation until a request succeeds. The words are what is reported, "-" a failure and "+" a success, and
// the time that passes.
func TestProxyRest(t *testing.T) {
	const nine = "---------"
	const slow = "- 30s --------"                       // nine as well
	for words, rests := range map[string]time.Duration{ // the rest of its rest, 0 = it is active
		nine:                                   0,
		slow:                                   0,
		slow + "-":                             time.Hour,
		slow + "- 59m59s":                      time.Second,
		slow + "- 1h":                          0,
		slow + "------ 1h":                     0,
		nine + "+" + nine + "+" + nine + "+":   0,
		slow + "- 1h -":                        time.Hour,
		slow + "- 1h + -":                      0,
		slow + "- 1m - +":                      59 * time.Minute,
		slow + "- 1m + 59m":                    0,
		slow + "- 1h - 59m " + nine + " 1m":    0,
		slow + "- 1h - 59m " + nine + " 30s +": 30 * time.Second,

		nine + "-":                               yp.ProxyPause, // one that starts anew loses no hour
		nine + "- 44ms +":                        0,
		nine + "- 4s -":                          time.Second,
		nine + "- 5s":                            0,
		nine + "- 5s -":                          yp.ProxyPause,
		nine + "- 5s ----":                       yp.ProxyPause,
		nine + "- 5s + " + nine:                  0,
		nine + "- 5s - 5s - 5s - 5s - 5s":        0,
		nine + "- 5s - 5s - 5s - 5s - 5s -":      yp.ProxyPause,
		nine + "- 5s - 5s - 5s - 5s - 5s - 5s -": time.Hour,
		nine + "- 29s -":                         yp.ProxyPause,
		nine + "- 30s -":                         time.Hour,
		nine + " 29s -":                          yp.ProxyPause,
		nine + " 30s -":                          time.Hour,
		nine + " 30s + " + nine + "-":            yp.ProxyPause, // the half minute is of these failures

		"- 3s - 3s - 3s - 3s - 3s - 3s - 3s - 3s - 3s -": yp.ProxyPause,
		"- 4s - 4s - 4s - 4s - 4s - 4s - 4s - 4s - 4s -": time.Hour,
	} {
		t.Run(words, func(t *testing.T) {
			p := newPoolOf(t, PolicyRequire, 1)
			s := p.take(t)
			for word := range strings.FieldsSeq(words) {
				if d, err := time.ParseDuration(word); err == nil {
					p.now = p.now.Add(d)
					continue
				}
				for _, c := range word {
					p.Report(s, map[rune]error{'-': errBroken}[c])
				}
			}
			want := time.Time{}
			if rests > 0 {
				want = p.now.Add(rests)
			}
			until := s.member.CooldownUntil
			if s.member.paused.After(until) {
				until = s.member.paused
			}
			if (p.Active() == 1) != (rests == 0) || rests > 0 && !until.Equal(want) {
				t.Errorf("%d active, rests until %s, want %s", p.Active(), until, want)
			}
		})
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
	t.Run("one that is gone is not handed out, and its sessions are replaced", func(t *testing.T) {
		p := newPoolOf(t, PolicyRequire, 2)
		a, b := p.take(t), p.take(t)
		p.Update(p.as(nil, 2))
		p.keeps(t, b)
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
		storetest.Equal(t, p.Active(), 1, "active")
	})
	t.Run("all gone", func(t *testing.T) {
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
	t.Run("a rest ordered elsewhere, and probation after it", func(t *testing.T) {
		p := newPoolOf(t, PolicyRequire, 2)
		s := p.take(t)
		until := p.now.Add(time.Minute)
		p.Update(p.as(func(x *Proxy) {
			if x.ID == 1 {
				x.Consecutive, x.CooldownUntil = 10, until
			}
		}, 1, 2))
		if p.Active() != 1 || !s.member.CooldownUntil.Equal(until) {
			t.Errorf("%d active, the first back at %s", p.Active(), s.member.CooldownUntil)
		}
		p.now = until
		p.Report(s, errBroken)
		if p.Active() != 1 || !s.member.CooldownUntil.Equal(until.Add(yp.ProxyRest)) {
			t.Errorf("after a failure more: %d active", p.Active())
		}
	})
	t.Run("a rest that was ended elsewhere", func(t *testing.T) {
		p := newPoolOf(t, PolicyRequire, 1)
		s := p.take(t)
		p.rest(s)
		p.Update(p.as(nil, 1)) // an operator has enabled it
		p.Report(s, errBroken)
		storetest.Equal(t, p.Active(), 1, "active: it neither rests on nor is on probation")
	})
	t.Run("without a policy", func(t *testing.T) {
		p := newPoolOf(t, PolicyOff, 0)
		p.Update([]Proxy{{ID: 1, URL: parse(t, "http://proxy3:1"), Name: "http://proxy3:1"}})
		if s := p.take(t); s != p.client.direct || p.Active() != 0 {
			t.Errorf("took %v, %d active", s, p.Active())
		}
	})
}

func TestChanged(t *testing.T) {
	p := newPoolOf(t, PolicyPrefer, 1)
	s := p.take(t)
	p.Report(s, fmt.Errorf("no way with pw, %w", errBroken))
	p.Report(s, nil)
	for range yp.ProxyFailures {
		p.Report(s, &Error{Class: yp.ClassTimeout, Err: errors.New("no way with pw")})
		s.member.FailingSince = p.now.Add(-yp.ProxySpread)
	}
	p.Report(nil, errBroken)             // nobody's
	p.Report(p.client.direct, errBroken) // and nobody to blame
	if len(p.changes) != 12 {
		t.Fatalf("%d changes", len(p.changes))
	}
	want := []ProxyState{
		{ID: 1, Failures: 1, Consecutive: 1, FailingSince: p.now, LastFailure: p.now, LastError: "failed"},
		{ID: 1, Successes: 1},
		{ID: 1, Failures: 1, Consecutive: 10, FailingSince: p.now.Add(-yp.ProxySpread), LastFailure: p.now, CooldownUntil: p.now.Add(yp.ProxyRest), LastError: "timeout"},
	}
	storetest.Diff(t, []ProxyState{p.changes[0], p.changes[1], p.changes[11]}, want)
}

// A required proxy that pauses is waited for; where proxies are preferred it is passed over; and of
// one that is dead two lines tell, that it fails and that it rests.
func TestPause(t *testing.T) {
	var lines bytes.Buffer
	p := newPoolOf(t, PolicyRequire, 1)
	p.Pool.client.log = zerolog.New(&lines)
	broken := &Error{Proxy: true, Class: yp.ClassConnectionRefused}
	s := p.take(t)
	for range yp.ProxyFailures {
		p.Report(s, broken)
	}
	p.now = p.now.Add(time.Second)
	for _, with := range []*Session{s, nil} {
		if _, err := p.Keep(with); !errors.Is(err, ErrNoProxies) || p.Back() != yp.ProxyPause-time.Second {
			t.Errorf("kept: %v, and one is back in %v", err, p.Back())
		}
	}
	for range 6 {
		p.now = p.now.Add(yp.ProxyPause)
		p.keeps(t, s)
		p.Report(s, broken)
	}
	if _, err := p.Keep(s); !errors.Is(err, ErrNoProxies) {
		t.Errorf("after half a minute: %v", err)
	}
	if n := strings.Count(lines.String(), "a proxy failed"); n != 1 || strings.Count(lines.String(), "\n") != 2 || !strings.Contains(lines.String(), "a proxy is cooling down") {
		t.Errorf("it tells %s", lines.String())
	}

	prefer := newPoolOf(t, PolicyPrefer, 1)
	s = prefer.take(t)
	for range yp.ProxyFailures {
		prefer.Report(s, broken)
	}
	if s, err := prefer.Keep(s); err != nil || s != prefer.client.direct {
		t.Errorf("kept %v, %v", s, err)
	}
	prefer.now = prefer.now.Add(yp.ProxyPause)
	if s, err := prefer.Keep(prefer.client.direct); err != nil || number(s) != 0 {
		t.Errorf("after the pause: %v, %v", s, err)
	}
	prefer.Report(s, broken)
	prefer.Update(prefer.as(nil, 1)) // an operator has enabled it
	if prefer.Active() != 1 {
		t.Error("it pauses on")
	}
}
