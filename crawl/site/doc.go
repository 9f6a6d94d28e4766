// Package site knows what directory sites look like: source definitions, and
// pages turned into listings.
//
// Purpose: a Source is a YAML definition, checked and compiled when it is
// loaded: what is asked for (Request), which selectors find cards and fields, what the
// site's chrome and its empty results look like. ParsePage takes the HTML of a
// results page and returns its listings, the site's total, the next link, and
// an Outcome with a reason for people. Read tells besides which rule gave each value. ParseIndex does so with the cities of a
// state's index, ParseDetail with the page of one listing; Check says why a
// listing may not be promoted.
//
// Invariants: a card without a name or an id is counted as bad, never guessed;
// "empty" is said only of pages that say so themselves; outcomes follow in the
// order written down at Source.decide. A page whose tags are in good order is read
// from the containers that the source names and from nothing else (package region),
// and the result equals, byte for byte, that of taking them from the whole page; any
// other page is parsed whole and read from everywhere. In noscript
// cards and links of a results page count, and nothing that is said. Detail pages have regions of
// their own. A page that breaks off is an error (docs/decisions/0026). Of the
// businesses in a detail page's JSON-LD only one that is plainly that of the page
// counts. What is in a template counts as little as a script. Everything kept from
// a page is cleaned, bounded in length and number, and does not hold on to the page's
// memory. A Source is never changed, and safe for use by many goroutines.
//
// Crash: nothing here has state, does I/O or reads a clock, so nothing can be
// lost.
//
// Imports: crawl/site/region, crawl/site/structured, crawl/site/jsondoc, yp and yp/weburl; goquery and cascadia
// (docs/decisions/0065), golang.org/x/net, yaml.
//
// Tests: golden pages of both markups (testdata/pages, -update); tables for
// every rule of definitions, outcomes, addresses and values; results read from
// regions against those of the whole page, over the pages on which package region
// compares trees; every tag of a page removed and doubled (TestOneTag); the worst
// pages known, within bounds of time and memory (TestWorstPages); fuzz targets for each
// parser; a benchmark of each way to read a page. Crawls of the demo directory are compared
// with what it knows in the end-to-end tests.
package site
