package demo

import (
	"math"
	"slices"
	"strconv"
)

// perPage is how many organic cards a full page has.
const perPage = 30

// lendable is how many of a city's first businesses appear in the results of
// neighbours and of other categories, so that these do recur.
const lendable = 90

// target is a place and a category of the directory, with the oddities that
// the seed gave it.
type target struct {
	place *place
	cat   int
	dice  dice
	first int   // organic results in epoch 0
	total int   // organic results
	read  int   // pages that a selection reads
	slots []key // what they are, in order; nil in epoch 0, where at tells
}

// The questions asked of a target's dice.
const (
	tagTotal = iota
	tagTotal1
	_ // keeps the answers to the questions below
	_
	tagAds
	tagAside
	tagEnd
	tagPosition = 1000      // + position
	tagAd       = 1_000_000 // + page × adSlots + slot
)

func (d *edition) target(p *place, cat int) target {
	t := d.blank(p, cat)
	t.total = t.first
	if d.epoch > 0 {
		d.layOut(&t)
	}
	return t
}

// blank returns a target of which only the dice and the size are known.
func (d *Directory) blank(p *place, cat int) target {
	t := target{place: p, cat: cat, dice: newDice(d.cfg.Seed, 0x7a, uint64(p.index), uint64(cat))}
	t.first = t.invent()
	return t
}

// invent makes up how many results a target has (the conversions keep machines
// from fusing operations, which would round differently): it grows with the root of the
// population, and some targets have none, few, or exactly full pages.
func (t *target) invent() int {
	switch r := t.dice.pct(tagTotal); {
	case r < 4:
		return 0
	case r < 9:
		return 1 + t.dice.pick(tagTotal1, perPage-1)
	case r < 12:
		return perPage * (1 + t.dice.pick(tagTotal1, 4))
	}
	n := int(math.Sqrt(float64(t.place.Population)) * (0.15 + float64(0.75*t.dice.unit(tagTotal1))))
	return min(max(n, 3), maxLocal-1)
}

func (t *target) pages() int { return (t.total + perPage - 1) / perPage }

// onPage returns the businesses on page n, which must exist, in their order.
func (d *edition) onPage(t *target, n int) []key {
	if t.slots == nil {
		return d.firstPage(t, n)
	}
	return t.slots[(n-1)*perPage : min(n*perPage, t.total)]
}

// firstPage returns what page n held in epoch 0.
func (d *Directory) firstPage(t *target, n int) []key {
	start := (n - 1) * perPage
	into := make([]key, 0, perPage)
	for p := start; p < min(start+perPage, t.first); p++ {
		k := d.at(t, p, start)
		if own := (key{t.place.index, t.cat, p}); k != own && slices.Contains(into, k) {
			k = own // which nothing else on the page can be
		}
		into = append(into, k)
	}
	return into
}

// at decides which business stood at a position in epoch 0: mostly the city's
// own, else one of a neighbour, of another category, or of an earlier page.
func (d *Directory) at(t *target, p, start int) key {
	own := key{t.place.index, t.cat, p}
	h := t.dice.at(tagPosition + p)
	from := int(h >> 40)
	switch r := h % 100; {
	case r < 74:
		return own
	case r < 86:
		if near := t.place.near; len(near) > 0 {
			return d.lend(near[h>>8%uint64(len(near))], t.cat, from, own)
		}
	case r < 92:
		return d.lend(t.place, (t.cat+1+int(h>>8%uint64(len(trades())-1)))%len(trades()), from, own)
	case r < 94 && start > 0:
		return key{t.place.index, t.cat, from % start}
	}
	return own
}

// lend returns one of the first businesses of a place and category, or
// otherwise when it has none.
func (d *Directory) lend(p *place, cat, which int, otherwise key) key {
	n := min(d.blank(p, cat).first, lendable)
	if n == 0 {
		return otherwise
	}
	return key{p.index, cat, which % n}
}

// adSlots is the most ads a page has.
const adSlots = 9

