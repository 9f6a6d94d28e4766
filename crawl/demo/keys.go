package demo

import (
	"strconv"
)

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
	idOffset  = 1 << 20 // keeps every id at a length that is no small number
	maxPlaces = nationwide + 1
)

// id returns the listing id of a key.
func (k key) id() int64 {
	x := uint64((k.place*maxCats+k.cat)*maxLocal+k.n) + 1
	return int64(x*idFactor%idPrime) + idOffset
}

// text is the id as pages and crawls write it.
func (k key) text() string { return strconv.FormatInt(k.id(), 10) }

// keyOf reads an id back; inverse is idInverse().
func keyOf(id int64, inverse uint64) (key, bool) {
	x := id - idOffset
	if x <= 0 || x >= idPrime {
		return key{}, false
	}
	v := uint64(x)*inverse%idPrime - 1
	k := key{place: int(v / maxLocal / maxCats), cat: int(v / maxLocal % maxCats), n: int(v % maxLocal)}
	return k, k.place < maxPlaces && k.cat < len(trades)
}

// idInverse returns the inverse of idFactor modulo idPrime (Fermat).
func idInverse() uint64 {
	result, base := uint64(1), uint64(idFactor)
	for e := idPrime - 2; e > 0; e >>= 1 {
		if e&1 == 1 {
			result = result * base % idPrime
		}
		base = base * base % idPrime
	}
	return result
}
