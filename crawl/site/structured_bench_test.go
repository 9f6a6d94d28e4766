package site

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStructured reads a page with 30 businesses: as 20 KB of JSON-LD in a
// page of 250 KB, the same without its HTML, and as microdata.
func BenchmarkStructured(b *testing.B) {
	s := prairie(b).WithBaseURL(finalURL(b))
	whole := resultsPage(30, 95)
	script := whole[strings.Index(whole, "<script type=\"application/ld+json\""):]
	for _, c := range []struct{ name, page string }{
		{"whole", whole}, {"script", script[:strings.Index(script, "</script>")+len("</script>")]}, {"microdata", microdataPage(30)},
	} {
		page := []byte(c.page)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := s.ParsePage(page, nil, 200)
				if err != nil || len(p.Listings) != 30 {
					b.Fatal(p, err)
				}
			}
		})
	}
}

func microdataPage(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<div itemscope itemtype="http://schema.org/Plumber"><h3 itemprop="name"><a href="/biz/business-%[1]d">Business %[1]d</a></h3>
<div itemprop="address" itemscope itemtype="http://schema.org/PostalAddress"><span itemprop="streetAddress">%[1]d Main St</span> <span itemprop="addressLocality">Springfield</span>
<span itemprop="addressRegion">IL</span> <span itemprop="postalCode">62701</span></div><span itemprop="telephone">(217) 555-0%[2]d</span></div>`, 400000+i, 100+i)
	}
	return b.String()
}
