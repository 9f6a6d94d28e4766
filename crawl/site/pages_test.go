package site

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/crawl/site/region/regiontest"
)

const pagesDir = "../../testdata/pages"

// seedPages returns the golden pages and two generated ones, by name.
func seedPages(t testing.TB) map[string]string {
	t.Helper()
	pages := regiontest.Golden(t, pagesDir)
	pages["small"] = resultsPage(2, 1)
	return pages
}

// resultsPage writes a results page of the current markup with the given
// number of cards; filler is how many times its scripts and chrome repeat.
func resultsPage(cards, filler int) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Best 30 Plumbers in Springfield, IL | The Real Yellow Pages</title>\n")
	for i := range filler {
		fmt.Fprintf(&b, "<style>.srp-%d .n > a { color: #%03x; } .x::before { content: \"<\"; }</style>\n", i, i)
		fmt.Fprintf(&b, "<script>window.cfg%d = {\"a\": [1,2,3], html: \"<div class='result'><p>\", end: 1 < 2 && 3 > 2, s: '%s'};</script>\n", i, strings.Repeat("lorem ipsum dolor ", 30))
	}
	b.WriteString("</head>\n<body class=\"srp\">\n<header id=\"main-header\"><form action=\"/search\"><input name=\"search_terms\" value=\"plumbers\"><select name=\"s\"><option value=\"\">Default</option><option>Distance</option></select><button type=\"submit\">Find</button></form></header>\n<nav><ul>\n")
	for i := range filler * 3 {
		fmt.Fprintf(&b, "<li class=\"nav-item\"><a href=\"/springfield-il/category-%d\" data-analytics='{\"click_id\":%d}'>Category &amp; more %d</a></li>\n", i, i, i)
	}
	b.WriteString("</ul></nav>\n<div id=\"main-content\">\n")
	fmt.Fprintf(&b, "<div class=\"showing-count\">Showing 1-%d of 1,108<span class=\"more\"> results</span></div>\n<div class=\"search-results organic\">\n", cards)
	for i := range cards {
		writeCard(&b, i)
	}
	b.WriteString("</div>\n<div class=\"pagination\"><ul><li><span class=\"disabled\">1</span></li><li><a class=\"next ajax-page\" href=\"/springfield-il/plumbers?page=2&amp;s=x\">Next</a></li></ul></div>\n</div>\n<aside id=\"main-aside\"><section class=\"featured-listings\"></section></aside>\n")
	b.WriteString("<script type=\"application/ld+json\">[")
	for i := range cards {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"@context":"http://schema.org","@type":"LocalBusiness","name":"Business %d","url":"https://www.yellowpages.com/springfield-il/mip/business-%d-%d","telephone":"(217) 555-%04d","address":{"@type":"PostalAddress","streetAddress":"%d Main St","addressLocality":"Springfield","addressRegion":"IL","postalCode":"62701","addressCountry":"US"},"openingHours":["Mo-Th 11:00-21:30","Fr 12:00-02:00"],"aggregateRating":{"@type":"AggregateRating","ratingValue":4.5,"reviewCount":12}}`, i, i, 400000+i, i, 100+i)
	}
	b.WriteString("]</script>\n<footer id=\"main-footer\"><ul>\n")
	for i := range filler * 3 {
		fmt.Fprintf(&b, "<li><a href=\"/il/city-%d\">City %d</a></li>\n", i, i)
	}
	b.WriteString("</ul></footer>\n")
	for i := range filler {
		fmt.Fprintf(&b, "<script>(function(){var t%d = '%s';})();</script>\n", i, strings.Repeat("abcdefgh ", 60))
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}

func writeCard(b *strings.Builder, i int) {
	fmt.Fprintf(b, `<div class="result" id="lid-%[2]d" data-ypid="%[1]d" data-analytics='{"act":1,"ypid":"%[1]d","listing_id":"%[2]d","listing_type":"free","rank":%[3]d,"mip_claimed_status":"mip_claimed","features":"directions,more_info,phone"}'>
 <div class="srp-listing clickable-area mdm"><div class="v-card">
  <div class="media-thumbnail"><a class="media-thumbnail-wrapper" href="/springfield-il/mip/business-%[4]d-%[1]d"><img class="lazy" src="/images/default-thumbnails/g.png" data-src="//i1.example/p/%[1]d_114x84.jpg?x=1&amp;y=2" alt="Business"></a></div>
  <div class="info"><div class="info-section info-primary">
   <h2 class="n">%[3]d. <a class="business-name" href="/springfield-il/mip/business-%[4]d-%[1]d?lid=%[2]d" data-analytics='{"target":"name"}'><span>Business %[4]d &amp; Sons</span></a></h2>
   <div class="ratings" data-tripadvisor='{"rating":"4.0","count":"3"}'><a class="rating hasExtraRating" href="#"><div class="result-rating four half "></div><span class="count">(12)</span></a></div>
   <div class="categories"><a href="/springfield-il/plumbers">Plumbers</a><a href="/springfield-il/drains">Drain Cleaning</a><a href="/springfield-il/plumbers">Plumbers</a></div>
   <div class="links"><a class="track-visit-website" href="http://www.business%[4]d.com/?utm_source=yp">Website</a><a class="track-map-it directions" href="/listings/%[2]d/directions">Directions</a><a class="track-more-info" href="/springfield-il/mip/business-%[4]d-%[1]d">More Info</a></div>
   <div class="amenities"><span class="amenity-icon"><svg class="icon" width="14" height="14" viewBox="0 0 24 24" aria-hidden="true"><path d="M9 16.17 4.83 12z"></path></svg></span></div>
   <div class="badges"><div class="years-in-business"><div class="count"><strong>%[5]d</strong> Years</div><span>in Business</span></div></div>
  </div><div class="info-section info-secondary">
   <div class="phones phone primary">(217) 555-%04[4]d</div>
   <div class="adr"><div class="street-address">%[5]d Main St  Ste %[4]d</div><div class="locality">Springfield, IL 62701</div></div>
   <div class="open-status open">open now</div><div class="price-range">$$</div>
  </div>
  <div class="snippet"><p class="body"><span class="avatar"></span>From Business: We fix leaks &amp; drains, day and night.</p></div>
 </div></div></div></div>
`, 400000+i, 900000+i, i+1, i, 100+i)
}
