package store_test

import (
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// BenchmarkPrepare is what a worker does with a page of 30 listings before its transaction.
func BenchmarkPrepare(b *testing.B) {
	page := yp.Page{Number: 1, Raw: 30, Listings: fullPage(0, 0, 0)}
	b.ReportAllocs()
	for b.Loop() {
		store.Prepare(&page)
	}
}
