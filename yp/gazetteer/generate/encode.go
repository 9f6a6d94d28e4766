package main

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// encode writes cities, sorted by population, in the form that package
// gazetteer reads (see its decode.go). It uses one thread, so that the same input
// gives the same bytes.
func encode(cities []city) ([]byte, error) {
	var b []byte
	for _, c := range cities {
		b = fmt.Appendf(b, "%s\t%s\t%d\t%.5f\t%.5f\n", c.name, c.admin, c.population, float64(c.lat)/1e5, float64(c.lon)/1e5)
	}
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
