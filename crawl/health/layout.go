package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// The layout alarm: doc.go describes its model, with an example.
const (
	// MaxStrikes is how many pages running whose layout is not known raise the alarm.
	MaxStrikes = 3

	alarmTargets     = 5    // of a run
	alarmPart        = 4    // under a quarter of what is usual
	provingListings  = 5    // that should have the field: a page of fewer proves nothing
	usualListings    = 60   // seen of a category before its share counts
	chanceOfAlarm    = 1e-9 // of a run, when nothing has changed
	chanceOfDoubt    = 1e-3 // from here on a run is named in the alarm of another field
	listingsHalfLife = 1_000.0
	targetsHalfLife  = 300.0

	// recentTargets is how many targets are remembered, so that each is counted once. It must
	// be more than the workers that walk targets at once, and bounds a run.
	recentTargets = 64
)

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

// share is what is usual of a field in one category: how many listings were seen and
// had it; how many targets were seen and had a page that was bare of it. Both are plain
// counts up to 1.44 half-lives; from there on what is old fades.
type share struct{ listings, having, targets, bare float64 }

// usual is the share, 0 while too little was seen for it to count.
func (s *share) usual() float64 {
	if s.listings < usualListings {
		return 0
	}
	return s.having / s.listings
}

func fade(all, some, halfLife float64) (float64, float64) {
	if most := halfLife / math.Ln2; all > most {
		return most, some * (most / all)
	}
	return all, some
}

// verdict is what a page says of a field.
type verdict int

const (
	unproven verdict = iota // too few of its listings should have it
	alive
	bare
)

// judge compares the listings that have a field with those that usually have it. Without
// the one listing of grace, pages where 6 should have it would be bare by chance too often.
func judge(expected float64, have int) verdict {
	switch {
	case expected >= provingListings && float64(alarmPart*(have+1)) <= expected:
		return bare
	case expected >= provingListings, have >= provingListings:
		return alive
	}
	return unproven
}

// fall is a field that is missing: the sums of the bare pages of its run.
type fall struct {
	field    int
	pages    int
	seen     int     // listings that have it
	listings int     // in all
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
	return "fields are missing: " + strings.Join(words, ", ")
}

// window is the layout alarm of one source: what is usual, and what is under way.
type window struct {
	usual map[int64]*[maxFields]share // by category
	track [maxFields]track
	dirty map[int64]bool // categories of which there may be something to store
}

// track is what is under way of one field.
type track struct {
	visits []visit // the last targets whose pages count, the one seen last at the end
	run    fall
}

// visit is a target that was seen lately.
type visit struct {
	target, category int64
	bare             bool // one of its pages was
	inRun            bool // one of the run's was
}

func newWindow() *window {
	return &window{usual: map[int64]*[maxFields]share{}, dirty: map[int64]bool{}}
}

func (w *window) category(id int64) *[maxFields]share {
	s := w.usual[id]
	if s == nil {
		s = &[maxFields]share{}
		w.usual[id] = s
	}
	return s
}

// add takes a page and returns the fields that went missing. Of those everything is
// forgotten then: an operator who lets the source go on takes its pages as they are, and
// must not meet the same alarm again.
func (w *window) add(target, category int64, listings int, have having) []fall {
	usual, missing := w.category(category), false
	w.dirty[category] = true
	for f := range fields {
		s, t := &usual[f], &w.track[f]
		expected := float64(listings) * s.usual()
		says := judge(expected, have[f])
		if expected >= provingListings {
			t.count(s, target, category, says == bare)
		}
		switch {
		case says == bare:
			missing = true
			t.run = fall{f, t.run.pages + 1, t.run.seen + have[f], t.run.listings + listings, t.run.expected + expected}
			if 2*s.bare <= s.targets {
				continue
			} // else this is how the category is now
		case says == alive && t.run.pages > 0:
			t.run = fall{}
			for i := range t.visits {
				t.visits[i].inRun = false
			}
		case t.run.pages > 0:
			continue // a new category is not learned from pages that may be broken
		}
		s.listings, s.having = fade(s.listings+float64(listings), s.having+float64(have[f]), listingsHalfLife)
	}
	if !missing {
		return nil
	}
	return w.falls()
}

