//go:build race

package crawl_test

// madeHistoriesByDefault is how many made sites are crawled: under the race detector one takes ten
// times as long.
const madeHistoriesByDefault = 30
