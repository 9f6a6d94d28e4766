// Package region turns the HTML of a page into trees of html.Node, as few and as fast
// as a source needs, and finds the elements of many selectors in one walk.
//
// Purpose: of a page of 250 kB all that counts of a results page is in some
// containers of 50 kB, which a source names (Containers). A Parser reads the page once
// and builds nodes for these alone; Parse builds the tree of the whole page, which takes
// eight times as long. Selectors answers all selectors of a source in one walk of either.
//
// The subset: a Parser takes on pages in which the tree is exactly the nesting of the
// tags. Each element that is opened is closed in its place, and no tag implies, closes or
// moves another: no paragraph is left open before a block, no list item before the next,
// nothing but rows and cells is in a table, but for the tbody that is left out. In an
// svg it knows shapes. Attributes are quoted or plain, comments of the plain form,
// elements those in elements.go. By a single byte outside of it, anywhere on the page, the
// Parser gives up, and the caller falls back to Parse. So nothing is ever repaired here. It leaves a page to Parse,
// too, in which a noscript may hold what counts there (noscript.go): only trees of Parse are opened.
//
// Invariants: what a Parser builds equals, node for node, what golang.org/x/net/html
// builds. TestRegionEqualsWhole compares the two over golden pages, mutated
// ones and every pair of troublesome fragments, FuzzRegionEqualsWhole over any other;
// FuzzAttrText does so for values of attributes. No tree is built of a page that could
// take more than a bounded number of nodes and attributes: Parse counts before it builds
// (census.go), and FuzzCensus looks for pages of which html.Parse makes more.
//
// Crash: nothing here has state that outlives a page, does I/O or reads a clock.
//
// Imports: nothing of ours; golang.org/x/net and cascadia.
//
// Tests: those above; chains of compounds against cascadia; the worst pages known, within
// bounds of time and memory (TestWorstPages of package site).
package region
