package site

import (
	"net/url"
	"testing"
)

// What reading any page within the fetcher's limit of 10 MiB may take.
const (
	pageLimit  = 10 << 20
	mostMemory = 300 << 20
)

// readers are all ways to a tree, by the kind of page.
func readers(t testing.TB) map[string]func(body []byte) {
	yellow, own := builtin(t, "yellowpages"), prairie(t)
	at := func(s string) *url.URL { return urlOf(t, s) }
	list, detail, index := finalURL(t), at("https://www.yellowpages.com/springfield-il/mip/x-1"), at("https://www.yellowpages.com/state-az?page=a")
	ownList, ownPage := at(prairieList), at("https://dir.example.com/biz/acme-400001")
	return map[string]func([]byte){
		"results":    func(b []byte) { _, _ = yellow.ParsePage(b, list, 200) },
		"detail":     func(b []byte) { _, _ = yellow.ParseDetail(b, detail, 200) },
		"index":      func(b []byte) { _, _ = yellow.ParseIndex(b, index, 200, "AZ") },
		"structured": func(b []byte) { _, _ = own.ParsePage(b, ownList, 200) },
		"own page":   func(b []byte) { _, _ = own.ParseDetail(b, ownPage, 200) },
	}
}

func urlOf(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	noError(t, err)
	return u
}
