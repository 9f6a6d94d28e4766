// Package demo is the demo directory: a deterministic business directory with
// the look of the real thing, served from memory on a loopback port.
//
// Purpose: something to crawl that harms nobody, that has every oddity of the
// real pages (site-facts, sections 2 to 5 and 7), that can be told to fail, and
// that knows exactly what a complete crawl of it must end with (Truth).
//
// Invariants: every byte of a page follows from the seed, the gazetteer and the
// URL; a business has the same values wherever it appears (older markup only
// leaves some out); nothing is stored per business or per page, so memory stays
// at a few hundred kilobytes. Which requests fail follows from the seed, the URL
// and how often it was asked for.
//
// Crash: it has no state worth keeping. The request counts are lost with the
// process, and so the sequence of injected failures starts again.
//
// Imports: yp, yp/gazetteer, the standard library and zerolog; nothing else of
// ours. Tests may parse its pages with crawl/site.
//
// Tests: same seed, same bytes; a census of every oddity in the default
// selection of two states; gzip against the plain bytes; truth against an
// independent reading of the served pages; failure rates; a benchmark of
// serving a page.
package demo
