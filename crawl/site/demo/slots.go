package demo

import "slices"

// A slot is a place in a target's results that a business keeps from epoch to
// epoch: those of epoch 0 are numbered as they stand there, and slot n of a
// business that opened later is the n of its key. In epoch 0 positions are slots. Later
// a position is the next slot whose business is open, so the ones behind a
// closed business move up.

// The questions asked of a target's dice about businesses that open.
const (
	tagOpens  = 2_000_000 // + 2 × epoch
	tagStands = 3_000_000 // + slot: before which slot of epoch 0 it stands
)

// opening says which businesses of a target opened in an epoch: those with n
// from from up to to.
type opening struct{ epoch, from, to int }

// openings lists what opened in a target up to an epoch.
func (t *target) openings(epoch int) []opening {
	var all []opening
	n := t.first
	for e := 1; e <= epoch; e++ {
		more := t.opens(e)
		all = append(all, opening{e, n, min(n+more, maxLocal)})
		n = all[len(all)-1].to
	}
	return all
}

// opens returns how many businesses open on the way into an epoch: about three
// in a hundred, and now and then the first one of an empty target.
func (t *target) opens(epoch int) int {
	tag := tagOpens + 2*epoch
	if t.first == 0 {
		if t.dice.pct(tag) < 15 {
			return 1 + t.dice.pick(tag+1, 3)
		}
		return 0
	}
	return t.first*t.dice.pick(tag, 7)/100 + t.dice.pick(tag+1, 2)
}

// openedIn returns the epoch in which a business opened: 0 when it was always
// there, and beyond the edition's when it has not opened yet.
func (d *edition) openedIn(k key) int {
	t := d.blank(d.byIndex[k.place], k.cat)
	if k.n < t.first {
		return 0
	}
	for _, o := range t.openings(d.epoch) {
		if k.n >= o.from && k.n < o.to {
			return o.epoch
		}
	}
	return d.epoch + 1
}

// alive reports whether a business of epoch 0 is still one of the edition's.
func (d *edition) alive(k key) bool {
	return k.place == nationwide || d.byIndex[k.place] != nil && d.open(d.fate(k), 0)
}

// layOut finds the slots that have an open business, in their order.
func (d *edition) layOut(t *target) {
	added, fates := d.added(t), d.fates(t.place.index, t.cat)
	t.slots = make([]key, 0, t.first+len(added))
	var chunk []key
	for slot := range t.first {
		for len(added) > 0 && added[0].before <= slot {
			t.slots = append(t.slots, added[0].key)
			added = added[1:]
		}
		if slot%perPage == 0 {
			chunk = d.firstPage(t, slot/perPage+1, chunk)
		}
		k := chunk[slot%perPage]
		own := k.place == t.place.index && k.cat == t.cat
		if own && d.open(fates.of(k.n), 0) || !own && d.alive(k) {
			t.slots = append(t.slots, k)
		}
	}
	for _, a := range added {
		t.slots = append(t.slots, a.key)
	}
	t.total = len(t.slots)
}

// addition is a business that opened later and the slot before which it stands.
type addition struct {
	key    key
	before int
}

// added lists the businesses that opened since epoch 0 and are open.
func (d *edition) added(t *target) []addition {
	var all []addition
	for _, o := range t.openings(d.epoch) {
		for n := o.from; n < o.to; n++ {
			k := key{t.place.index, t.cat, n}
			if d.open(d.fate(k), o.epoch) {
				all = append(all, addition{k, t.dice.pick(tagStands+n, t.first+1)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b addition) int { return a.before - b.before })
	return all
}
