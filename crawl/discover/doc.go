// Package discover says where and what to crawl: it turns an operator's words
// (states, cities, categories, pages) into a plan of targets, and finds the cities of a
// source's index in the gazetteer.
//
// Purpose: resolve names against the gazetteer and the known categories, with
// errors that name the nearest right word; say what a plan will cost; match a city by
// its slug, then by its name.
//
// Invariants: pure; the same selection gives the same plan in the same order
// (largest places first).
//
// Crash: nothing is kept here; checkpoint writes the plan, and writing it again
// changes nothing.
//
// Imports: checkpoint (for the plan's form), yp and yp/gazetteer.
//
// Tests: tables over the real gazetteer.
package discover
