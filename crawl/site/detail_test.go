package site

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const (
	mip = "https://www.yellowpages.com/springfield-il/mip/joes-plumbing-400001"
	bpp = `<main id="bpp" data-ypid="400001"><h1 class="business-name">Joe&#39;s Plumbing</h1>`
)

func parseDetail(t testing.TB, s *Source, body, final string, status int) *Page {
	t.Helper()
	p, err := s.ParseDetail([]byte(body), urlOf(t, final), status)
	noError(t, err)
	return p
}

func TestDetailOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, body, final string
		status            int
		want              Outcome
	}{
		{"1 homepage", siteHTML(bpp), "https://www.yellowpages.com/", 200, Redirected},
		{"1 homepage wins over 404", siteHTML(""), "https://www.yellowpages.com/", 404, Redirected},
		{"1 search", siteHTML(bpp), "https://www.yellowpages.com/search?search_terms=joe", 200, Redirected},
		{"1 a page below it", siteHTML(bpp), mip + "/photos", 200, Redirected},
		{"1 another slug is the same page", siteHTML(bpp), "https://www.yellowpages.com/chatham-il/mip/joe-and-sons--2-400001?lid=7", 200, OK},
		{"1 nationwide", siteHTML(bpp), "http://yellowpages.com/nationwide/mip/400001/", 200, OK},
		{"2 not found", siteHTML("gone"), mip, 404, NoListings},
		{"2 not found without chrome", "nginx 404", mip, 404, Missing},
		{"2 not found, whatever it shows", "<p>x" + bpp, mip, 410, Missing},
		{"3 another id", siteHTML(bpp), strings.Replace(mip, "400001", "400002", 1), 200, Unrecognised},
		{"4 name and id", siteHTML(bpp), mip, 200, OK},
		{"4 needs no chrome", "<p>x" + bpp, mip, 200, OK},
		{"4 the URL's id will do", siteHTML(`<main id="bpp"><h1 class="business-name">Joe</h1></main>`), mip, 200, OK},
		{"4 the older heading", siteHTML(`<div class="sales-info"><h1>Joe</h1></div>`), mip, 200, OK},
		{"4 a name in JSON-LD", siteHTML(`<main id="bpp"><script type="application/ld+json">{"@type":"LocalBusiness","name":"Joe"}</script></main>`), mip, 200, OK},
		{"5 marks without a name", siteHTML(`<main id="bpp"><h1>Joe</h1></main>`), mip, 200, HTMLChanged},
		{"5 other page of the site", siteHTML(`<div id="main-content">` + aCard + `</div>`), mip, 200, HTMLChanged},
		{"5 JSON-LD without marks is no name", siteHTML(`<script type="application/ld+json">{"@type":"LocalBusiness","name":"Joe"}</script>`), mip, 200, HTMLChanged},
		{"6 empty body", "", mip, 200, Unrecognised},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := parseDetail(t, builtin(t, "yellowpages"), c.body, c.final, c.status)
			if p.Outcome != c.want || p.Reason == "" {
				t.Errorf("got %v (%q), want %v", p.Outcome, p.Reason, c.want)
			}
			storetest.Equal(t, p.OwnListing() != nil && p.OwnListing().ID == "400001" && p.OwnListing().Name != "", c.want == OK, p.Outcome, p.OwnListing())
		})
	}
	t.Run("FinalUnknown", func(t *testing.T) {
		y := builtin(t, "yellowpages")
		if p, err := y.ParseDetail([]byte(siteHTML(bpp)), nil, 200); err != nil || p.Outcome != OK || p.OwnListing().ID != "400001" {
			t.Errorf("got %+v, %v", p, err)
		}
		if p, err := y.ParseDetail([]byte(siteHTML(`<h1 class="business-name">Joe</h1>`)), nil, 200); err != nil || p.Outcome != HTMLChanged {
			t.Errorf("no id anywhere: %+v, %v", p, err)
		}
	})
	t.Run("ErrNoDetails", func(t *testing.T) {
		small, err := Parse("small.yaml", []byte(smallDef))
		noError(t, err)
		if _, err := small.ParseDetail(nil, nil, 200); !errors.Is(err, ErrNoDetails) || small.HasDetails() || !builtin(t, "demo").HasDetails() {
			t.Errorf("got %v", err)
		}
	})
}

