package health

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
