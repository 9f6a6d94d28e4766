//go:build !race

package crawl_test

const raced = false

const somePlaces = 4
