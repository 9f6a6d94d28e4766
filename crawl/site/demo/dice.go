package demo

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
