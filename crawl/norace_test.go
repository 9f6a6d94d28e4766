//go:build !race

package crawl_test

const raced = false
