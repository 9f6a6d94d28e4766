//go:build race

package crawl_test

// raced: the race detector makes everything ten times as slow, so that the long crawls
// are shorter under it.
const raced = true
