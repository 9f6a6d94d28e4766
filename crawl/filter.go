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
		allow: each(f.Allow, category), block: each(f.Block, category), words: each(f.Words, words),
		minScore: f.MinScore, sponsored: f.Sponsored,
	}
}

// each returns the canonical forms of the texts, without the empty ones.
func each(texts []string, canonical func(string) string) []string {
	out := make([]string, 0, len(texts))
	for _, s := range texts {
		if s = canonical(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// words returns the words of a text as yp.NormalName has them, but with a legal
// form at its end, which is a word like any other here.
func words(s string) string {
	const end = " x" // so that the legal form is not at the end
	return strings.TrimSpace(strings.TrimSuffix(yp.NormalName(s+end), end[1:]))
}

// category makes one of "Auto Repair & Service", "auto repair and service" and
// "auto-repair-service".
func category(s string) string { return strings.ReplaceAll(words(s), " and ", " ") }

// accept returns the listings to keep, see keepFirst. raw is how many the page had before
// the filters (ads that are not wanted are no part of it).
func (m matcher) accept(listings []yp.Listing) (kept []yp.Listing, raw int) {
	kept = keepFirst(listings, func(l *yp.Listing) bool {
		if l.Sponsored && !m.sponsored {
			return false
		}
		raw++
		return m.keeps(l)
	})
	return kept, raw
}

// splitRejected keeps the listings that break no rule, see keepFirst.
func splitRejected(listings []yp.Listing, check func(*yp.Listing) []string) (good []yp.Listing, rejected []yp.Rejection) {
	good = keepFirst(listings, func(l *yp.Listing) bool {
		reasons := check(l)
		if len(reasons) > 0 {
			rejected = append(rejected, yp.Rejection{Listing: *l, Reasons: reasons})
		}
		return len(reasons) == 0
	})
	return good, rejected
}

// keepFirst moves the listings to keep to the front, in their order, and the others behind
// them: the layout alarm looks at all of the page afterwards.
func keepFirst(listings []yp.Listing, keep func(*yp.Listing) bool) []yp.Listing {
	n := 0
	for i := range listings {
		if !keep(&listings[i]) {
			continue
		}
		if n != i {
			listings[n], listings[i] = listings[i], listings[n]
		}
		n++
	}
	return listings[:n]
}

func (m matcher) keeps(l *yp.Listing) bool { return m.fault(l) == "" }

// Fault says why the filter leaves a listing out, "" when it keeps it.
func (f Filter) Fault(l *yp.Listing) string {
	if l.Sponsored && !f.Sponsored {
		return "it is an ad"
	}
	return f.compile().fault(l)
}

// fault is Fault for a listing that is not an ad.
func (m matcher) fault(l *yp.Listing) string {
	if m.minScore > 0 && yp.Score(l) < m.minScore {
		return "its score is too low"
	}
	if len(m.words) > 0 {
		name := " " + words(l.Name) + " " // whole words: "bar" does not block "Barber"
		if slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(name, " "+w+" ") }) {
			return "its name has a blocked word"
		}
	}
	if len(m.allow) == 0 && len(m.block) == 0 {
		return ""
	}
	shown := each(l.Categories, category)
	has := func(want []string) bool {
		return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(shown, w) })
	}
	switch {
	case len(m.allow) > 0 && !has(m.allow):
		return "none of its categories is allowed"
	case has(m.block):
		return "one of its categories is blocked"
	}
	return ""
}

// apply leaves on a page the listings that are to be promoted, and notes the others by what
// becomes of them. It sorts them in place: those left out are behind the others.
func (m matcher) apply(p *yp.Page, check func(*yp.Listing) []string) {
	all := p.Listings
	p.Listings, p.Raw = m.accept(all)
	for _, l := range all[len(p.Listings):] {
		p.Others = append(p.Others, l.ID)
	}
	p.Listings, p.Rejected = splitRejected(p.Listings, check)
	p.Accepted = len(p.Listings)
}
