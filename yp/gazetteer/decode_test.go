package gazetteer

import (
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func pack(t testing.TB, data string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(data), nil)
}

// oneState is a whole gazetteer: A (1,001 people) and B (1,000) in Texas.
// Varints: 1001 → d2 0f, -1 → 01, 5 → 0a.
const oneState = "YPG1\x01TX\x02" + "\x00\x00" + "\xd2\x0f\x01" + "\x0a\x0a" + "\x0a\x0a" + "A\nB\n"

func TestDecode(t *testing.T) {
	t.Parallel()
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		g, err := Decode(pack(t, oneState))
		if err != nil {
			t.Fatal(err)
		}
		want := Place{Name: "B", State: "TX", Slug: "b-tx", Population: 1000, Lat: 0.00005, Lon: 0.00005, Tier: 3}
		if got := g.In("TX"); len(got) != 2 || got[1] != want {
			t.Errorf("got %+v, want the second to be %+v", got, want)
		}
	})
	t.Run("NoZstd", func(t *testing.T) {
		t.Parallel()
		if _, err := Decode([]byte("nonsense")); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Truncated", func(t *testing.T) {
		t.Parallel()
		for n := range len(oneState) {
			if _, err := Decode(pack(t, oneState[:n])); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes: got %v", n, err)
			}
		}
	})
	for name, data := range map[string]string{
		"Magic":        "YPG2" + oneState[4:],
		"TrailingData": oneState + "x",
		"StateIndex":   "YPG1\x01TX\x02" + "\x00\x01" + oneState[10:],
		"TooMany":      "YPG1\x01TX\xff\xff\xff\xff\x0f" + oneState[8:],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Decode(pack(t, data)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(oneState))
	f.Add([]byte("YPG1\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := columns{data: data}
		g := r.gazetteer()
		if r.bad {
			return
		}
		total := 0
		for state := range g.byState {
			total += len(g.In(state))
		}
		if total > len(g.All()) {
			t.Errorf("%d places in the states, %d in all", total, len(g.All()))
		}
	})
}
