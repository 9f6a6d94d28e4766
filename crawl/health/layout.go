package health

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// The layout alarm (docs/health.md, section 4) in five lines:
//
//  1. A page is bare of a field when under a quarter of the listings that usually
//     have it, in its category, still do; 5 at least should.
//  2. A run is all pages since the last one that had the field.
//  3. It alarms when its pages come from 5 targets or more, and chance makes such a
//     run less than once in a billion targets.
//  4. Chance is how often targets of a category were bare, (bare+1)/(targets+2), one
//     factor for each target of the run, which is counted in before the next one.
//  5. Learned are only pages of runs that ended by themselves, and targets that are
//     done; a target is bare when any page of it was.
//
// Targets, not pages, are what chance deals: the pages of one lack what its markup
// lacks, all together. And any page of a target, because those of several workers go
// deep together, where a directory has less to say.
const (
	// MaxStrikes is how many pages running whose layout is not known raise the alarm.
	MaxStrikes = 3

	alarmTargets     = 5    // of a run
	alarmPart        = 4    // under a quarter of what is usual
	provingListings  = 5    // that should have the field: a page of fewer proves nothing
	usualListings    = 60   // seen of a category before its share counts
	chanceOfAlarm    = 1e-9 // of a run, for each target, when nothing has changed
	chanceOfDoubt    = 1e-3 // from here on a run is not believed, and part of an alarm of others
	listingsHalfLife = 1_000.0
	targetsHalfLife  = 300.0
)

// share is what is usual of a field in one category: how many listings were seen and
// had it; how many targets are done and were bare of it. Both are plain counts up to
// 1.44 half-lives; from there on what is old fades.
type share struct{ listings, having, targets, bare float64 }

func (s *share) learn(listings, having int) {
	s.listings, s.having = fade(s.listings+float64(listings), s.having+float64(having), listingsHalfLife)
}

// settle counts a target that is done.
func (s *share) settle(bare bool) {
	s.targets, s.bare = fade(s.targets+1, s.bare+float64(flag(bare)), targetsHalfLife)
}

func fade(all, some, halfLife float64) (float64, float64) {
	if most := halfLife / math.Ln2; all > most {
		return most, some * (most / all)
	}
	return all, some
}

// usual is the share, 0 while too little was seen for it to count.
func (s share) usual() float64 {
	if s.listings < usualListings {
		return 0
	}
	return s.having / s.listings
}

// chance is that of one more bare target after some more than were counted.
func (s share) chance(more int) float64 {
	return (s.bare + float64(more) + 1) / (s.targets + float64(more) + 2)
}

// shares are the shares of one category, in the order of fields.
type shares [maxFields]share

// sheet is what a page says of one field, with what was usual when it came.
type sheet struct {
	target, category int64
	listings, have   int
	expected         float64 // listings that usually have it
}

// counts reports whether the page can prove that the field is gone: one of plumbers
// says nothing about price ranges.
func (p sheet) counts() bool { return p.expected >= provingListings }

// bare reports whether the field is gone, as far as a page can say. Without the one
// listing of grace, pages where 6 should have it would be bare by chance too often.
func (p sheet) bare() bool { return p.counts() && float64(alarmPart*(p.have+1)) <= p.expected }

// alive reports whether the page proves that the field is still there.
func (p sheet) alive() bool { return !p.bare() && (p.counts() || p.have >= provingListings) }

// fall is a field that went missing.
type fall struct {
	field    int
	pages    int     // of the run
	seen     int     // listings on them that have it
	listings int     // listings on them
	expected float64 // that usually have it
}

func (f fall) String() string {
	return fmt.Sprintf("%s (%d of %d listings on the last %d pages, usually %.0f)", fields[f.field].Name, f.seen, f.listings, f.pages, f.expected)
}

// reason says what an alarm is about.
func reason(falls []fall) string {
	words := make([]string, len(falls))
	for i, f := range falls {
		words[i] = f.String()
	}
	return "went missing: " + strings.Join(words, ", ")
}

// fields are the fields of a listing that the layout alarm watches: those that a page may
// say or not. Id, name and rank are not among them: without the first two there is no
// listing, and the page's own checks see it.
var fields = func() (watched []*yp.ListingField) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Watched) {
			watched = append(watched, f)
		}
	}
	return watched
}()

// maxFields bounds how many they are.
const maxFields = len(yp.ListingFields)

// having counts the listings of a page that have each field.
type having [maxFields]int

func count(listings []yp.Listing) (n having) {
	for i := range listings {
		for f := range fields {
			if fields[f].Has(&listings[i]) {
				n[f]++
			}
		}
	}
	return n
}

// fieldNumber finds a field by its name; -1 = none of ours.
func fieldNumber(name string) int {
	return slices.IndexFunc(fields, func(f *yp.ListingField) bool { return f.Name == name })
}

// recentTargets is how many targets are under way in each field's view: one is done
// when as many others came after it. It must be more than the workers that walk
// targets at once, and bounds a run: a field that so many targets running lack,
// without an alarm, is as usual as that.
const recentTargets = 64

// window is the layout alarm of one source: what is usual, and what is under way.
type window struct {
	usual map[int64]*shares // by category
	track [maxFields]track
	dirty map[int64]bool // categories of which there may be something to store
}

func newWindow() *window {
	return &window{usual: map[int64]*shares{}, dirty: map[int64]bool{}}
}

// track is what is under way of one field.
type track struct {
	visits []visit // the last targets whose pages count, the one seen last at the end
	run    int     // how many of them, at the end, are those of the run
	sum    fall    // of the run's bare pages
	held   map[int64]tally
}

