package demo_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp"
)

// readDetail reads a business's own page in the plainest way.
func readDetail(t *testing.T, d http.Handler, uri string, counts map[string]int) yp.Detail {
	t.Helper()
	w := get(d, uri)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(between(w.Body.String(), `<main id="bpp"`, `</main>`)))
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: status %d, %v", uri, w.Code, err)
	}
	main := doc.Find("main#bpp")
	det := yp.Detail{
		ID: main.AttrOr("data-ypid", ""), Name: yp.Clean(main.Find("h1.business-name").Text()), Phone: main.Find("#default-ctas a.phone strong").Text(),
		About: strings.TrimPrefix(main.Find(".general-info").Text(), "From Business: "), Email: emailOf(main, counts),
	}
	det.PhoneE164, _ = yp.CanonicalPhone(det.Phone)
	if tel := main.Find("#default-ctas a.phone").AttrOr("href", "tel:"); tel != "tel:"+det.PhoneE164 {
		t.Errorf("%s: the phone links to %s", uri, tel)
	}
	if site := main.Find("a.website-link").AttrOr("href", ""); !strings.HasPrefix(site, "/") {
		if c, ok := yp.CanonicalWebsite(site); ok {
			det.WebsiteURL, det.Website, det.Domain = site, c.URL, c.Domain
		}
	}
	det.Years, _ = strconv.Atoi(main.Find(".years-in-business .number").Text())
	main.Find(".open-details time").Each(func(_ int, s *goquery.Selection) { det.Hours = append(det.Hours, s.AttrOr("datetime", "")) })
	counts["day"] += main.Find("th.day-label").Length()
	main.Find(".social-links a").Each(func(_ int, a *goquery.Selection) {
		if href := a.AttrOr("href", ""); !strings.HasSuffix(href, "facebook.com/platform") {
			det.Social = append(det.Social, href)
		} else {
			counts["placeholder"]++
		}
	})
	main.Find(".aka p").Each(func(_ int, p *goquery.Selection) { det.AKA = append(det.AKA, p.Text()) })
	det.Services, det.Payment = words(main, ".features-services"), words(main, ".payment")
	det.Languages, det.Neighborhoods = words(main, ".languages"), words(main, ".neighborhoods")
	readLD(t, main, &det)
	return det
}

// between cuts the frame of a page away, which takes longer to parse than the rest.
func between(body, from, to string) string {
	i, j := strings.Index(body, from), strings.LastIndex(body, to)
	return body[max(i, 0):max(i, j, 0)]
}

// words reads a list: of elements, or of words between commas.
func words(main *goquery.Selection, sel string) (out []string) {
	list := main.Find(sel)
	if spans := list.Find("span"); spans.Length() > 0 {
		return spans.Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	}
	if text := list.Text(); text != "" {
		return strings.Split(text, ", ")
	}
	return nil
}

func emailOf(main *goquery.Selection, counts map[string]int) string {
	href := main.Find("a.email-business").AttrOr("href", "")
	if plain, ok := strings.CutPrefix(href, "mailto:"); ok {
		counts["mailto"]++
		return plain
	}
	counts["no e-mail"]++
	return ""
}

// readLD adds what the JSON-LD alone says, and compares the rest.
func readLD(t *testing.T, main *goquery.Selection, det *yp.Detail) {
	t.Helper()
	text := main.Find(`script[type="application/ld+json"]`).Text()
	type business struct {
		Telephone, Email, FoundingDate, PaymentAccepted, URL string
		OpeningHours                                         []string
		Geo                                                  struct{ Latitude, Longitude float64 }
	}
	var ld business
	if err := json.Unmarshal([]byte(text), &ld); err != nil {
		t.Fatal(err)
	}
	det.Lat, det.Lon = ld.Geo.Latitude, ld.Geo.Longitude
	det.Founded, _ = strconv.Atoi(ld.FoundingDate)
	if ld.Telephone != det.Phone || ld.PaymentAccepted != strings.Join(det.Payment, ", ") || cmp.Diff(ld.OpeningHours, det.Hours) != "" {
		t.Errorf("%s: JSON-LD says something else than the page: %s", det.ID, text)
	}
	if ld.Email != "" && ld.Email != "mailto:"+det.Email || ld.URL != "" && ld.URL != det.WebsiteURL {
		t.Errorf("%s: JSON-LD says something else than the page: %s", det.ID, text)
	}
	if math.Abs(det.Lat*1e5-math.Round(det.Lat*1e5)) > 1e-6 {
		t.Errorf("%s: latitude %v has more than five decimals", det.ID, det.Lat)
	}
}

// TestDetailsEqualReading: Details is what the listings' own pages say, and the
// pages are varied enough to be worth reading.
func TestDetailsEqualReading(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{Seed: 2, Epoch: 1})
	base, err := url.Parse("http://127.0.0.1:9999")
	if err != nil {
		t.Fatal(err)
	}
	sel := demo.Selection{States: []string{"NM", "CO"}, MaxPages: 1, MinPopulation: 130_000, IncludeSponsored: true, Categories: []string{"Restaurants", "Dentists"}}
	truth, counts := d.Truth(base, sel), make(map[string]int)
	var read []yp.Detail
	for _, l := range truth.Listings {
		det := readDetail(t, d, strings.TrimPrefix(l.ProfileURL, base.String()), counts)
		read = append(read, det)
		counts["phone only here"] += map[bool]int{true: 1}[l.Phone == "" && det.Phone != ""]
		counts["hours only here"] += map[bool]int{true: 1}[len(l.Hours) == 0 && len(det.Hours) > 0]
		counts["social"] += len(det.Social)
		counts["no languages"] += map[bool]int{true: 1}[det.Languages == nil]
		counts["other name"] += len(det.AKA)
		counts["geo"] += map[bool]int{true: 1}[det.Lat != 0]
	}
	if diff := cmp.Diff(d.Details(base, sel), read); diff != "" {
		t.Errorf("details differ (-truth +read):\n%.6000s", diff)
	}
	for _, what := range []string{
		"phone only here", "hours only here", "mailto", "no e-mail", "social", "placeholder", "other name", "geo", "day", "no languages",
	} {
		if counts[what] == 0 {
			t.Errorf("no case of %q", what)
		}
	}
	t.Logf("%d pages: %v", len(read), counts)
}
