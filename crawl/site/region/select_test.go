package region

import "testing"

func TestDemand(t *testing.T) {
	t.Parallel()
	for sel, want := range map[string]string{
		"a.b":                         ".b",
		"div #x":                      "#x",
		"h2.n a.c > span":             "tspan",
		".p a.next:not(.x)":           ".next",
		".p .next:not(.x > .y) > a":   "ta",
		`a[href*="/mip/"]`:            "ta",
		`a[href="x > .y"]`:            "",
		"[data-ypid]":                 "[data-ypid",
		`div [itemprop="name"]`:       "[itemprop",
		"*":                           "",
		":first-child":                "",
		"DIV":                         "tdiv",
		".x[data-a]":                  ".x",
		"li:first-child":              "tli",
		`.a\.b`:                       "",
		`[title="a b"].c`:             "",
		".ratings > .count + b":       "tb",
		`a:contains("x ( y") b.d > c`: "tc",
	} {
		t.Run(sel, func(t *testing.T) {
			t.Parallel()
			group, err := Compile(sel)
			if err != nil {
				t.Fatal(err)
			}
			by, word := group[0].demand()
			if got := [...]string{byClass: ".", byID: "#", byTag: "t", byAttr: "[", byNothing: ""}[by] + word; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	t.Run("Chain", func(t *testing.T) {
		t.Parallel()
		for sel, want := range map[string]bool{".result": true, "a": true, "#x .y > b.c": true, "a.business-name > span": true, "[a]": false, ".a:not(.b)": false, ".a + .b": false} {
			group, err := Compile(sel)
			if err != nil {
				t.Fatal(err)
			}
			if ok := group[0].chain != nil; ok != want {
				t.Errorf("%q: a chain: %t, want %t", sel, ok, want)
			}
		}
	})
}
