package demo

import "testing"

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, k := range []key{{0, 0, 0}, {1, 2, 3}, {15_855, 4, maxLocal - 1}, {nationwide, 4, 5}, {12_345, 1, 2_047}} {
		if got, ok := keyOf(k.id()); !ok || got != k {
			t.Errorf("%+v: id %d reads back as %+v, %v", k, k.id(), got, ok)
		}
	}
	for _, id := range []int64{-1, 0, 1, idOffset, idPrime + idOffset, 1 << 62} {
		if k, ok := keyOf(id); ok {
			t.Errorf("id %d reads as %+v", id, k)
		}
	}
}
