//go:build !race

package health

// scale is how much of the full count of pages the tests of the layout alarm feed.
const scale = 1
