package frame

import (
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
			func() cli.Generic { return MinutesValue(time.Hour) },
			map[string]string{"120": "2h", "0.5": "30s", "0": "0", "2h": "2h", "90s": "1m30s", "1h30m": "1h30m", "1d12h": "36h", " 5 ": "5m"},
			map[string]string{
				"soon": minutes, "": minutes, "1.2.3": minutes, ".": minutes, "5y": minutes, "h": minutes, "1h30": minutes, "-5m": errNegative.Error(),
				"1000000d": minutes, "99999999999999999999": minutes, "876000h876000h": minutes, // too long
			},
		},
		"age": {
			func() cli.Generic { return AgeValue(0) },
			map[string]string{"2d": "2d", "1w1d": "8d", "0.5d": "12h", "0": "0"},
			map[string]string{"2": unit + "2s, 2m, 2h or 2d", "yesterday": errNoTime.Error()},
		},
		"delay": {
			func() cli.Generic { return DelayValue(0) },
			map[string]string{"2s": "2s", "1s-3s": "1s-3s", "0": "0", "0-500ms": "0-500ms"},
			map[string]string{
				"3s-1s": "the range is reversed; write 1s-3s", "2": unit + "2s, 2m, 2h or 2d", "1-3": unit + "1s, 1m, 1h or 1d", "1-3s": unit + "1s, 1m, 1h or 1d",
				"1.2.3": pause, "1s-": pause, "-2s": errNegative.Error(), "1s-2s-3s": pause,
			},
		},
		"days": {
			func() cli.Generic { return DaysValue(0) },
			map[string]string{"90": "90d", "0": "0", "90d": "90d", "2w": "14d", "36h": "36h"},
			map[string]string{"long": "want days (90) or a time with a unit (90s, 2h, 1d12h)"},
		},
		"pages": {
			func() cli.Generic { return CountValue("pages") },
			map[string]string{"3": "3", "ALL": "all"},
			map[string]string{"0": pages, "-1": pages, "many": pages},
		},
		"share": {
			func() cli.Generic { return ShareValue(0) },
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

func FuzzValues(f *testing.F) {
	for _, s := range []string{"120", "2h", "1s-3s", "all", "64MB", "1d12h", "-", "..", "1e9h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, fresh := range []func() cli.Generic{
			func() cli.Generic { return AgeValue(0) },
			func() cli.Generic { return DelayValue(0) },
			func() cli.Generic { return CountValue("pages") },
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
