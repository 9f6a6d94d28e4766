//go:build !race

package crawl_test

const madeHistoriesByDefault = 300
