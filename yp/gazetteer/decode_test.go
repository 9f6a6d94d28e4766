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

// oneState is a whole gazetteer.
const oneState = "A\tTX\t1001\t0.00005\t0.00005\nB\tTX\t1000\t0.00005\t0.00005\n"

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
	whole := pack(t, oneState)
	for name, data := range map[string][]byte{
		"NoZstd": []byte("nonsense"), "Truncated": whole[:len(whole)-1], "Nothing": pack(t, ""), "NoLineEnd": pack(t, oneState[:len(oneState)-1]),
		"Columns": pack(t, oneState+"x\n"), "Population": pack(t, "A\tTX\tmany\t0\t0\n"), "Position": pack(t, "A\tTX\t1\there\t0\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Decode(data); !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(oneState)
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parse(text, nil)
		if err != nil {
			return
		}
		total := 0
		for state := range g.byState {
			total += len(g.byState[state])
		}
		if total != len(g.All()) {
			t.Errorf("%d places in the states, %d in all", total, len(g.All()))
		}
	})
}