// count counts the target of a page once, and once as bare.
func (t *track) count(s *share, target, category int64, bare bool) {
	i := len(t.visits) - 1
	for i >= 0 && t.visits[i].target != target { // one that is under way stands near the end
		i--
	}
	v := visit{target: target, category: category}
	if i >= 0 {
		v = t.visits[i]
		if bare && !v.bare {
			s.bare = min(s.bare+1, s.targets)
		}
	} else {
		s.targets, s.bare = fade(s.targets+1, s.bare+float64(flag(bare)), targetsHalfLife)
	}
	v.bare, v.inRun = v.bare || bare, v.inRun || bare
	if i >= 0 {
		t.visits = slices.Delete(t.visits, i, i+1)
	} else if len(t.visits) == recentTargets {
		t.visits = slices.Delete(t.visits, 0, 1)
	}
	t.visits = append(t.visits, v)
}

// falls judges the runs. Fields do not fall in step (other categories have them, and
// they are learned better or worse): once one is an alarm, all whose runs are not
// believed any more belong to it.
func (w *window) falls() (all []fall) {
	alarm := false
	for f := range fields {
		if w.track[f].run.pages == 0 {
			continue
		}
		targets, chance := w.chance(f)
		if targets > 1 && chance < chanceOfDoubt {
			alarm = alarm || targets >= alarmTargets && chance < chanceOfAlarm
			all = append(all, w.track[f].run)
		}
	}
	if !alarm {
		return nil
	}
	for _, usual := range w.usual {
		for _, f := range all {
			usual[f.field] = share{}
		}
	}
	w.track = [maxFields]track{}
	return all
}

// chance is that of the run of a field when nothing has changed: for each of its targets,
// (bare+1)/(targets+2) of those of the category that were counted before it.
func (w *window) chance(f int) (targets int, chance float64) {
	chance = 1
	sameCategory := map[int64]float64{}
	for _, v := range w.track[f].visits {
		if v.inRun {
			targets++
			sameCategory[v.category]++
			s, n := &w.usual[v.category][f], sameCategory[v.category]
			chance *= (max(s.bare-n, 0) + 1) / (max(s.targets-n, 0) + 2)
		}
	}
	return targets, chance
}

// Layout watches the pages of one source for one process. It is safe for concurrent use.
type Layout struct {
	m      *Monitor
	source int64

	mu      sync.Mutex
	window  *window
	strikes int // pages running whose layout was not known; stored in sources
}

// shareRow is a row of field_shares; its JSON form is how many travel in one
// statement.
type shareRow struct {
	Category                        int64
	Field                           string
	Listings, Having, Targets, Bare float64
}

const (
	selectShares  = `SELECT category_id, field, listings, having_it, targets, bare FROM field_shares WHERE source_id = ?`
	selectStrikes = `SELECT layout_strikes FROM sources WHERE id = ?`
	// An alarm in force keeps its number.
	clearStrikes = `UPDATE sources SET layout_strikes = 0, updated_at = ? WHERE id = ? AND auto_disabled = 0`
	addStrike    = `UPDATE sources SET layout_strikes = layout_strikes + 1, updated_at = ? WHERE id = ? RETURNING layout_strikes`
	forgetField  = `DELETE FROM field_shares WHERE source_id = ? AND field = ?`
	saveShares   = `
	INSERT INTO field_shares (source_id, category_id, field, listings, having_it, targets, bare)
	SELECT s.id, value ->> 'Category', value ->> 'Field', value ->> 'Listings', value ->> 'Having', value ->> 'Targets', value ->> 'Bare'
	FROM json_each(?2) JOIN sources s ON s.id = ?1 AND s.auto_disabled = 0 WHERE true
	ON CONFLICT DO UPDATE SET listings = excluded.listings, having_it = excluded.having_it, targets = excluded.targets, bare = excluded.bare`
)