// ctas, info, ld and table put markup where detail pages have it.
func ctas(s string) string { return `<section id="default-ctas">` + s + `</section>` }

func info(dt, dd string) string {
	return `<section id="business-info"><dl><dt>` + dt + `</dt>` + dd + `</dl></section>`
}

func ld(members string) string {
	return `<script type="application/ld+json">{"@type":"LocalBusiness","name":"Joe's Plumbing",` + members + `}</script>`
}

func table(rows string) string {
	return `<div class="open-details"><table><tbody>` + rows + `</tbody></table></div>`
}

// TestDetailFields checks where each field comes from, and what it must look
// like.
func TestDetailFields(t *testing.T) {
	s := builtin(t, "yellowpages")
	for name, c := range map[string]struct {
		body string
		want yp.Listing
	}{
		"phone of the button":      {ctas(`<a class="phone" href="tel:+12175550100"><strong>(217) 555-0100</strong></a>`), yp.Listing{Phone: "(217) 555-0100", PhoneE164: "+12175550100"}},
		"phone of its link":        {ctas(`<a class="phone" href="tel:+12175550100">Call</a>`), yp.Listing{Phone: "+12175550100", PhoneE164: "+12175550100"}},
		"email mailto":             {ctas(`<a class="email-business" href="mailto:Joe@JOES.example?subject=x">Email</a>`), yp.Listing{Email: "Joe@joes.example"}},
		"email hidden in a link":   {ctas(`<a class="email-business" href="/cdn-cgi/l/email-protection#` + hide("joe@joes.example", 0x5a) + `">Email</a>`), yp.Listing{Email: "joe@joes.example"}},
		"email hidden, capitals":   {ctas(`<a class="email-business" href="https://www.yellowpages.com/cdn-cgi/l/email-protection#` + strings.ToUpper(hide("joe@joes.example?subject=Hi", 0xff)) + `">Email</a>`), yp.Listing{Email: "joe@joes.example"}},
		"email in an attribute":    {info("Email", `<dd><span class="__cf_email__" data-cfemail="`+hide("joe@joes.example", 1)+`">[email&#160;protected]</span></dd>`), yp.Listing{Email: "joe@joes.example"}},
		"email as text":            {info("Email:", `<dd>Write to <b>joe@joes.example</b>.</dd>`), yp.Listing{Email: "joe@joes.example"}},
		"email, the next one":      {ctas(`<a class="email-business" href="mailto:">x</a><a class="email-business" href="mailto:joe@joes.example">x</a>`), yp.Listing{Email: "joe@joes.example"}},
		"email of the directory":   {ctas(`<a class="email-business" href="mailto:help@mail.yellowpages.com">x</a>`), yp.Listing{}},
		"email elsewhere":          {`<p><a href="mailto:press@other.example">x</a></p>`, yp.Listing{}},
		"website of the button":    {ctas(`<a class="website-link" href="http://www.joes.example/?utm_source=yp">x</a>`) + ld(`"url":"https://other.example"`), site("http://www.joes.example/?utm_source=yp", "https://joes.example", "joes.example")},
		"website of the directory": {ctas(`<a class="website-link" href="https://www.yellowpages.com/joes">x</a>`) + ld(`"url":"https://joes.example"`), site("https://joes.example", "https://joes.example", "joes.example")},
		"website under a label":    {info("Website", `<dd><a href="/more">x</a> <a href="//joes.example">x</a></dd>`), site("//joes.example", "https://joes.example", "joes.example")},
		"hours of the JSON-LD":     {ld(`"openingHours":["Mo-Th 11:00-21:30","Fr 12:00-02:00","Su"]`) + table(`<tr><th>Mon</th><td>Closed</td></tr>`), hours("Mo-Th 11:00-21:30", "Fr 12:00-02:00", "Su 00:00-24:00")},
		"hours specified": {ld(`"openingHoursSpecification":[{"@type":"OpeningHoursSpecification","dayOfWeek":["http://schema.org/Monday","https://schema.org/Tuesday"],"opens":"09:00:00","closes":"17:00"},
			{"dayOfWeek":"Sunday","opens":"00:00","closes":"00:00"},{"dayOfWeek":"Friday","opens":"10:00","closes":"12:00","validFrom":"2026-12-24"}]`), hours("Mo-Tu 09:00-17:00")},
		"hours not understood": {ld(`"openingHours":["by appointment"]`) + table(`<tr><th>Mon - Fri</th><td>7:00 am - 5:00 pm</td></tr>`), hours("Mo-Fr 07:00-17:00")},
		"hours of the table": {table(`<tr><th class="day-label">Mon</th><td class="day-hours">7:00 am - 5:00 pm</td></tr><tr><th>Tue</th><td>7:00 am - 5:00 pm</td></tr>
			<tr><th>Regular Hours</th></tr><tr><th>Sat</th><td>Open 24 Hours</td></tr><tr><th>Sun</th><td>Closed</td></tr>`), hours("Mo-Tu 07:00-17:00", "Sa 00:00-23:59")},
		"hours for machines":              {table(`<tr><th>Mon</th><td><time datetime="Mo 07:00-17:00">7 - 5</time></td></tr>`), hours("Mo 07:00-17:00")},
		"hours twice":                     {table(`<tr><th>Mon</th><td>Closed</td></tr>`) + table(`<tr><th>Tue</th><td>9:00 am - 5:00 pm</td></tr>`), yp.Listing{Hours: []string{}}},
		"days alone, closed by the table": {ld(`"openingHours":["Mo-Th 11:00-21:30","Su"]`) + table(`<tr><th>Mon - Thu</th><td>11:00 am - 9:30 pm</td></tr><tr><th>Sun</th><td>Closed</td></tr>`), hours("Mo-Th 11:00-21:30")},
		"days alone, closed beside":       {table(`<tr><th>Mon</th><td><time datetime="Mo">Closed</time></td></tr><tr><th>Tue</th><td><time datetime="Tu 09:00-17:00">9 to 5</time></td></tr>`), hours("Tu 09:00-17:00")},
		"days alone for machines":         {table(`<tr><th>Mon</th><td><time datetime="Mo"></time></td></tr>`), hours("Mo 00:00-24:00")},
		"hours of one day not read":       {table(`<tr><th>Mon</th><td>9:00 am - 5:00 pm</td></tr><tr><th>Tue</th><td>by appointment</td></tr>`), yp.Listing{}},
		"hours with one digit":            {table(`<tr><th>Mon - Fri</th><td>9:00 - 17:00</td></tr><tr><th>Sat</th><td>9h00-12h30</td></tr>`), hours("Mo-Fr 09:00-17:00", "Sa 09:00-12:30")},
		"hours under a label":             {info("Regular Hours", "<dd><p>Mon - Fri</p> <p>8:00 am - 4:00 pm</p></dd>"), hours("Mo-Fr 08:00-16:00")},
		"geo":                             {ld(`"geo":{"latitude":39.78,"longitude":-89.65}`), yp.Listing{Lat: 39.78, Lon: -89.65}},
		"geo of the map":                  {`<div data-lat="39.78" data-lng="-89.65"></div>` + ld(`"geo":{"latitude":1,"longitude":1}`), yp.Listing{Lat: 39.78, Lon: -89.65}},
		"geo out of range":                {ld(`"geo":{"latitude":91,"longitude":0}`), yp.Listing{}},
		"geo of nowhere":                  {ld(`"geo":{"latitude":0,"longitude":"0"}`), yp.Listing{}},
		"geo half":                        {ld(`"geo":{"latitude":39.78}`), yp.Listing{}},
		"payment":                         {info("Payment method", `<dd>amex, Visa, visa , check;</dd>`) + ld(`"paymentAccepted":"cash"`), yp.Listing{Payment: []string{"amex", "visa", "check"}}},
		"social": {info("Social Links", `<dd><a href="https://www.facebook.com/joes">f</a><a href="http://facebook.com/joes/">f</a><a href="//instagram.com/joes">i</a></dd>`) +
			ld(`"sameAs":["https://x.com/joes","https://joes.example"]`), yp.Listing{Social: []string{"https://www.facebook.com/joes", "https://instagram.com/joes", "https://x.com/joes"}}},
		"social placeholders": {info("Social Links", `<dd><a href="https://www.facebook.com/platform">f</a><a href="https://twitter.com/intent/tweet?x">t</a><a href="https://www.facebook.com/">f</a>
			<a href="https://facebook.com.evil.example/joes">f</a><a href="/facebook.com/joes">f</a><a href="https://www.facebook.com/sharer.php?u=x">s</a><a href="javascript:x">j</a></dd>`), yp.Listing{}},
		"services as text":        {info("Services/Products", `<dd>Drains (kitchen, bath), Water heaters</dd>`), yp.Listing{Services: []string{"Drains (kitchen, bath)", "Water heaters"}}},
		"services as a list":      {info("services / products", `<dd>x</dd>`) + info("SERVICES", `<dd><ul><li>Drains</li><li>Water <b>heaters</b></li><li>Drains</li></ul></dd>`), yp.Listing{Services: []string{"Drains", "Water heaters"}}},
		"services as links":       {info("Services", `<dd><a href="/x">Drains</a> <a href="/y">Heaters</a><br>Pipes<script>x,y</script></dd>`), yp.Listing{Services: []string{"Drains", "Heaters", "Pipes"}}},
		"services in a catalogue": {ld(`"hasOfferCatalog":"Drains, Boilers"`), yp.Listing{Services: []string{"Drains", "Boilers"}}},
		"languages":               {info("Languages", `<dd>English, Español</dd>`), yp.Listing{Languages: []string{"English", "Español"}}},
		"neighborhoods":           {info("Neighborhoods", `<dd><span>Springfield, IL</span>, <a>Downtown</a></dd>`), yp.Listing{Neighborhoods: []string{"Springfield, IL", "Downtown"}}},
		"neighborhoods as text":   {info("Neighborhood", `<dd>Downtown, Mesa, AZ, Old Town</dd>`), yp.Listing{Neighborhoods: []string{"Downtown", "Mesa, AZ", "Old Town"}}},
		"AKA with semicolons":     {info("AKA", `<dd><p>100% Body Shop; DROP TABLE listings;-- of Reno, NV</p><p>A|B · C</p></dd>`), yp.Listing{AKA: []string{"100% Body Shop; DROP TABLE listings;-- of Reno, NV", "A|B · C"}}},
		"services, each its own":  {info("Services", `<dd><ul><li>Drains; pipes, too</li></ul><span>A|B</span> <a href="/x">C, D</a></dd>`), yp.Listing{Services: []string{"Drains; pipes, too", "A|B", "C, D"}}},
		"services of a list":      {ld(`"hasOfferCatalog":["Drains; pipes, too","Boilers"]`), yp.Listing{Services: []string{"Drains; pipes, too", "Boilers"}}},
		"payment in an element":   {info("Payment method", `<dd><p>Visa, cash; check</p></dd>`), yp.Listing{Payment: []string{"visa", "cash", "check"}}},
		"neighborhoods, each":     {info("Neighborhoods", `<dd><span>Old Town; North, AZ</span> <span>Mesa, AZ</span></dd>`), yp.Listing{Neighborhoods: []string{"Old Town; North, AZ", "Mesa, AZ"}}},
		"AKA":                     {info("AKA", `<dd><p>Joe's, Inc.</p><p>Joe <span>Sr.</span></p></dd>`), yp.Listing{AKA: []string{"Joe's, Inc.", "Joe Sr."}}},
		"founded":                 {ld(`"foundingDate":"1998-05-01"`), yp.Listing{Founded: 1998}},
		"founded under a label":   {info("Established", `<dd>May 1, 1998</dd>`), yp.Listing{Founded: 1998}},
		"founded in the future":   {ld(`"foundingDate":"9999"`), yp.Listing{}},
		"years":                   {`<div class="years-in-business"><div class="count"><div class="number">25</div></div>Years</div>`, yp.Listing{YearsInBusiness: 25}},
		"years too many":          {`<div class="years-in-business"><div class="count">2500</div></div>`, yp.Listing{}},
		"about":                   {info("General Info", `<dd><p>From Business: We fix</p><p>leaks.</p></dd>`), yp.Listing{About: "We fix leaks."}},
		"a dd without a label":    {`<section id="business-info"><dl><dd>joe@joes.example</dd></dl></section>`, yp.Listing{}},
	} {
		c.want.ID, c.want.Name = "400001", "Joe's Plumbing"
		p := parseDetail(t, s, siteHTML(bpp+c.body+"</main>"), mip, 200)
		if diff := cmp.Diff(&c.want, p.OwnListing()); diff != "" || p.Outcome != OK {
			t.Errorf("%s: %v %s (-want +got):\n%s", name, p.Outcome, p.Reason, diff)
		}
	}
}

