// Package directories makes directories of the forms that other systems give them: a search engine's JSON, GraphQL, Next.js,
// WordPress, a table of a registry, a store finder.
//
// Purpose: each Directory stands for a definition, testdata/directories/NAME.yaml. It makes its pages from businesses of its
// own, and knows what a crawl must find: Listings, Gone, Pages. A Server serves one of them; it counts what it is asked for,
// moves on to the next epoch, and fails as such systems do, with status 200.
//
// Invariants: a page follows from the directory, the epoch and what is asked for alone. What a listing must be is written by
// hand beside the page that says it, and by none of the program's code.
//
// Crash: nothing is kept.
//
// Imports: yp, for what a listing is.
//
// Tests: end-to-end tests crawl each directory with the real program and kill it; the golden pages in
// testdata/pages/directories are those that it makes (-update writes them anew).
package directories