// Layout returns the layout alarm of a source, with what was learned before.
func (m *Monitor) Layout(ctx context.Context, sourceID int64) (*Layout, error) {
	l := &Layout{m: m, source: sourceID, window: newWindow()}
	rows, err := store.All(m.db.Reader(ctx), selectShares, []any{sourceID}, store.Fields[shareRow])
	if err == nil {
		err = m.db.Read().QueryRowContext(ctx, selectStrikes, sourceID).Scan(&l.strikes)
	}
	if err != nil {
		return nil, fmt.Errorf("read field shares of source %d: %w", sourceID, err)
	}
	for _, r := range rows {
		if f := slices.IndexFunc(fields, func(f *yp.ListingField) bool { return f.Name == r.Field }); f >= 0 {
			l.window.category(r.Category)[f] = share{r.Listings, r.Having, r.Targets, r.Bare}
		}
	}
	return l, nil
}

// Page takes in a page of a target and its category whose layout is known, with all
// its listings; none is a page too. When a field is missing it pauses the source
// until an operator enables it, and says which: "" = all is well.
func (l *Layout) Page(ctx context.Context, targetID, categoryID int64, listings []yp.Listing) (alarm string, err error) {
	have := count(listings)
	l.mu.Lock()
	struck := l.strikes > 0
	l.strikes = 0
	falls := l.window.add(targetID, categoryID, len(listings), have)
	l.mu.Unlock()
	if struck {
		if _, err = l.m.change(ctx, clearStrikes, yp.FormatTime(l.m.db.Now()), l.source); err != nil {
			err = fmt.Errorf("clear layout strikes: %w", err)
		}
	}
	if len(falls) == 0 {
		return "", err
	}
	alarm = reason(falls)
	raised := l.m.db.Write(ctx, func(tx *store.Tx) error {
		err := pause(tx, l.source, yp.CodeHTMLChanged, alarm, time.Time{})
		for _, f := range falls {
			if err == nil {
				err = tx.Run(forgetField, l.source, fields[f.field].Name)
			}
		}
		return err
	})
	if raised != nil {
		raised = fmt.Errorf("raise the layout alarm (%s): %w", alarm, raised)
	}
	return alarm, errors.Join(err, raised)
}

// Unknown takes in a page of the site whose layout is not known (HTML_CHANGED); why
// says what was missing. The third running pauses the source until an operator
// enables it, and so does every one after it: then alarm is not "".
func (l *Layout) Unknown(ctx context.Context, why string) (alarm string, err error) {
	strikes := 0
	err = l.m.db.Write(ctx, func(tx *store.Tx) error {
		alarm = ""
		if err := tx.Get(addStrike, []any{tx.Now, l.source}, &strikes); err != nil {
			return err
		}
		if strikes < MaxStrikes {
			return nil
		}
		alarm = fmt.Sprintf("the layout of %d pages in a row was not recognized: %s", strikes, why)
		return pause(tx, l.source, yp.CodeHTMLChanged, alarm, time.Time{})
	})
	if err != nil {
		return "", fmt.Errorf("count a page with an unknown layout: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strikes = max(l.strikes, strikes)
	return alarm, nil
}

// Flush stores what was learned since the last Flush, in one statement: at every
// roll-up and at the end. Nothing is stored while the source waits for an operator:
// another process may have forgotten a field that this one still thinks usual. Of
// two processes the last one's shares stand; both learn of the same source.
func (l *Layout) Flush(ctx context.Context) error {
	rows, dirty := l.learned()
	if len(rows) == 0 {
		return nil
	}
	err := l.m.db.Write(ctx, func(tx *store.Tx) error { return tx.Run(saveShares, l.source, store.JSON(rows)) })
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		maps.Copy(l.window.dirty, dirty)
		return fmt.Errorf("save field shares of source %d: %w", l.source, err)
	}
	return nil
}

// learned takes what is to be stored.
func (l *Layout) learned() (rows []shareRow, dirty map[int64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dirty, l.window.dirty = l.window.dirty, map[int64]bool{}
	for category := range dirty {
		for f, s := range l.window.category(category)[:len(fields)] {
			rows = append(rows, shareRow{category, fields[f].Name, s.listings, s.having, s.targets, s.bare})
		}
	}
	return rows, dirty
}
