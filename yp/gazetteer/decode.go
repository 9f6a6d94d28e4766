package gazetteer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ypcrawl/yp"
)

// ErrCorrupt means that data are not those of a gazetteer.
var ErrCorrupt = errors.New("corrupt gazetteer data")

// maxMemory bounds what hostile data can make the decoder allocate.
const maxMemory = 16 << 20

// Decode reads places, zstd-compressed: a line for each place, the largest
// first, with its name, state, population, latitude and longitude, separated by tabs. Of several
// states it takes their places alone; without states all.
func Decode(compressed []byte, states ...string) (*Gazetteer, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	defer d.Close()
	data, err := d.DecodeAll(compressed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return parse(string(data), states)
}

func parse(text string, states []string) (*Gazetteer, error) {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("%w: its last line has no end", ErrCorrupt)
	}
	g := &Gazetteer{byState: map[string][]int32{}}
	number := -1
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("%w: a line with %d columns", ErrCorrupt, len(f))
		}
		number++ // its tier is that among all, whichever are taken
		if len(states) > 0 && !slices.Contains(states, f[1]) {
			continue
		}
		p := Place{ // clones: the text is not kept
			Name: strings.Clone(f[0]), State: strings.Clone(f[1]), Slug: yp.CitySlug(f[0], f[1]), Tier: yp.Tier(number, n),
		}
		var bad [3]error
		p.Population, bad[0] = strconv.Atoi(f[2])
		p.Lat, bad[1] = strconv.ParseFloat(f[3], 64)
		p.Lon, bad[2] = strconv.ParseFloat(f[4], 64)
		if err := errors.Join(bad[:]...); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		g.all, g.byState[p.State] = append(g.all, p), append(g.byState[p.State], int32(len(g.all)))
	}
	return g, nil
}