func site(link, canonical, domain string) yp.Listing {
	return yp.Listing{WebsiteURL: link, Website: canonical, Domain: domain}
}

func hours(list ...string) yp.Listing { return yp.Listing{Hours: list} }

// hide writes an address as Cloudflare does.
func hide(email string, key byte) string {
	const hexDigits = "0123456789abcdef"
	b := []byte{hexDigits[key>>4], hexDigits[key&15]}
	for _, c := range []byte(email) {
		b = append(b, hexDigits[(c^key)>>4], hexDigits[(c^key)&15])
	}
	return string(b)
}

// TestDetailJSONLD checks which of the businesses in the JSON-LD is taken for
// that of the page: what is told apart is whose website it is.
func TestDetailJSONLD(t *testing.T) {
	for name, c := range map[string]struct{ scripts, want string }{
		"of this name":             {`[{"@type":"Store","name":"Other","telephone":"2175550100","sameAs":"https://x.com/other"},{"@type":["Plumber"],"name":"JOE'S PLUMBING","telephone":"2175550101","sameAs":"https://x.com/joe"}]`, "joe"},
		"whose url leads here":     {`[{"@type":"LocalBusiness","name":"Joe's Plumbing","sameAs":"https://x.com/twin"},{"@type":"LocalBusiness","name":"Joe","url":"/x/mip/joe-400001","sameAs":"https://x.com/joe"}]`, "joe"},
		"whose url leads off":      {`{"@type":"LocalBusiness","name":"Joe's Plumbing","url":"https://www.yellowpages.com/x/mip/joe-400002","sameAs":"https://x.com/other"}`, ""},
		"the site itself":          {`{"@type":"Organization","name":"Yellow Pages","telephone":"2175550100","url":"https://www.yellowpages.com/","sameAs":"https://x.com/yellowpages"}`, ""},
		"the only one, longer":     {`{"@graph":[{"@type":"BreadcrumbList","itemListElement":[]},{"@type":"LocalBusiness","name":"Joe's Plumbing & Heating","sameAs":"https://x.com/joe"}]}`, "joe"},
		"the only one, no name":    {`{"@type":"LocalBusiness","sameAs":"https://x.com/joe"}`, "joe"},
		"the only one, other name": {`{"@type":"LocalBusiness","name":"Ann's Bakery","sameAs":"https://x.com/ann"}`, ""},
		"two, none of this name":   {`[{"@type":"LocalBusiness","name":"Joe's Plumbing A","sameAs":"https://x.com/a"},{"@type":"LocalBusiness","name":"Joe's Plumbing B","sameAs":"https://x.com/b"}]`, ""},
		"comments and commas": {`/*<![CDATA[*/ {"@type":"LocalBusiness","name":"Joe's Plumbing","sameAs":["https://x.com/joe",],} // x
			/*]]>*/`, "joe"},
	} {
		p := parseDetail(t, builtin(t, "yellowpages"), siteHTML(bpp+`<script type="application/ld+json">`+c.scripts+`</script></main>`), mip, 200)
		want := ""
		if c.want != "" {
			want = "https://x.com/" + c.want
		}
		storetest.Equal(t, strings.Join(p.OwnListing().Social, " "), want, name)
	}
}

