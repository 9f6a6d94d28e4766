package demo

import (
	"slices"

	"ypcrawl/yp"
)

// What happens to businesses between one epoch and the next. Every step is
// decided by the seed, the key and the epoch alone, so the state of a business
// in an epoch is found by going through the steps before it: nothing is kept.

// event is what one step does to a business.
type event uint8

const (
	eventNone    event = iota
	eventCloses        // not on any page, perhaps for one epoch only
	eventMoves         // another street and perhaps phone, in the same city
	eventRenamed       // another name and so another profile path
	eventRated         // other stars or more reviews
	eventSite          // a website where there was none
	eventPhone         // another phone
)

// The shares of the events, in thousandths of the businesses per epoch.
const (
	shareCloses  = 30
	shareMoves   = 25
	shareRenamed = 20
	shareRated   = 60
	shareSite    = 40
	sharePhone   = 20
	// reopenPct of those that closed open again one epoch later.
	reopenPct = 15
)

// fate is what decides a business's steps. The step of an epoch is asked by
// its number.
func (d *Directory) fate(k key) dice { return d.fates(k.place, k.cat).of(k.n) }

// fates is what the fates of a place and category have in common.
func (d *Directory) fates(place, cat int) dice {
	return newDice(d.cfg.Seed, 0xfa7e, uint64(place), uint64(cat))
}

// eventAt returns what happens to an open business on the way into an epoch.
func (d dice) eventAt(epoch int) event {
	r := d.pick(epoch, 1000)
	for i, share := range [...]int{shareCloses, shareMoves, shareRenamed, shareRated, shareSite, sharePhone} {
		if r -= share; r < 0 {
			return event(i + 1)
		}
	}
	return eventNone
}

// reopensAt reports whether a business that closed in the epoch before opens
// again in this one.
func (d dice) reopensAt(epoch int) bool { return d.pct(tagReopens+epoch) < reopenPct }

const tagReopens = 1_000 // + epoch

// open reports whether a business that opened in an epoch (0: it always was)
// is open in the edition's.
func (d *edition) open(fate dice, opened int) bool {
	for epoch := opened + 1; epoch <= d.epoch; epoch++ {
		if fate.eventAt(epoch) != eventCloses {
			continue
		}
		if epoch == d.epoch || !fate.reopensAt(epoch+1) {
			return false
		}
		epoch++ // the step on which it opened again
	}
	return true
}

// age makes a business what it is in the edition's epoch, starting from what
// it was when it opened. It must be open.
func (d *edition) age(b *business, k key) {
	if d.epoch == 0 || k.place == nationwide {
		return
	}
	fate := d.fate(k)
	for epoch := d.openedIn(k) + 1; epoch <= d.epoch; epoch++ {
		how := newDice(d.cfg.Seed, 0xe9, uint64(b.id), uint64(epoch))
		switch fate.eventAt(epoch) {
		case eventNone:
		case eventCloses:
			epoch++ // it opened again: nothing else happened on that step
		case eventMoves:
			b.move(how)
		case eventRenamed:
			b.rename(how)
		case eventRated:
			b.rate(how)
		case eventSite:
			b.gainSite(how)
		case eventPhone:
			b.rephone(how)
		}
	}
}

// as returns a copy of b that makes things up anew.
func (b *business) as(d dice) *business {
	c := *b
	c.dice = d
	return &c
}

// move gives another street and postal code of the same city. Businesses that
// show no street do not show a move either.
func (b *business) move(d dice) {
	if b.address.street == "" {
		return
	}
	c := b.as(d)
	b.spot = d
	b.address.street, b.address.zip = c.inventStreet(), c.inventZip()
	if b.address.kind == addressZip4 {
		b.address.zip += "-" + pad(d.pick(tagZip4, 10_000), 4)
	}
	if !b.chain && d.pct(tagLife) < 35 {
		b.rephone(d)
	}
}

// rename gives another name; a chain's branches keep theirs.
func (b *business) rename(d dice) {
	if b.chain {
		return
	}
	old := b.name
	if b.name = b.as(d).inventName(); b.name == old {
		b.name += " & Daughters"
	}
}

// rate moves the stars by a half, or adds reviews only; who was unrated is
// rated now.
func (b *business) rate(d dice) {
	more := 1 + d.pick(tagReviews, 12)
	switch {
	case b.stars == 0:
		b.stars = 1 + d.pick(tagStars, 10)
	case d.pct(tagLife) < 60:
		b.stars += 1 - 2*d.pick(tagStars, 2)
		if b.stars < 1 || b.stars > 10 {
			b.stars = min(max(b.stars, 2), 9)
		}
	}
	b.reviews += more
}

// gainSite gives a website of its own to a business that has none.
func (b *business) gainSite(d dice) {
	if b.chain || b.website != "" {
		return
	}
	b.website = "https://www." + ownHost(yp.Slug(yp.Clean(b.name)), b.id) + d.word(tagWebForm, []string{"", "/", "/index.html"})
}

// rephone gives another number, or one to a business that had none.
func (b *business) rephone(d dice) {
	if b.chain {
		return
	}
	old := b.phone
	for tag := tagPhoneNo; b.phone == old; tag += 100 {
		b.phone = b.localNumber(d, tag)
	}
}

const tagLife = 500 // no tag of another question

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
			chunk = d.firstPage(t, slot/perPage+1)
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
