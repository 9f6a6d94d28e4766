package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/yp"
)

// TestEveryTime holds the rule of `help settings` for each flag that takes a length of time: a unit is wanted, but for
// those whose help says MINUTES or DAYS. No other flag takes one as a bare number.
func TestEveryTime(t *testing.T) {
	t.Parallel()
	app := Standard("").app()
	if _, err := frame.Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	bare := map[string]time.Duration{"TIME": 0, "MINUTES": time.Minute, "DAYS": frame.Day}
	counted := map[string]int{}
	flags, _ := app.Settable()
	for _, f := range flags {
		d, ok := f.Flag.(cli.DocGenerationFlag)
		if !ok || !d.TakesValue() {
			continue
		}
		name, _ := frame.DescribeFlag(d)
		takes := name[strings.LastIndex(name, " ")+1:]
		unit, timed := bare[takes]
		g, ok := f.Flag.(*cli.GenericFlag)
		if takesTime := ok && g.Value.Set("1d12h") == nil; timed != takesTime {
			t.Errorf("%s %s: what takes a length of time says TIME, MINUTES or DAYS, and nothing else does", f.Command, name)
			continue
		}
		if !timed {
			continue
		}
		counted[takes]++
		for text, want := range map[string]time.Duration{"3s": 3 * time.Second, "2h": 2 * time.Hour, "2d": 2 * frame.Day, "1w": 7 * frame.Day, "1d12h": 36 * time.Hour, "0": 0} {
			if err := g.Value.Set(text); err != nil || g.Value.String() != yp.ShortTime(want) {
				t.Errorf("%s --%s %s: got %v, %v", f.Command, f.Name, text, g.Value, err)
			}
		}
		switch err := g.Value.Set("3"); {
		case unit == 0 && (err == nil || !strings.HasPrefix(err.Error(), "a unit is missing: write 3s, 3m, 3h")):
			t.Errorf("%s --%s 3: got %v, %v; want the right form", f.Command, f.Name, g.Value, err)
		case unit > 0 && (err != nil || g.Value.String() != yp.ShortTime(3*unit)):
			t.Errorf("%s --%s 3: got %v, %v; want 3 %s", f.Command, f.Name, g.Value, err, takes)
		}
	}
	if len(counted) != 3 || counted["TIME"] < 13 {
		t.Errorf("only %v flags were looked at", counted)
	}
}

// TestPathFlags checks that each flag whose help says FILE or FOLDER is known as a path.
func TestPathFlags(t *testing.T) {
	t.Parallel()
	app, path := (&Program{}).app(), regexp.MustCompile("`(FILE|FOLDER)`")
	check := func(flags []cli.Flag) {
		for _, f := range flags {
			s, ok := f.(*cli.StringFlag)
			if usage := f.(cli.DocGenerationFlag).GetUsage(); path.MatchString(usage) && (!ok || !s.TakesFile) {
				t.Errorf("--%s: %s: TakesFile is missing", f.Names()[0], usage)
			}
		}
	}
	check(app.Flags)
	frame.EachCommand(app.Commands, func(cmd *cli.Command) { check(cmd.Flags) })
}