func TestDetailBounds(t *testing.T) {
	long := strings.Repeat("é ", 60_000)
	var many strings.Builder
	for range 3 {
		for i := range 400 {
			many.WriteString("<li>item " + strings.Repeat("x", i) + "</li>")
		}
	}
	body := siteHTML(`<main id="bpp"><h1 class="business-name">` + long + `</h1>` + info("General Info", "<dd>"+long+"</dd>") + info("Services", "<dd>"+many.String()+"</dd>") +
		info("AKA", "<dd>"+long+"</dd>") + info("Email", "<dd>"+long+"</dd>") + info("Neighborhoods", "<dd>"+strings.Repeat("A, AZ, ", 5000)+"</dd>") +
		ld(`"sameAs":["https://x.com/`+strings.Repeat("a", 3000)+`"],"openingHours":"`+long+`"`) + table(strings.Repeat(`<tr><th>Mon</th><td>Closed</td></tr>`, 500)) + "</main>")
	d := parseDetail(t, builtin(t, "yellowpages"), body, mip, 200).OwnListing()
	checkBounds(t, d)
	if d.Name == "" || len(d.Services) != maxFacts || d.About == "" {
		t.Errorf("%d services, name %q", len(d.Services), d.Name)
	}
}

// checkBounds fails when a detail holds what none may hold.
func checkBounds(t testing.TB, d *yp.Listing) {
	t.Helper()
	texts := []string{d.ID, d.Name, d.Email, d.Phone, d.PhoneE164, d.WebsiteURL, d.Website, d.Domain, d.About}
	bounds := []int{yp.MaxID, yp.MaxName, 254, maxLine, 12, maxURL, 4096, 253, maxAbout}
	for i, s := range texts {
		if len(s) > bounds[i] || yp.Clean(s) != s && i != 5 {
			t.Errorf("text %d: %d bytes: %q", i, len(s), yp.Clip(s, 80))
		}
	}
	for i, list := range [][]string{d.Hours, d.Payment, d.Social, d.Services, d.Languages, d.Neighborhoods, d.AKA} {
		if len(list) > maxFacts {
			t.Errorf("list %d has %d items", i, len(list))
		}
		for _, s := range list {
			if len(s) > maxURL || i != 2 && len(s) > maxLine || s == "" || yp.Clean(s) != s {
				t.Errorf("list %d: %d bytes: %q", i, len(s), yp.Clip(s, 80))
			}
		}
	}
	if !(d.Lat >= -90 && d.Lat <= 90 && d.Lon >= -180 && d.Lon <= 180) {
		t.Errorf("position %v, %v", d.Lat, d.Lon)
	}
}

