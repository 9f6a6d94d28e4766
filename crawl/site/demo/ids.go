package demo

import "strconv"

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
