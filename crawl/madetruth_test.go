package crawl_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// What follows from what a made site has, and from what it has served, computed from its
// parameters and from nothing that the program does.

// facts is what the pages of a list have said in a pass to a crawl of it.
type facts struct {
	seen       map[int]bool // organic listings
	ads        map[int]bool
	unreadable int
	total      int
	pages      []view // of the list's own, in their order, those behind its last one among them
	odd        string // why nothing is known: it redirects, or says two things
}

func (s *madeSite) facts(pass, list int) facts {
	f := facts{seen: map[int]bool{}, ads: map[int]bool{}}
	for i := range s.served {
		if v := &s.served[i]; v.pass == pass && v.asked == list {
			f.add(v)
		}
	}
	return f
}

func (f *facts) add(v *view) {
	switch {
	case v.what == "sent" || v.list != v.asked:
		f.odd = "it redirects"
	case v.what == "both":
		f.odd = "it says two things"
	}
	if v.list != v.asked {
		return
	}
	f.pages = append(f.pages, *v)
	for _, id := range v.ids {
		f.seen[id] = true
	}
	for _, id := range v.ads {
		f.ads[id] = true
	}
	f.unreadable += v.unreadable
	f.total = max(f.total, v.total)
}

// last is the last page served that has listings.
func (f *facts) last() (v *view) {
	for i := range f.pages {
		if f.pages[i].what == "page" && (v == nil || f.pages[i].page >= v.page) {
			v = &f.pages[i]
		}
	}
	return v
}

func (f *facts) served(what string) bool {
	return slices.ContainsFunc(f.pages, func(v view) bool { return v.what == what })
}

// repeated reports whether a page has shown nothing that those before it had not.
func (f *facts) repeated() bool {
	seen := map[int]bool{}
	for _, v := range f.pages {
		n := len(seen)
		for _, id := range v.ids {
			seen[id] = true
		}
		if v.what == "page" && len(seen) == n {
			return true
		}
	}
	return false
}

// unseen are the listings of a list that no page served has shown, as an ad or otherwise.
func (s *madeSite) unseen(pass, list int, f *facts) (ids []int) {
	for _, id := range s.Lists[list].Passes[pass].IDs {
		if !f.seen[id] && !f.ads[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// mayNot says why a crawl of the list must not be called read to its end in a pass; "" = it may be.
// It errs on the side of the program.
func (s *madeSite) mayNot(pass, list int) string {
	f, st, lk := s.facts(pass, list), &s.Lists[list].Passes[pass], &s.Looks[pass]
	missing := s.unseen(pass, list, &f)
	switch {
	case f.odd != "":
		return f.odd
	case len(f.pages) == 0:
		return "it was never asked for"
	case f.unreadable > 0:
		return "a card can't be read"
	case len(missing) > 0 && !(lk.Anew && 20*len(missing) <= len(st.IDs)):
		return fmt.Sprintf("%d of its %d listings were not shown", len(missing), len(st.IDs))
	}
	return s.noWord(pass, list, &f)
}

// noWord says that no page says that nothing follows; "" = one may say so.
func (s *madeSite) noWord(pass, list int, f *facts) string {
	lk, last := &s.Looks[pass], f.last()
	full := lk.Size + lk.Promos
	switch {
	case f.served("empty"), last == nil:
		return ""
	case f.total > 0 && len(f.seen) >= f.total, last.rangeEnd, last.mark, s.NextNone:
		return ""
	case last.cards < full && s.longer(pass, last.cards) >= 3:
		return ""
	case last.bar && !last.opaque && last.leads == leadsNowhere && (last.cards < full || s.higher(pass, list, last.page)):
		return ""
	}
	return "no page says that it is all"
}

// longer counts the pages served in a pass that have more cards than a number and lead on.
func (s *madeSite) longer(pass, than int) (n int) {
	for i := range s.served {
		if v := &s.served[i]; v.pass == pass && v.cards > than && (v.leads == leadsOn || v.leads == leadsMaybe) {
			n++
		}
	}
	return n
}

// higher reports whether another list has shown a page of a higher number.
func (s *madeSite) higher(pass, list, page int) bool {
	return slices.ContainsFunc(s.served, func(v view) bool { return v.pass == pass && v.asked != list && v.page > page && v.what == "page" })
}

// must says by which word a crawl of the list that asks for all that can be asked for has to
// call it read to its end; "" = it need not. It errs on the side of the program.
func (s *madeSite) must(pass, list int) string {
	lk, st := &s.Looks[pass], &s.Lists[list].Passes[pass]
	switch {
	case st.Sends >= 0, st.Alias, st.Both != "", lk.Anew, len(st.Unreadable) > 0, s.Words:
		return ""
	case len(st.IDs) == 0:
		return "it says that nothing is there"
	}
	f := s.walk(pass, list)
	end := f.pages[len(f.pages)-1]
	last := f.last()
	switch {
	case len(s.unseen(pass, list, &f)) > 0, last.opaque && last.leads != leadsOn, 20*len(union(f.seen, f.ads)) < 19*f.total:
		return ""
	case end.page == s.MaxPages && end.leads != leadsNowhere: // our own limit
		return ""
	case lk.Promos > 0 && last.page < 3: // twice may be by chance
		return ""
	case lk.Promos > 0 && f.repeated(): // by nothing but promotions
		return ""
	case end.what == "empty":
		return "the page behind the last is empty"
	case lk.Sum == sumOrganic && len(f.seen) >= f.total:
		return "the total is reached"
	case end.what != "page":
		return ""
	case last.mark:
		return "the page has the mark of a last one"
	case s.NextNone:
		return "the definition says that there is one page"
	case lk.Form != formNoscript && last.page > 1 && last.bar && last.cards < f.pages[0].cards:
		return "the pagination leads to no later page"
	}
	return ""
}

// walk goes through a list by the links that must be followed.
func (s *madeSite) walk(pass, list int) facts {
	f := facts{seen: map[int]bool{}, ads: map[int]bool{}}
	r := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // the order is the same at each request
	for page := 1; ; page++ {
		v := s.view(r, list, pass, page)
		f.add(&v)
		if v.leads != leadsOn || v.what != "page" || page == s.MaxPages {
			return f
		}
	}
}

// shows reports whether the site has a listing in a pass, in a list that can be asked for or in
// one that can't, or as an ad.
func (s *madeSite) shows(pass, id int) bool {
	return slices.ContainsFunc(s.Lists, func(l *madeList) bool {
		st := &l.Passes[pass]
		return slices.Contains(st.IDs, id) || slices.Contains(st.Ads, id) || slices.Contains(st.Others, id)
	})
}

// gone are the listings that the site showed in the first pass and in none since, each of
// whose lists must be called read to its end in both passes.
func (s *madeSite) gone(complete func(pass, list int) bool) (ids []int) {
	lists := map[int][]int{} // by listing
	for p := range passes {
		for _, l := range s.Lists {
			st := &l.Passes[p]
			for _, id := range slices.Concat(st.IDs, st.Others, st.Ads) {
				if !slices.Contains(lists[id], l.Number) {
					lists[id] = append(lists[id], l.Number)
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		all := func(list int) bool { return complete(1, list) && complete(2, list) }
		if s.shows(0, id) && !s.shows(1, id) && !s.shows(2, id) && !slices.ContainsFunc(lists[id], func(n int) bool { return !all(n) }) {
			ids = append(ids, id)
		}
	}
	return ids
}