// visit is a target under way.
type visit struct {
	target, category int64
	bare             bool // one of its pages was
}

// tally is what pages of a category say of a field that are not to be learned yet.
type tally struct{ listings, have int }

func (w *window) category(id int64) *shares {
	s := w.usual[id]
	if s == nil {
		s = &shares{}
		w.usual[id] = s
	}
	return s
}

// add takes a page and returns the fields that went missing. The pages of an alarm
// are not learned, and what fell is forgotten: an operator who lets the source go on
// takes the pages as they are, and must not meet the same alarm again.
func (w *window) add(target, category int64, listings int, have having) []fall {
	usual, bare := w.category(category), false
	w.dirty[category] = true
	for f := range fields {
		p := sheet{target, category, listings, have[f], float64(listings) * usual[f].usual()}
		bare = w.see(f, p) || bare
	}
	if !bare {
		return nil
	}
	falls := w.falls()
	if len(falls) > 0 {
		w.track = [maxFields]track{}
		w.forget(falls)
	}
	return falls
}

// see takes in what a page says of a field, and whether the page is bare of it.
// While a run lasts, pages that prove nothing wait with it: of a category that was
// not seen before, say, which would be learned from broken pages.
func (w *window) see(f int, p sheet) (bare bool) {
	t := &w.track[f]
	switch {
	case p.bare():
		w.visit(f, p)
		t.hold(p)
		t.sum.add(p)
		if t.run == recentTargets {
			w.endRun(f)
		}
		return true
	case p.alive():
		w.endRun(f)
		w.visit(f, p)
		w.learn(f, p.category, tally{p.listings, p.have})
	case t.run > 0:
		t.hold(p)
	default:
		w.learn(f, p.category, tally{p.listings, p.have})
	}
	return false
}

// visit notes the target of a page that counts; the oldest one is done when there is
// no more room.
func (w *window) visit(f int, p sheet) {
	if !p.counts() {
		return
	}
	t, v := &w.track[f], visit{p.target, p.category, p.bare()}
	i := len(t.visits) - 1
	for i >= 0 && t.visits[i].target != v.target {
		i--
	}
	if v.bare && i < len(t.visits)-t.run {
		t.run++
	}
	if i < 0 && len(t.visits) < recentTargets {
		t.visits = append(t.visits, v)
		return
	}
	if i < 0 {
		i = 0
		w.settle(f, t.visits[0])
	} else {
		v.bare = v.bare || t.visits[i].bare
	}
	copy(t.visits[i:], t.visits[i+1:])
	t.visits[len(t.visits)-1] = v
}

// endRun ends a run by itself: its pages are as usual as any.
func (w *window) endRun(f int) {
	t := &w.track[f]
	if t.run == 0 {
		return
	}
	for category, pages := range t.held {
		w.learn(f, category, pages)
	}
	clear(t.held)
	t.run, t.sum = 0, fall{}
}

func (w *window) learn(f int, category int64, pages tally) {
	w.category(category)[f].learn(pages.listings, pages.have)
	w.dirty[category] = true
}

func (w *window) settle(f int, v visit) {
	w.category(v.category)[f].settle(v.bare)
	w.dirty[v.category] = true
}

func (w *window) forget(falls []fall) {
	for _, s := range w.usual {
		for _, f := range falls {
			s[f.field] = share{}
		}
	}
}

func (t *track) hold(p sheet) {
	if t.held == nil {
		t.held = map[int64]tally{}
	}
	h := t.held[p.category]
	t.held[p.category] = tally{h.listings + p.listings, h.have + p.have}
}

func (f *fall) add(p sheet) {
	f.pages++
	f.seen += p.have
	f.listings += p.listings
	f.expected += p.expected
}

// falls judges the runs. Fields do not fall in step (other categories have them, and
// they are learned better or worse): once one is an alarm, all whose runs are not
// believed any more belong to it.
func (w *window) falls() (all []fall) {
	alarm := false
	for f := range fields {
		t := &w.track[f]
		if !w.doubtful(f) {
			continue
		}
		alarm = alarm || t.run >= alarmTargets && w.chance(f) < chanceOfAlarm
		sum := t.sum
		sum.field = f
		all = append(all, sum)
	}
	if !alarm {
		return nil
	}
	return all
}

func (w *window) doubtful(f int) bool { return w.track[f].run > 1 && w.chance(f) < chanceOfDoubt }

// chance is that of the run of a field when nothing has changed.
func (w *window) chance(f int) float64 {
	t, chance := &w.track[f], 1.0
	run := t.visits[len(t.visits)-t.run:]
	for i, v := range run {
		more := 0
		for _, u := range run[:i] {
			if u.category == v.category {
				more++
			}
		}
		chance *= w.category(v.category)[f].chance(more)
		if chance < chanceOfAlarm {
			break // it only falls
		}
	}
	return chance
}

// standing is what is usual in a category with what is under way counted in, as far as
// it is believed: what is to be remembered when the process ends now.
func (w *window) standing(category int64) shares {
	s := *w.category(category)
	for f := range fields {
		t := &w.track[f]
		visits := t.visits
		if w.doubtful(f) {
			visits = visits[:len(visits)-t.run]
		} else {
			s[f].learn(t.held[category].listings, t.held[category].have)
		}
		for _, v := range visits {
			if v.category == category {
				s[f].settle(v.bare)
			}
		}
	}
	return s
}
