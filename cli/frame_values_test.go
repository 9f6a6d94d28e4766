package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// valueTest gives a text and what its value reads as, or the error.
type valueTest struct{ in, want, err string }

func testValues(t *testing.T, fresh func() cli.Generic, tests map[string]valueTest) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := fresh()
			err := v.Set(tt.in)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("%q: got %v (%v), want error %q", tt.in, v, err, tt.err)
				}
				return
			}
			if err != nil || v.String() != tt.want {
				t.Fatalf("%q: got %v, %v; want %s", tt.in, v, err, tt.want)
			}
			if again := fresh(); again.Set(v.String()) != nil || again.String() != v.String() {
				t.Errorf("%s does not read back", v)
			}
		})
	}
}

func TestMinutes(t *testing.T) {
	t.Parallel()
	const wrong = "want minutes (120) or a time with a unit (90s, 2h, 1d12h)"
	testValues(t, func() cli.Generic { return minutesValue(time.Hour) }, map[string]valueTest{
		"bare number":     {in: "120", want: "2h"},
		"bare fraction":   {in: "0.5", want: "30s"},
		"bare zero":       {in: "0", want: "0"},
		"hours":           {in: "2h", want: "2h"},
		"seconds":         {in: "90s", want: "1m30s"},
		"mixed":           {in: "1h30m", want: "1h30m"},
		"days":            {in: "1d12h", want: "36h"},
		"surrounding":     {in: " 5 ", want: "5m"},
		"word":            {in: "soon", err: wrong},
		"empty":           {in: "", err: wrong},
		"two points":      {in: "1.2.3", err: wrong},
		"point":           {in: ".", err: wrong},
		"unknown unit":    {in: "5y", err: wrong},
		"unit only":       {in: "h", err: wrong},
		"number at end":   {in: "1h30", err: wrong},
		"negative":        {in: "-5m", err: errNegative.Error()},
		"too long":        {in: "1000000d", err: wrong},
		"too long bare":   {in: "99999999999999999999", err: wrong},
		"too long by sum": {in: "876000h876000h", err: wrong},
	})
}

func TestAge(t *testing.T) {
	t.Parallel()
	testValues(t, func() cli.Generic { return ageValue(0) }, map[string]valueTest{
		"days":         {in: "2d", want: "2d"},
		"weeks":        {in: "1w1d", want: "8d"},
		"half a day":   {in: "0.5d", want: "12h"},
		"zero":         {in: "0", want: "0"},
		"without unit": {in: "2", err: "a unit is missing: write 2s, 2m, 2h or 2d"},
		"word":         {in: "yesterday", err: errNoTime.Error()},
	})
}

func TestDelay(t *testing.T) {
	t.Parallel()
	testValues(t, func() cli.Generic { return delayValue(0) }, map[string]valueTest{
		"pause":         {in: "2s", want: "2s"},
		"range":         {in: "1s-3s", want: "1s-3s"},
		"none":          {in: "0", want: "0"},
		"from none":     {in: "0-500ms", want: "0-500ms"},
		"backwards":     {in: "3s-1s", err: "the range runs backwards; write 1s-3s"},
		"without unit":  {in: "2", err: "a unit is missing: write 2s, 2m, 2h or 2d"},
		"range without": {in: "1-3", err: "a unit is missing: write 1s, 1m, 1h or 1d"},
		"range, half":   {in: "1-3s", err: "a unit is missing: write 1s, 1m, 1h or 1d"},
		"two points":    {in: "1.2.3", err: "want a pause like 2s, a range like 1s-3s, or 0"},
		"half a range":  {in: "1s-", err: "want a pause like 2s, a range like 1s-3s, or 0"},
		"negative":      {in: "-2s", err: errNegative.Error()},
		"three numbers": {in: "1s-2s-3s", err: "want a pause like 2s, a range like 1s-3s, or 0"},
	})
}

func TestDays(t *testing.T) {
	t.Parallel()
	testValues(t, func() cli.Generic { return daysValue(0) }, map[string]valueTest{
		"bare number": {in: "90", want: "90d"},
		"bare zero":   {in: "0", want: "0"},
		"days":        {in: "90d", want: "90d"},
		"weeks":       {in: "2w", want: "14d"},
		"hours":       {in: "36h", want: "36h"},
		"word":        {in: "long", err: "want days (90) or a time with a unit (90s, 2h, 1d12h)"},
	})
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
	flags, _ := flagsOf(app)
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

func TestPages(t *testing.T) {
	t.Parallel()
	const wrong = "want a number of pages from 1 up, or all"
	testValues(t, func() cli.Generic { return countValue("pages") }, map[string]valueTest{
		"number":   {in: "3", want: "3"},
		"all":      {in: "ALL", want: "all"},
		"zero":     {in: "0", err: wrong},
		"negative": {in: "-1", err: wrong},
		"word":     {in: "many", err: wrong},
	})
}

func TestValuesOfFlags(t *testing.T) {
	t.Parallel()
	app := &cli.App{
		Name: "ypcrawl",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "timeout", Value: minutesValue(time.Hour)},
			&cli.GenericFlag{Name: "delay", Value: delayValue(time.Second)},
			&cli.GenericFlag{Name: "max-pages", Value: countValue("pages")},
		},
		Action: func(c *cli.Context) error {
			low, high := delayOf(c, "delay")
			if low != time.Second || high != 3*time.Second {
				t.Errorf("delay %v-%v", low, high)
			}
			if timeOf(c, "timeout") != time.Hour || countOf(c, "max-pages") != -1 {
				t.Errorf("timeout %v, max-pages %v", timeOf(c, "timeout"), countOf(c, "max-pages"))
			}
			return nil
		},
	}
	args, err := Prepare(app, []string{"ypcrawl", "--delay", "1s-3s", "--max-pages", "all"})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(args); err != nil {
		t.Fatal(err)
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

func TestShare(t *testing.T) {
	t.Parallel()
	const wrong = "want a share from 0% to 100%, like 10%"
	testValues(t, func() cli.Generic { return shareValue(0) }, map[string]valueTest{
		"percent":     {in: "10%", want: "10%"},
		"fraction":    {in: " 2.5 % ", want: "2.5%"},
		"all":         {in: "100%", want: "100%"},
		"bare number": {in: "10", err: wrong}, // or a tenth?
		"too much":    {in: "101%", err: wrong},
		"negative":    {in: "-1%", err: wrong},
		"no number":   {in: "NaN%", err: wrong},
		"empty":       {in: "", err: wrong},
	})
}
