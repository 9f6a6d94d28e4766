// Package demo is the demo directory: a deterministic business directory with
// the look of the real thing, served from memory on a loopback port.
//
// Purpose: something to crawl that harms nobody, that has the oddities of the
// real pages of today (docs/site-facts.md, sections 2 to 5 and 7; older markup is testdata/pages'), that can be told to fail, and
// that knows exactly what a complete crawl of it must end with (Truth). It
// answers in JSON, too: a list by offset, and GraphQL (api.go), from the same businesses. It
// changes from epoch to epoch as a living directory does: a business opens, closes
// or changes, a city enters or leaves; Changes says what a crawler must notice of it.
//
// Invariants: every byte of a page follows from the seed, the epoch, the
// gazetteer and the URL; within an epoch a business has the same values wherever
// it appears (ads only leave some out); an id means the same business
// in all epochs; nothing is stored per business or page. Which requests fail follows from the seed, the URL and how often it
// was asked for.
//
// Crash: it has no state worth keeping. The request counts and the epoch are
// lost with the process, and so the sequence of injected failures starts again.
//
// Imports: yp and yp/gazetteer; zerolog. Tests may parse its pages with crawl/site.
//
// Tests: same seed and epoch, same bytes; a census of every oddity and of every
// kind of change in the default selection of two states; truth, changes, details and cities against independent readings of the
// served pages; the interfaces against the pages; failure rates; benchmarks of serving a page.
package demo
