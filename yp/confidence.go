package yp

import (
	"slices"
	"strings"
)

// KeyKind is what a strong key is made of, or that no key but an operator joined
// two companies: a value of company_merges.by.
type KeyKind string

// The kinds, strongest key first.
const (
	KeyWeb  KeyKind = "web"
	KeyTel  KeyKind = "tel"
	KeyAdr  KeyKind = "adr"
	KeyHand KeyKind = "hand"
)

// KindOf returns the kind of a key of CompanyKeys.
func KindOf(key string) KeyKind {
	kind, _, _ := strings.Cut(key, ":")
	return KeyKind(kind)
}

// Strengths of links: how sure it is that two listings are one business.
const (
	strengthHand       = 1.0  // an operator said so
	strengthTel        = 0.98 // the phone and the name: wrong only for namesakes behind one switchboard
	strengthAdr        = 0.96 // the name at one address: wrong for namesakes of one building ("Notary Public")
	strengthWeb        = 0.92 // the site alone: agents and tenants may link the site of their brand or landlord
	strengthRemembered = 0.5  // a key that they shared once, and share no more
)

// LinkStrength returns how sure it is, from 0 to 1, that two listings are one
// business when they share keys of these kinds. Keys count as independent witnesses:
// of two kinds, both would have to be wrong. The strengths are put by judgement, in the
// order in which the kinds err on the labelled set in store/testdata (three wrong pairs:
// too few to measure by). They are there to compare companies with, and no frequencies.
func LinkStrength(kinds ...KeyKind) float64 {
	doubt := 1.0
	for _, kind := range kinds {
		switch kind {
		case KeyHand:
			return strengthHand
		case KeyTel:
			doubt *= 1 - strengthTel
		case KeyAdr:
			doubt *= 1 - strengthAdr
		case KeyWeb:
			doubt *= 1 - strengthWeb
		}
	}
	return 1 - doubt
}

// Confidence returns how sure it is, from 0 to 1, that all listings of a company are
// one business: the strength of the weakest link that they need to hang together
// (the least edge of the maximum spanning tree). keys are those that each listing
// gives; byHand are pairs of listings, by index, that an operator joined. One listing
// alone has 1; what no link holds together any more is held by memory alone, 0.5.
// Neither the order of listings nor that of keys matters.
func Confidence(keys [][]string, byHand [][2]int) float64 {
	if len(keys) <= 1 {
		return 1
	}
	f := newForest(len(keys))
	for _, pair := range byHand {
		f.join(pair[0], pair[1])
	}
	if f.trees == 1 {
		return strengthHand
	}
	for _, kinds := range linkKinds() {
		owner := map[string]int{}
		for i := range keys {
			for _, k := range together(keys[i], kinds) {
				if first, ok := owner[k]; ok {
					f.join(first, i)
				} else {
					owner[k] = i
				}
			}
		}
		if f.trees == 1 {
			return LinkStrength(kinds...)
		}
	}
	return strengthRemembered
}

// linkKinds lists the sets of kinds that two listings may share, strongest first.
func linkKinds() [][]KeyKind {
	all := [][]KeyKind{
		{KeyWeb, KeyTel, KeyAdr}, {KeyTel, KeyAdr}, {KeyWeb, KeyTel}, {KeyWeb, KeyAdr}, {KeyTel}, {KeyAdr}, {KeyWeb},
	}
	slices.SortStableFunc(all, func(a, b []KeyKind) int {
		switch x, y := LinkStrength(a...), LinkStrength(b...); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return all
}

// together returns every combination of one key of each kind.
func together(keys []string, kinds []KeyKind) []string {
	out := []string{""}
	for _, kind := range kinds {
		var longer []string
		for _, k := range keys {
			if KindOf(k) != kind {
				continue
			}
			for _, before := range out {
				longer = append(longer, before+k+"\n")
			}
		}
		out = longer
	}
	return out
}

// forest tells which of n things hang together.
type forest struct {
	root  []int
	trees int
}

func newForest(n int) *forest {
	f := &forest{root: make([]int, n), trees: n}
	for i := range f.root {
		f.root[i] = i
	}
	return f
}

func (f *forest) find(i int) int {
	for f.root[i] != i {
		f.root[i] = f.root[f.root[i]]
		i = f.root[i]
	}
	return i
}

func (f *forest) join(i, j int) {
	if i, j = f.find(i), f.find(j); i != j {
		f.root[max(i, j)] = min(i, j)
		f.trees--
	}
}
