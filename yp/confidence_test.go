package yp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLinkStrength(t *testing.T) {
	tel, adr, web := LinkStrength(KeyTel), LinkStrength(KeyAdr), LinkStrength(KeyWeb)
	if tel <= adr || adr <= web || web <= strengthRemembered {
		t.Errorf("phone %v, address %v, website %v, remembered %v", tel, adr, web, strengthRemembered)
	}
	if two := LinkStrength(KeyWeb, KeyAdr); two <= tel || two >= LinkStrength(KeyWeb, KeyAdr, KeyTel) {
		t.Errorf("two witnesses %v, the best alone %v", two, tel)
	}
	if LinkStrength() != 0 || LinkStrength("odd") != 0 {
		t.Error("nothing links")
	}
}

func TestConfidence(t *testing.T) {
	const web, tel, adr, tel2 = "web:a.com", "tel:1|a", "adr:a|b|1", "tel:2|a"
	for _, test := range []struct {
		name string
		keys [][]string
		want float64
	}{
		{"None", nil, 1},
		{"One", [][]string{nil}, 1},
		{"Web", [][]string{{web}, {web, tel}}, strengthWeb},
		{"Both", [][]string{{tel, web}, {web, tel}}, LinkStrength(KeyWeb, KeyTel)},
		{"TheBetterWay", [][]string{{web, tel}, {web, adr}, {tel, adr}}, strengthAdr},
		{"TheWeakest", [][]string{{web}, {web, tel}, {tel}}, strengthWeb},
		{"TwoOfAKind", [][]string{{tel, tel2}, {tel}, {tel2}}, strengthTel},
		{"Remembered", [][]string{{web}, {tel}}, strengthRemembered},
		{"NoKeys", [][]string{nil, nil}, strengthRemembered},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Confidence(test.keys); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestConfidenceOrder: neither the order of listings nor that of keys matters.
func TestConfidenceOrder(t *testing.T) {
	pool := []string{"web:a", "web:b", "tel:a", "tel:b", "adr:a", "adr:b"}
	r := rand.New(rand.NewPCG(1, 2)) // #nosec: an order, no secret
	for range 300 {
		keys := make([][]string, 2+r.IntN(5))
		for i := range keys {
			for _, k := range pool {
				if r.IntN(3) == 0 {
					keys[i] = append(keys[i], k)
				}
			}
		}
		want := Confidence(keys)
		other := slices.Clone(keys)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		for i := range other {
			other[i] = slices.Clone(other[i])
			slices.Reverse(other[i])
		}
		if got := Confidence(other); got != want {
			t.Fatalf("%q: %v, in another order %v", keys, want, got)
		}
		if got := slowConfidence(keys); got != want {
			t.Fatalf("%q: %v, by every pair %v", keys, want, got)
		}
	}
}

// slowConfidence is the same by the definition: the greatest strength at which the
// pairs that are at least so strong hold all together.
func slowConfidence(keys [][]string) float64 {
	best := strengthRemembered
	for i := range keys {
		for j := range i {
			limit := pairStrength(keys[i], keys[j])
			f := NewForest(len(keys))
			for a := range keys {
				for b := range a {
					if pairStrength(keys[a], keys[b]) >= limit {
						f.Join(a, b)
					}
				}
			}
			if f.trees == 1 {
				best = max(best, limit)
			}
		}
	}
	return best
}

func pairStrength(a, b []string) float64 {
	var kinds []KeyKind
	for _, kind := range []KeyKind{KeyWeb, KeyTel, KeyAdr} {
		if slices.ContainsFunc(a, func(k string) bool { return KindOf(k) == kind && slices.Contains(b, k) }) {
			kinds = append(kinds, kind)
		}
	}
	return LinkStrength(kinds...)
}
