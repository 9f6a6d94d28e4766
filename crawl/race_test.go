//go:build race

package crawl_test

// raced: the race detector makes everything ten times as slow, so that the long crawls
// are shorter under it.
const raced = true

// somePlaces is the size of a demo directory that is crawled whole in passing.
const somePlaces = 2
