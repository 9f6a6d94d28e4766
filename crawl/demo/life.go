package demo

import "ypcrawl/yp"

// Between one epoch and the next a business opens, closes (perhaps for one epoch only) or
// changes; cities enter and leave the indexes (places.go). Every step is decided by the seed, the
// key and the epoch alone, so the state of a business in an epoch is found by going through the
// steps before it: nothing is kept.

// The shares of the events, in thousandths of the businesses per epoch.
const (
	shareCloses  = 30
	shareChanges = 150
	reopenPct    = 15 // of those that closed open again one epoch later
)

const (
	tagLife    = 500       // no tag of another question
	tagReopens = 1_000     // + epoch
	tagOpens   = 2_000_000 // of a target
)

// lifeDice is what decides a business's steps. The step of an epoch is asked by its number.
func (d *Directory) lifeDice(k key) dice {
	return newDice(d.cfg.Seed, 0xfa7e, uint64(k.place), uint64(k.cat)).of(k.n)
}

func (d dice) closes(epoch int) bool  { return d.pick(epoch, 1000) < shareCloses }
func (d dice) reopens(epoch int) bool { return d.pct(tagReopens+epoch) < reopenPct }
func (d dice) changes(epoch int) bool {
	return !d.closes(epoch) && d.pick(epoch, 1000) < shareCloses+shareChanges
}

// open reports whether a business that opened in an epoch (0: it always was) is open in the
// edition's.
func (d *edition) open(k key, opened int) bool {
	if k.place == nationwide {
		return true
	}
	life := d.lifeDice(k)
	for epoch := opened + 1; epoch <= d.epoch; epoch++ {
		if !life.closes(epoch) {
			continue
		}
		if epoch == d.epoch || !life.reopens(epoch+1) {
			return false
		}
		epoch++ // the step on which it opened again
	}
	return d.byIndex[k.place] != nil
}

// age makes a business what it is in the edition's epoch, starting from what it was when it
// opened. It must be open.
func (d *edition) age(b *business, k key) {
	if d.epoch == 0 || k.place == nationwide {
		return
	}
	life := d.lifeDice(k)
	for epoch := d.openedIn(k) + 1; epoch <= d.epoch; epoch++ {
		if life.closes(epoch) {
			epoch++ // it opened again: nothing else happened on that step
		} else if life.changes(epoch) {
			b.change(newDice(d.cfg.Seed, 0xe9, uint64(b.ID), uint64(epoch)))
		}
	}
}

// change gives a business another address, name, number or reputation, or its first website. What
// all branches of a chain share stays, and who shows no street shows no other one.
func (b *business) change(how dice) {
	as := *b
	as.dice = how
	switch r := how.pct(tagLife); {
	case r < 20 && b.Address.Street != "":
		b.Address.Street, b.Address.Zip = as.inventStreet(), as.inventZip(len(b.Address.Zip) > 5)
	case r < 40 && !b.chain:
		old := b.Name
		if b.Name = as.inventName(); b.Name == old {
			b.Name += " & Daughters"
		}
	case r < 60 && !b.chain:
		for tag, old := tagPhoneNo, b.Phone; b.Phone == old; tag += 100 {
			b.Phone = b.localNumber(how, tag)
		}
	case r < 80 && !b.chain && b.Website == "":
		b.Website = "https://www." + ownHost(yp.Slug(yp.Clean(b.Name)), b.ID) + how.word(tagWebForm, []string{"", "/", "/index.html"})
	default:
		b.Reviews += 1 + how.pick(tagReviews, 12)
		b.Stars = 1 + (b.Stars+how.pick(tagStars, 9))%10
	}
}

// opensBy returns how many businesses a target has had by an epoch, those that closed since among
// them: each epoch adds about three in a hundred, and now and then one to a target that is empty.
// Business n of a key opened when the number first exceeded n.
func (t *target) opensBy(epoch int) int {
	return min(t.first+epoch*t.rate(), maxLocal)
}

func (t *target) rate() int {
	if t.first == 0 {
		return t.dice.pct(tagOpens) / 85
	}
	return t.first*3/100 + t.dice.pick(tagOpens, 2)
}

// openedIn returns the epoch in which a business opened: 0 when it was always there, and beyond
// the edition's when it has not opened yet.
func (d *edition) openedIn(k key) int {
	t := d.blank(d.byIndex[k.place], k.cat)
	switch {
	case k.n < t.first:
		return 0
	case k.n >= t.opensBy(d.epoch):
		return d.epoch + 1
	}
	return 1 + (k.n-t.first)/t.rate()
}

// layOut lists who is in a target's results in a later epoch: those that opened since, then
// those of epoch 0 that are still open, in their order. So some move up, and others down.
func (d *edition) layOut(t *target) {
	t.slots = make([]key, 0, t.opensBy(d.epoch))
	for n := t.first; n < t.opensBy(d.epoch); n++ {
		if k := (key{t.place.index, t.cat, n}); d.open(k, 1+(n-t.first)/t.rate()) {
			t.slots = append(t.slots, k)
		}
	}
	for page := 1; (page-1)*perPage < t.first; page++ {
		for _, k := range d.firstPage(t, page) {
			if d.open(k, 0) {
				t.slots = append(t.slots, k)
			}
		}
	}
	t.total = len(t.slots)
}