// detailPages are pages with something in every field.
func detailPages() []string {
	all := bpp + ctas(`<a class="phone" href="tel:+12175550100">(217) 555-0100</a><a class="website-link" href="http://www.joes.example/">x</a>
		<a class="email-business" href="/cdn-cgi/l/email-protection#`+hide("joe@joes.example", 3)+`">x</a>`) +
		info("Services", `<dd>Drains, Pipes &amp; more</dd><dt>AKA</dt><dd><p>Joe</p></dd><dt>Languages</dt><dd>English</dd><dt>General Info</dt><dd>We fix</dd>
		<dt>Neighborhoods</dt><dd><span>Mesa, AZ</span></dd><dt>Social Links</dt><dd><a href="https://x.com/joe">x</a></dd>`) +
		table(`<tr><th>Mon</th><td>7:00 am - 5:00 pm</td></tr>`) + ld(`"geo":{"latitude":"39.78","longitude":-89.65},"paymentAccepted":"cash","foundingDate":"1998"`) + "</main>"
	return []string{siteHTML(all), siteHTML("<p><b>damaged</p>" + all), all}
}

// TestDetailRegionEqualsWhole: a page in good order is read from its regions,
// and the result equals that of the whole page.
func TestDetailRegionEqualsWhole(t *testing.T) {
	s := builtin(t, "yellowpages")
	u := urlOf(t, mip)
	page := detailPages()[0]
	if s.detailRegions([]byte(page), u, 200) == nil {
		t.Error("a page in good order was not read from its regions")
	}
	checkDetailEqual(t, s, []byte(page), u)
	for _, frag := range regiontest.Fragments {
		for _, at := range []string{"<dt>AKA</dt>", "<tbody>", "<h1 ", "</main>", "</section>"} {
			checkDetailEqual(t, s, []byte(strings.Replace(page, at, frag+at, 1)), u)
		}
	}
}

func checkDetailEqual(t testing.TB, s *Source, page []byte, final *url.URL) {
	t.Helper()
	region := s.detailRegions(page, final, 200)
	if region == nil {
		return
	}
	whole, err := s.detailWhole(page, final, 200)
	if diff := cmp.Diff(whole, region, cmp.AllowUnexported(Page{})); diff != "" || err != nil {
		t.Fatalf("%v (-whole +region):\n%s", err, diff)
	}
}
