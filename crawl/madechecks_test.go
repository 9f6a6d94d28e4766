package crawl_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// checkPass holds what the database says after a pass against what the site is.
func (h *history) checkPass(pass int) {
	all := h.site.Lists
	ended := map[int]bool{}
	for _, l := range all {
		ended[l.Number] = h.complete(pass, l.Number)
		h.checkList(pass, l, ended[l.Number])
	}
	h.checkAsked(pass)
	h.checkClosed(pass)
	h.checkStored(pass)
	h.checkCoverage(pass, ended)
}

func (h *history) checkList(pass int, l *madeList, complete bool) {
	r := h.row(h.targets[l.Number])
	verdict := "without a confirmed end"
	if complete {
		verdict = "read to its end"
	}
	verdict += " (" + storetest.Table(h.t, h.db, `SELECT ifnull(ending, '-') || ' ' || ifnull(end_text, '') FROM targets WHERE id = ?`, h.targets[l.Number])[0] + ")"
	h.say("  %s: %s, %s%s", l, r.Status, verdict, strings.TrimRight(", "+r.Code+" "+r.Error, ", "))
	for _, v := range h.site.served {
		if v.pass == pass && v.asked == l.Number {
			h.say("    %s", v.String())
		}
	}
	why, word := h.site.mayNot(pass, l.Number), h.mustEnd(pass, l.Number)
	switch {
	case why != "":
		h.due["must not: "+digits.ReplaceAllString(why, "n")]++
	case word != "":
		h.due["must: "+word]++
	default:
		h.due["either"]++
	}
	switch {
	case complete && why != "":
		h.fault(saidComplete, "%s in pass %d: %s", l, pass+1, why)
	case !complete && word != "":
		h.fault(notComplete, "%s in pass %d: %s", l, pass+1, word)
	}
}

var digits = regexp.MustCompile(`\d+`)

// mustEnd says by which word a crawl has to call a list read to its end; "" = it need not.
func (h *history) mustEnd(pass, list int) string {
	if h.failing[pass][list] || h.site.resting(pass) {
		return ""
	}
	return h.site.must(pass, list)
}

// resting reports whether so many lists lead elsewhere that the source may be let rest.
func (s *madeSite) resting(pass int) bool {
	n := 0
	for _, l := range s.Lists {
		if l.Passes[pass].Sends >= 0 {
			n++
		}
	}
	return n >= 3
}

// checkAsked: for lack of a next link no page is asked for more than twice.
func (h *history) checkAsked(pass int) {
	type key struct {
		list int
		uri  string
	}
	asked := map[key]int{}
	for _, v := range h.site.served {
		if h.site.Looks[pass].Anew { // a page may repeat an earlier one by chance
			continue
		}
		if v.pass == pass && v.what == "page" && v.list == v.asked && len(v.ids) > 0 {
			k := key{v.asked, v.uri}
			if asked[k]++; asked[k] == 3 {
				h.fault(askedTooMuch, "%s in pass %d: %s", h.site.Lists[v.asked], pass+1, v.uri)
			}
		}
	}
}

// listings are ids of the database's listings.
func (h *history) listings(query string, args ...any) []int {
	h.t.Helper()
	ids, err := store.Column[int](h.db.Reader(h.t.Context()), query, args...)
	storetest.NoError(h.t, err)
	return ids
}

// closings are the listings closed since a time, those among them that were found again.
const closings = `SELECT CAST(l.listing_id AS INTEGER) FROM listing_events e JOIN listings l ON l.id = e.listing WHERE e.kind = 'dropped' AND e.at >= ? ORDER BY 1`

// checkClosed: nothing is closed that the site has.
func (h *history) checkClosed(pass int) {
	var wrong []int
	closed := h.listings(closings, yp.FormatTime(h.began[pass]))
	for _, id := range closed {
		if h.site.shows(pass, id) {
			wrong = append(wrong, id)
		}
	}
	if len(closed) > 0 {
		h.say("  closed: %v", closed)
	}
	if len(wrong) > 0 {
		h.fault(closedShown, "in pass %d: %v", pass+1, wrong)
	}
}