// ads returns the advertisers above the results of page n. A target that was empty
// in epoch 0 has none; whoever closed leaves a gap.
func (d *edition) ads(t *target, n int) (all []key) {
	if t.first == 0 {
		return nil
	}
	for slot := range 3 + t.dice.pick(tagAds+n*tagEnd, 4) + t.dice.pick(tagAside+n*tagEnd, 4) {
		if k := d.ad(t, tagAd+n*adSlots+slot); d.open(k, 0) {
			all = append(all, k)
		}
	}
	return all
}

func (d *Directory) ad(t *target, tag int) key {
	h := t.dice.at(tag)
	own := key{t.place.index, t.cat, int(h >> 40 % uint64(min(t.first, lendable)))}
	switch r := h % 100; {
	case r < 60:
		return own
	case r < 85 && len(t.place.near) > 0:
		return d.lend(t.place.near[h>>8%uint64(len(t.place.near))], t.cat, int(h>>40), own)
	case r < 85:
		return own
	}
	return key{nationwide, t.cat, int(h >> 40 % nationwideCount)}
}

// nationwideCount is how many nationwide advertisers a category has.
const nationwideCount = 6

// exists reports whether a key names a business of the directory.
func (d *edition) exists(k key) bool {
	if k.place == nationwide {
		return k.n < nationwideCount
	}
	if d.byIndex[k.place] == nil {
		return false
	}
	opened := d.openedIn(k)
	return opened <= d.epoch && d.open(k, opened)
}

// dice is a seeded source of choices that is asked by tag, not in sequence: a
// new question never changes the answers to the others.
type dice uint64

// mix is the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newDice derives dice from a seed and the numbers of a thing.
func newDice(seed int64, of ...uint64) dice {
	d := mix(uint64(seed))
	for _, n := range of {
		d = mix(d ^ mix(n))
	}
	return dice(d)
}

// of derives the dice of the n-th part of a thing.
func (d dice) of(n int) dice { return dice(mix(uint64(d) ^ mix(uint64(n)))) }

// at answers the question tag with 64 random bits.
func (d dice) at(tag int) uint64 { return mix(uint64(d) ^ mix(uint64(tag)+1)) }

// pick answers with a number in [0, n).
func (d dice) pick(tag, n int) int { return int(d.at(tag) >> 11 % uint64(n)) }

// pct answers with a number in [0, 100).
func (d dice) pct(tag int) int { return d.pick(tag, 100) }

// unit answers with a number in [0, 1).
func (d dice) unit(tag int) float64 { return float64(d.at(tag)>>11) / (1 << 53) }

// word answers with one of words.
func (d dice) word(tag int, words []string) string { return words[d.pick(tag, len(words))] }

// A key names a business: the n-th of a place and a category.
type key struct {
	place int // place.index
	cat   int
	n     int
}

// nationwide is the place index of the advertisers that have no city.
const nationwide = 1 << 14

const (
	maxCats  = 8       // categories an id has room for
	maxLocal = 1 << 12 // businesses of one place and category an id has room for

	// Ids are keys multiplied in a prime field, so that they look like the
	// real thing (up to nine digits, no order) and can be read back.
	idPrime   = 999_999_937
	idFactor  = 387_420_489
	idInverse = 115_270_698 // idFactor × idInverse = 1 in the field
	idOffset  = 1 << 20     // keeps every id at a length that is no small number
	maxPlaces = nationwide + 1
)

// id returns the listing id of a key.
func (k key) id() int64 {
	x := uint64((k.place*maxCats+k.cat)*maxLocal+k.n) + 1
	return int64(x*idFactor%idPrime) + idOffset
}

// text is the id as pages and crawls write it.
func (k key) text() string { return strconv.FormatInt(k.id(), 10) }

// keyOf reads an id back.
func keyOf(id int64) (key, bool) {
	x := id - idOffset
	if x <= 0 || x >= idPrime {
		return key{}, false
	}
	v := uint64(x)*idInverse%idPrime - 1
	k := key{place: int(v / maxLocal / maxCats), cat: int(v / maxLocal % maxCats), n: int(v % maxLocal)}
	return k, k.place < maxPlaces && k.cat < len(trades())
}
