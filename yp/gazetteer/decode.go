package gazetteer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"ypcrawl/yp"
)

// ErrCorrupt means that data are not those of a gazetteer.
var ErrCorrupt = errors.New("corrupt gazetteer data")

// magic begins the data; the digit is the version of the format.
const magic = "YPG1"

// maxMemory bounds what hostile data can make the decoder allocate.
const maxMemory = 16 << 20

// Decode reads what the generator writes, zstd-compressed: the magic; the
// number of states as a byte and their two-letter codes; the number of places
// as a uvarint; then by columns the state of each place (a byte, index into
// the codes), its population (varint, difference to the one before), latitude
// and longitude (varints, in 1e-5 degrees), and its name, ended by a line feed.
func Decode(compressed []byte) (*Gazetteer, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	defer d.Close()
	data, err := d.DecodeAll(compressed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r := columns{data: data}
	g := r.gazetteer()
	if r.bad {
		return nil, ErrCorrupt
	}
	return g, nil
}

// columns reads the columns one after the other.
type columns struct {
	data []byte
	bad  bool
}

func (r *columns) gazetteer() *Gazetteer {
	codes, n := r.header()
	if r.bad {
		return nil
	}
	g := &Gazetteer{all: make([]Place, n)}
	r.states(g, codes)
	population := int64(0)
	for i := range g.all {
		population += r.varint()
		g.all[i].Population = int(population)
		g.all[i].Tier = tier(i, n)
	}
	for i := range g.all {
		g.all[i].Lat = float64(r.varint()) / 1e5
	}
	for i := range g.all {
		g.all[i].Lon = float64(r.varint()) / 1e5
	}
	r.names(g.all)
	return g
}

// header returns the codes of the states and the number of places, of which
// each takes at least five bytes.
func (r *columns) header() (codes []string, n int) {
	if string(r.take(len(magic))) != magic {
		r.bad = true
		return nil, 0
	}
	count := int(r.octet())
	text := string(r.take(2 * count))
	for i := 0; i+2 <= len(text); i += 2 {
		codes = append(codes, text[i:i+2])
	}
	places, size := binary.Uvarint(r.data)
	if size <= 0 || places > uint64(len(r.data)/5) {
		r.bad = true
		return nil, 0
	}
	r.data = r.data[size:]
	return codes, int(places)
}

// states reads the first column and builds the index by state in one array.
func (r *columns) states(g *Gazetteer, codes []string) {
	column := r.take(len(g.all))
	counts := make([]int, len(codes))
	for _, s := range column {
		if int(s) >= len(codes) {
			r.bad = true
			return
		}
		counts[s]++
	}
	g.byState = make(map[string][]int32, len(codes))
	array, lists := make([]int32, len(g.all)), make([][]int32, len(codes))
	for s, n := range counts {
		lists[s], array = array[:0:n], array[n:]
	}
	for i, s := range column {
		g.all[i].State = codes[s]
		lists[s] = append(lists[s], int32(i))
	}
	for s, list := range lists {
		g.byState[codes[s]] = list
	}
}

// names reads the last column and forms the slugs. All of the text goes into
// one string that the places share.
func (r *columns) names(all []Place) {
	text := make([]byte, 0, 2*len(r.data)+8*len(all))
	type ends struct{ name, slug int32 }
	at := make([]ends, len(all))
	for i := range all {
		end := 0
		for end < len(r.data) && r.data[end] != '\n' {
			end++
		}
		name := string(r.take(end))
		r.octet() // the line feed
		text = append(text, name...)
		at[i].name = int32(len(text))
		text = yp.AppendCitySlug(text, name, all[i].State)
		at[i].slug = int32(len(text))
	}
	r.bad = r.bad || len(r.data) > 0
	shared, start := string(text), int32(0)
	for i := range all {
		all[i].Name, all[i].Slug = shared[start:at[i].name], shared[at[i].name:at[i].slug]
		start = at[i].slug
	}
}

// tier returns the tier of the place that is at index i of n by population.
func tier(i, n int) int {
	switch {
	case 10*i < n:
		return 1
	case 2*i < n:
		return 2
	}
	return 3
}

func (r *columns) take(n int) []byte {
	if n > len(r.data) {
		r.bad = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *columns) octet() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *columns) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}