// checkGone: what is gone is closed after two passes that were read to their ends.
func (h *history) checkGone() {
	var open []int
	must := func(pass, list int) bool { return h.mustEnd(pass, list) != "" }
	for _, id := range h.site.gone(must) {
		h.due["listings that are gone"]++
		if h.number(`SELECT count(*) FROM listings WHERE listing_id = ? AND dropped_at IS NULL`, fmt.Sprint(id)) > 0 {
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		h.fault(notClosed, "%v", open)
	}
}

// checkStored: a search holds listings of its own alone.
func (h *history) checkStored(pass int) {
	for _, l := range h.site.Lists {
		has := map[int]bool{}
		for p := range pass + 1 {
			for _, id := range slices.Concat(l.Passes[p].IDs, l.Passes[p].Ads) {
				has[id] = true
			}
		}
		found := h.listings(`SELECT CAST(l.listing_id AS INTEGER) FROM sightings s JOIN listings l ON l.id = s.listing WHERE s.target_id = ? AND s.seen_at >= ?`,
			h.targets[l.Number], yp.FormatTime(h.began[pass]))
		found = slices.DeleteFunc(found, func(id int) bool { return has[id] })
		if h.site.Words && l.Passes[pass].Both == "the text" { // every page has the words: they are furniture
			continue
		}
		if len(found) > 0 {
			h.fault(storedWrong, "%s in pass %d: %v", l, pass+1, found)
		}
	}
}

// checkCoverage: coverage counts as ended what was, and as seen no more than was shown.
func (h *history) checkCoverage(pass int, ended map[int]bool) {
	c, err := report.New(h.db).CoverageTotals(h.t.Context(), h.scope)
	storetest.NoError(h.t, err)
	var unread, sum, seen int64
	for _, l := range h.site.Lists {
		f := h.site.facts(pass, l.Number)
		if !ended[l.Number] {
			unread++
		}
		if f.odd != "" || h.failing[pass][l.Number] || h.row(h.targets[l.Number]).Status != yp.Done {
			sum = -1
		}
		if sum >= 0 {
			sum += int64(f.total)
		}
		seen += int64(min(f.total, len(union(f.seen, f.ads))+f.unreadable))
	}
	if c.Unread.Targets != unread {
		h.fault(coverageOff, "in pass %d it counts %d targets not read to their ends, and %d are", pass+1, c.Unread.Targets, unread)
	}
	if sum >= 0 && c.SiteTotal != sum {
		h.fault(coverageOff, "in pass %d it says that the site counts %d, and it counts %d", pass+1, c.SiteTotal, sum)
	}
	if sum >= 0 && c.SeenOfKnown > seen {
		h.fault(coverageOff, "in pass %d it says that %d of %d were seen, and the site has shown %d", pass+1, c.SeenOfKnown, c.SiteTotal, seen)
	}
}

func union(a, b map[int]bool) map[int]bool {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// checkSummary: the summary counts what was.
func (h *history) checkSummary(pass int, sum crawl.Stats) {
	began := yp.FormatTime(h.began[pass])
	empty, unreadable := 0, false
	for _, l := range h.site.Lists {
		f := h.site.facts(pass, l.Number)
		if f.served("empty") && f.last() == nil {
			empty++
		}
		unreadable = unreadable || f.unreadable > 0
	}
	for _, c := range []struct {
		what      string
		got, want int64
		wrong     bool
	}{
		{"closed", sum.Dropped, h.number(`SELECT count(*) FROM listing_events WHERE kind = 'dropped' AND at >= ?`, began), false},
		{"done", sum.Done, h.number(`SELECT count(*) FROM crawl_attempts WHERE ended = 'done' AND finished_at >= ?`, began), h.site.resting(pass)},
		{"empty", sum.Empty, int64(empty), sum.Empty <= int64(empty)},
		{"unreadable", sum.Bad, 0, unreadable},
	} {
		if c.got != c.want && !c.wrong {
			h.fault(summaryOff, "in pass %d it counts %d %s, want %d", pass+1, c.got, c.what, c.want)
		}
	}
}
