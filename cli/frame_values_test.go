package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// TestValues: what each kind of value takes and how it is written again, and what it refuses.
func TestValues(t *testing.T) {
	t.Parallel()
	const (
		minutes = "want minutes (120) or a time with a unit (90s, 2h, 1d12h)"
		pause   = "want a pause like 2s, a range like 1s-3s, or 0"
		pages   = "want a number of pages from 1 up, or all"
		share   = "want a share from 0% to 100%, like 10%"
		unit    = "a unit is missing: write "
	)
	for kind, c := range map[string]struct {
		fresh   func() cli.Generic
		takes   map[string]string // what is typed: what it reads as
		refuses map[string]string // what is typed: the error
	}{
		"minutes": {
			func() cli.Generic { return minutesValue(time.Hour) },
			map[string]string{"120": "2h", "0.5": "30s", "0": "0", "2h": "2h", "90s": "1m30s", "1h30m": "1h30m", "1d12h": "36h", " 5 ": "5m"},
			map[string]string{
				"soon": minutes, "": minutes, "1.2.3": minutes, ".": minutes, "5y": minutes, "h": minutes, "1h30": minutes, "-5m": errNegative.Error(),
				"1000000d": minutes, "99999999999999999999": minutes, "876000h876000h": minutes, // too long
			},
		},
		"age": {
			func() cli.Generic { return ageValue(0) },
			map[string]string{"2d": "2d", "1w1d": "8d", "0.5d": "12h", "0": "0"},
			map[string]string{"2": unit + "2s, 2m, 2h or 2d", "yesterday": errNoTime.Error()},
		},
		"delay": {
			func() cli.Generic { return delayValue(0) },
			map[string]string{"2s": "2s", "1s-3s": "1s-3s", "0": "0", "0-500ms": "0-500ms"},
			map[string]string{
				"3s-1s": "the range runs backwards; write 1s-3s", "2": unit + "2s, 2m, 2h or 2d", "1-3": unit + "1s, 1m, 1h or 1d", "1-3s": unit + "1s, 1m, 1h or 1d",
				"1.2.3": pause, "1s-": pause, "-2s": errNegative.Error(), "1s-2s-3s": pause,
			},
		},
		"days": {
			func() cli.Generic { return daysValue(0) },
			map[string]string{"90": "90d", "0": "0", "90d": "90d", "2w": "14d", "36h": "36h"},
			map[string]string{"long": "want days (90) or a time with a unit (90s, 2h, 1d12h)"},
		},
		"pages": {
			func() cli.Generic { return countValue("pages") },
			map[string]string{"3": "3", "ALL": "all"},
			map[string]string{"0": pages, "-1": pages, "many": pages},
		},
		"share": {
			func() cli.Generic { return shareValue(0) },
			map[string]string{"10%": "10%", " 2.5 % ": "2.5%", "100%": "100%"},
			map[string]string{"10": share, "101%": share, "-1%": share, "NaN%": share, "": share}, // 10: or a tenth?
		},
	} {
		for text, want := range c.takes {
			v, again := c.fresh(), c.fresh()
			if err := v.Set(text); err != nil || v.String() != want {
				t.Errorf("%s %q: got %v, %v; want %s", kind, text, v, err, want)
			}
			if again.Set(v.String()) != nil || again.String() != v.String() {
				t.Errorf("%s %s does not read back", kind, v)
			}
		}
		for text, want := range c.refuses {
			v := c.fresh()
			if err := v.Set(text); err == nil || err.Error() != want {
				t.Errorf("%s %q: got %v (%v), want error %q", kind, text, v, err, want)
			}
		}
	}
}

// TestEveryTime holds the rule of `help settings` for each flag that takes a length of time: a unit is wanted, but for
// those whose help says MINUTES or DAYS. No other flag takes one as a bare number.
func TestEveryTime(t *testing.T) {
	t.Parallel()
	app := Standard("").app()
	if _, err := Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	bare := map[string]time.Duration{"TIME": 0, "MINUTES": time.Minute, "DAYS": day}
	counted := map[string]int{}
	flags, _ := app.flagsOf()
	for _, f := range flags {
		d, ok := f.Flag.(cli.DocGenerationFlag)
		if !ok || !d.TakesValue() {
			continue
		}
		name, _ := describeFlag(d)
		takes := name[strings.LastIndex(name, " ")+1:]
		unit, timed := bare[takes]
		read := func(string) error { return errNoTime }
		var got func() time.Duration
		if g, ok := f.Flag.(*cli.GenericFlag); ok {
			read = g.Value.Set
			switch v := g.Value.(type) {
			case *value[time.Duration]:
				got = func() time.Duration { return v.v }
			case *value[delay]:
				got = func() time.Duration { return v.v.longest }
			}
		}
		if timed != (got != nil) {
			t.Errorf("%s %s: what takes a length of time says TIME, MINUTES or DAYS, and nothing else does", f.command, name)
			continue
		}
		if !timed {
			continue
		}
		counted[takes]++
		for text, want := range map[string]time.Duration{"3s": 3 * time.Second, "2h": 2 * time.Hour, "2d": 2 * day, "1w": 7 * day, "1d12h": 36 * time.Hour, "0": 0} {
			if err := read(text); err != nil || got() != want {
				t.Errorf("%s --%s %s: got %v, %v", f.command, f.name, text, got(), err)
			}
		}
		switch err := read("3"); {
		case unit == 0 && (err == nil || !strings.HasPrefix(err.Error(), "a unit is missing: write 3s, 3m, 3h")):
			t.Errorf("%s --%s 3: got %v, %v; want the right form", f.command, f.name, got(), err)
		case unit > 0 && (err != nil || got() != 3*unit):
			t.Errorf("%s --%s 3: got %v, %v; want 3 %s", f.command, f.name, got(), err, takes)
		}
	}
	if len(counted) != 3 || counted["TIME"] < 13 {
		t.Errorf("only %v flags were looked at", counted)
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"120", "2h", "1s-3s", "all", "64MB", "1d12h", "-", "..", "1e9h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, fresh := range []func() cli.Generic{
			func() cli.Generic { return ageValue(0) },
			func() cli.Generic { return delayValue(0) },
			func() cli.Generic { return countValue("pages") },
		} {
			v, again := fresh(), fresh()
			if v.Set(s) != nil {
				continue
			}
			if err := again.Set(v.String()); err != nil || again.String() != v.String() {
				t.Fatalf("%T: %q reads as %q, which reads as %q, %v", v, s, v, again, err)
			}
		}
	})
}
