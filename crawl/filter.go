package crawl

import (
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Filter says which of a page's listings are kept. The zero value keeps every
// organic one.
type Filter struct {
	Allow     []string // categories; when set, a listing must show one of them
	Block     []string // categories; a listing that shows one is left out
	Words     []string // a listing whose name holds one of them is left out
	MinScore  int      // least completeness, 0–100, see yp.Score
	Sponsored bool     // keep ads too
}

// matcher is a Filter with its words in canonical form.
type matcher struct {
	allow, block, words []string
	minScore            int
	sponsored           bool
}

func (f Filter) compile() matcher {
	return matcher{
		allow: normal(f.Allow), block: normal(f.Block), words: normal(f.Words),
		minScore: f.MinScore, sponsored: f.Sponsored,
	}
}

func normal(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if w = yp.NormalName(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// accept returns the listings to keep, in place, and how many the page had
// before the filters (ads that are not wanted are no part of it).
func (m matcher) accept(listings []yp.Listing) (kept []yp.Listing, raw int) {
	kept = listings[:0]
	for i := range listings {
		l := &listings[i]
		if l.Sponsored && !m.sponsored {
			continue
		}
		raw++
		if m.keeps(l) {
			kept = append(kept, *l)
		}
	}
	return kept, raw
}

func (m matcher) keeps(l *yp.Listing) bool {
	if m.minScore > 0 && yp.Score(l) < m.minScore {
		return false
	}
	if len(m.words) > 0 && m.blockedName(yp.NormalName(l.Name)) {
		return false
	}
	if len(m.allow) == 0 && len(m.block) == 0 {
		return true
	}
	shown := normal(l.Categories)
	has := func(want []string) bool {
		return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(shown, w) })
	}
	return (len(m.allow) == 0 || has(m.allow)) && !has(m.block)
}

// blockedName compares whole words: "bar" does not block "Barber".
func (m matcher) blockedName(name string) bool {
	padded := " " + name + " "
	return slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(padded, " "+w+" ") })
}
