package health

import (
	"fmt"
	"math"
	"strings"
)

// The layout alarm (health rules, section 4) in five lines:
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
