package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/yp/gazetteer"
)

// sample has a case for every rule of pick; the expected result is in the test.
var sample = []city{
	{1, "Paris", "FR", "PPLC", "11", 2138551, 4885341, 234880},
	{2, "New York City", "US", "PPL", "NY", 8175133, 4071427, -7400597},
	{3, "Manhattan Valley", "US", "PPLX", "NY", 40000, 4079000, -7396000},
	{4, "Ghost", "US", "PPLQ", "NV", 2000, 3900000, -11700000},
	{5, "Locality", "US", "PPLL", "NV", 2000, 3900000, -11700000},
	{6, "Group", "US", "PPLS", "NV", 2000, 3900000, -11700000},
	{7, "Tiny", "US", "PPL", "TX", 999, 3000000, -9900000},
	{8, "Twin", "US", "PPL", "TX", 3000, 3000000, -9900000},
	{9, "Twin", "US", "PPL", "TX", 5000, 3100000, -9800000},
	{10, "Twin", "US", "PPL", "OK", 3000, 3500000, -9700000},
	{11, "St. Charles", "US", "PPL", "MD", 33379, 3860000, -7690000},
	{12, "Saint Charles", "US", "PPL", "MD", 36376, 3861000, -7691000},
	{13, "City of Milford (balance)", "US", "PPL", "CT", 51271, 4122000, -7306000},
	{14, "San Juan", "US", "PPLA", "PR", 418140, 1846633, -6610572},
	{15, "Kapa‘a", "US", "PPL", "HI", 1000, 2207852, -15932166},
}

// pbf writes cities in the form of the package, as package pbf for node does,
// with a field that we don't read in each.
func pbf(cities []city) []byte {
	var out []byte
	var lat, lon int64
	text := func(b []byte, field byte, s string) []byte {
		b = binary.AppendUvarint(append(b, field<<3|2), uint64(len(s)))
		return append(b, s...)
	}
	for _, c := range cities {
		b := binary.AppendVarint([]byte{fieldID << 3}, c.id)
		b = text(b, fieldName, c.name)
		b = text(b, fieldCountry, c.country)
		b = text(b, 4, "altName")
		b = text(b, fieldFeature, c.feature)
		b = text(b, fieldAdmin, c.admin)
		b = binary.AppendUvarint(append(b, fieldPopulation<<3), uint64(c.population))
		b = binary.AppendVarint(append(b, fieldLon<<3), c.lon-lon)
		b = binary.AppendVarint(append(b, fieldLat<<3), c.lat-lat)
		lat, lon = c.lat, c.lon
		out = append(binary.AppendUvarint(out, uint64(len(b))), b...)
	}
	return out
}

func TestReadCities(t *testing.T) {
	t.Parallel()
	got, err := readCities(pbf(sample))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, sample) {
		t.Errorf("got  %+v\nwant %+v", got, sample)
	}
	whole := pbf(sample[:1])
	for n := 1; n < len(whole); n++ {
		if _, err := readCities(whole[:n]); !errors.Is(err, errTruncated) {
			t.Errorf("cut at byte %d: got %v", n, err)
		}
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	packed, p, err := build(pbf(sample))
	if err != nil {
		t.Fatal(err)
	}
	if p.sameName != 1 || p.sameSlug != 1 {
		t.Errorf("left out %d by name, %d by slug; want 1 of each", p.sameName, p.sameSlug)
	}
	g, err := gazetteer.Decode(packed)
	if err != nil {
		t.Fatal(err)
	}
	want := []gazetteer.Place{
		{Name: "New York", State: "NY", Slug: "new-york-ny", Population: 8175133, Lat: 40.71427, Lon: -74.00597, Tier: 1},
		{Name: "Milford", State: "CT", Slug: "milford-ct", Population: 51271, Lat: 41.22, Lon: -73.06, Tier: 2},
		{Name: "Saint Charles", State: "MD", Slug: "saint-charles-md", Population: 36376, Lat: 38.61, Lon: -76.91, Tier: 2},
		{Name: "Twin", State: "TX", Slug: "twin-tx", Population: 5000, Lat: 31, Lon: -98, Tier: 3},
		{Name: "Twin", State: "OK", Slug: "twin-ok", Population: 3000, Lat: 35, Lon: -97, Tier: 3},
		{Name: "Kapa‘a", State: "HI", Slug: "kapaa-hi", Population: 1000, Lat: 22.07852, Lon: -159.32166, Tier: 3},
	}
	if got := g.All(); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDeterministic writes the embedded places again: the bytes must be those
// of the committed file, whatever the order of the input.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("../places.zst")
	if err != nil {
		t.Fatal(err)
	}
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	var cities []city
	for i, p := range g.All() {
		cities = append(cities, city{
			id: int64(i), name: p.Name, country: "US", feature: "PPL", admin: p.State, population: int64(p.Population),
			lat: int64(math.Round(p.Lat * 1e5)), lon: int64(math.Round(p.Lon * 1e5)),
		})
	}
	slices.Reverse(cities)
	packed, _, err := build(pbf(cities))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed, committed) {
		t.Errorf("%d bytes differ from the %d committed: run go generate", len(packed), len(committed))
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, dataFile), pbf(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "places.zst")
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		var report strings.Builder
		if err := run(context.Background(), []string{"-package", dir, "-o", out}, &report); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(report.String(), "6 places") {
			t.Errorf("report: %s", &report)
		}
		want, _, err := build(pbf(sample))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("wrote %d bytes, want %d (%v)", len(got), len(want), err)
		}
	})
	t.Run("NoPackage", func(t *testing.T) {
		t.Parallel()
		err := run(context.Background(), []string{"-package", filepath.Join(dir, "none")}, io.Discard)
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Help", func(t *testing.T) {
		t.Parallel()
		if err := run(context.Background(), []string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	pack := func(name string) io.Reader {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		tw := tar.NewWriter(zw)
		err := errors.Join(
			tw.WriteHeader(&tar.Header{Name: "package/README.md", Mode: 0o600, Size: 2}), write(tw, "hi"),
			tw.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: 4}), write(tw, "data"),
			tw.Close(), zw.Close())
		if err != nil {
			t.Fatal(err)
		}
		return &b
	}
	if got, err := unpack(pack("package/cities.pbf")); err != nil || string(got) != "data" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := unpack(pack("package/other")); err == nil {
		t.Errorf("got %q, want an error", got)
	}
}

func write(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

func FuzzReadCities(f *testing.F) {
	f.Add(pbf(sample[:2]))
	f.Fuzz(func(t *testing.T, data []byte) {
		cities, err := readCities(data)
		if err != nil && cities != nil {
			t.Error("cities in spite of an error")
		}
	})
}
