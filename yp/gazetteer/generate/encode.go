package main

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// encode writes cities, sorted by population, in the form that package
// gazetteer reads (see its decode.go): columns, not rows, because like
// compresses well beside like.
func encode(cities []city) ([]byte, error) {
	codes := stateCodes(cities)
	b := append([]byte("YPG1"), byte(len(codes)))
	for _, code := range codes {
		b = append(b, code...)
	}
	b = binary.AppendUvarint(b, uint64(len(cities)))
	for _, c := range cities {
		b = append(b, byte(slices.Index(codes, c.admin)))
	}
	last := int64(0)
	for _, c := range cities {
		b = binary.AppendVarint(b, c.population-last)
		last = c.population
	}
	for _, c := range cities {
		b = binary.AppendVarint(b, c.lat)
	}
	for _, c := range cities {
		b = binary.AppendVarint(b, c.lon)
	}
	for _, c := range cities {
		b = append(append(b, c.name...), '\n')
	}
	return compress(b)
}

// stateCodes returns the codes of the states that have a city, sorted.
func stateCodes(cities []city) []string {
	var codes []string
	for _, c := range cities {
		codes = append(codes, c.admin)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// compress uses one thread, so that the same input gives the same bytes.
func compress(b []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	out := w.EncodeAll(b, nil)
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("close zstd encoder: %w", err)
	}
	return out, nil
}
