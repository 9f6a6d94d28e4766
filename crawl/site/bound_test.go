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
func readers(t testing.TB) map[string]func(body []byte) error {
	yellow, own := builtin(t, "yellowpages"), prairie(t)
	at := func(s string) *url.URL { return urlOf(t, s) }
	list, detail, index := finalURL(t), at("https://www.yellowpages.com/springfield-il/mip/x-1"), at("https://www.yellowpages.com/state-az?page=a")
	ownList, ownPage := at(prairieList), at("https://dir.example.com/biz/acme-400001")
	return map[string]func([]byte) error{
		"results":    func(b []byte) error { _, err := yellow.ParsePage(b, list, 200); return err },
		"detail":     func(b []byte) error { _, err := yellow.ParseDetail(b, detail, 200); return err },
		"index":      func(b []byte) error { _, err := yellow.ParseIndex(b, index, 200, "AZ"); return err },
		"structured": func(b []byte) error { _, err := own.ParsePage(b, ownList, 200); return err },
		"own page":   func(b []byte) error { _, err := own.ParseDetail(b, ownPage, 200); return err },
	}
}

func urlOf(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	noError(t, err)
	return u
}
