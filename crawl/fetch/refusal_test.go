package fetch

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"ypcrawl/store/storetest"
)

func TestReasonOf(t *testing.T) {
	at := parse(t, "https://acme.com/a/b")
	legal := func(lines ...string) http.Header { return http.Header{"Link": lines} }
	price := func(v string) http.Header { return http.Header{"Crawler-Price": {v}} }
	for _, tt := range []struct {
		name   string
		status int
		header http.Header
		want   string
	}{
		{"a price", 402, price("USD 0.01"), "crawler-price USD 0.01"},
		{"a price in two lines' blanks", 402, price(" USD \t 0.01 "), "crawler-price USD 0.01"},
		{"no price", 402, nil, ""},
		{"an empty one", 402, price(" "), ""},
		{"a price of another answer", 403, price("USD 0.01"), ""},
		{"a price without end", 402, price(strings.Repeat("9", 5000)), "crawler-price " + strings.Repeat("9", mostReason)},
		{"who wants it", 451, legal(`<https://x.example/order>; rel="blocked-by"`), "blocked by https://x.example/order"},
		{"as a token", 451, legal(`<https://x.example>;rel=blocked-by`), "blocked by https://x.example"},
		{"in capitals", 451, legal(`<https://x.example>; REL="Blocked-By"`), "blocked by https://x.example"},
		{"among others", 451, legal(`</a.css>; rel=preload; title="a, b; rel=blocked-by", <https://x.example/1>; rel="author blocked-by"`), "blocked by https://x.example/1"},
		{"in another line", 451, legal(`</>; rel=home`, `<https://x.example/2>; rel=blocked-by`), "blocked by https://x.example/2"},
		{"relative", 451, legal(`</legal>; rel=blocked-by`), "blocked by https://acme.com/legal"},
		{"a comma in the address", 451, legal(`<https://x.example/a,b;c>; rel=blocked-by`), "blocked by https://x.example/a,b;c"},
		{"a password in it", 451, legal(`<https://me:secret@x.example/>; rel=blocked-by`), "blocked by https://x.example/"},
		{"the first rel counts", 451, legal(`<https://x.example/>; rel=author; rel=blocked-by`), ""},
		{"no web address", 451, legal(`<mailto:a@x.example>; rel=blocked-by`), ""},
		{"no host", 451, legal(`<https:///a>; rel=blocked-by`), ""},
		{"another relation", 451, legal(`<https://x.example/>; rel=blocked-by-us`), ""},
		{"quotes without end", 451, legal(`<https://x.example/>; title="a; rel=blocked-by`), ""},
		{"no closing bracket", 451, legal(`<https://x.example/; rel=blocked-by`), ""},
		{"no address", 451, legal(`rel=blocked-by`), ""},
		{"links without end", 451, legal(strings.Repeat(`</>; rel=home, `, 5000) + `<https://x.example/>; rel=blocked-by`), ""},
		{"who wants it, of another answer", 403, legal(`<https://x.example/>; rel=blocked-by`), ""},
	} {
		got := ""
		if err := reasonOf(at, tt.status, tt.header); err != nil {
			got = err.Error()
		}
		storetest.Equal(t, got, tt.want, tt.name)
	}
}

func FuzzReasonOf(f *testing.F) {
	for _, line := range []string{`<https://x.example/order>; rel="blocked-by"`, `</a>;title="\"", <b>;rel='a blocked-by'`, `<<>>,;=""`, "USD 0.01"} {
		f.Add(line)
	}
	at := parse(f, "https://acme.com/a/b")
	f.Fuzz(func(t *testing.T, line string) {
		for _, status := range []int{402, 451} {
			err := reasonOf(at, status, http.Header{"Link": {line}, "Crawler-Price": {line}})
			if err == nil {
				continue
			}
			if said := err.Error(); len(said) > 4*mostReason || !utf8.ValidString(said) || strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%d: %q", status, said)
			}
		}
	})
}
