// Package gazetteer knows the places of the USA with at least 1,000 people.
//
// Purpose: to say which cities there are to search, how large and where they are, and how many
// pages each deserves. The data, places.zst, come from GeoNames (https://www.geonames.org), licensed
// under CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), and were changed: SOURCE.md beside
// it says how it was made.
//
// Invariants: places are sorted by population, largest first, then by state and name; a slug occurs
// once; every state has a place. There is no package state: each Load makes a Gazetteer of its own,
// which never changes and may be used by any number of goroutines.
//
// Crash: the data are part of the program, so nothing can be lost.
//
// Imports: yp; klauspost/compress.
//
// Tests: count, known places, unique slugs and the tiers' shares of the embedded data; the decoder
// on damaged data, by a fuzz target.
package gazetteer
