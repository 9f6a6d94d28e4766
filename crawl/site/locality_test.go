package site

import (
	"strings"
	"testing"
)

// TestLocalityByCountry: the places of cards are split as the source's country writes them.
func TestLocalityByCountry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ country, html, want string }{
		{"DE", "<i class=locality>80331 München</i>", "|München||80331|"},
		{"DE", "<i class=locality>Springfield, IN 62701</i>", "|Springfield, IN 62701|||"},
		{"DE", "<i class=city>80331 München</i><i class=zip>80331 München</i>", "|80331 München||80331|"},
		{"DE", "<i class=address>Marienplatz 1, 80331 München</i>", "Marienplatz 1|München||80331|"},
		{"DE", "<i class=address>Marienplatz, 80331 München</i>", "|München||80331|Marienplatz, 80331 München"},
		{"DE", "<i class=address>Marienplatz 1 80331 München</i>", "||||Marienplatz 1 80331 München"},
		{"DE", "<i class=address>Marienplatz 1<br>\n80331\nMünchen</i>", "Marienplatz 1|München||80331|"},
		{"US", "<i class=address>12 County Road 12<br>Springfield, IL&nbsp; 62703</i>", "12 County Road 12|Springfield|IL|62703|"},
		{"US", "<i class=address><div>12 County Road 12</div><div>Suite 4</div><b>Springfield</b>, IL 62703</i>", "12 County Road 12, Suite 4|Springfield|IL|62703|"},
		{"US", "<i class=address>12 County Road 12 Springfield, IL 62703</i>", "||||12 County Road 12 Springfield, IL 62703"},
		{"GB", "<i class=address>10 High Street<br/>Guildford<br/>Surrey<br/>GU1 3AA</i>", "||||10 High Street Guildford Surrey GU1 3AA"},
		{"AU", "<i class=locality>Perth WA 6000</i>", "|Perth|WA|6000|"},
		{"AU", "<i class=address>12 George St, Sydney NSW 2000</i>", "12 George St|Sydney|NSW|2000|"},
		{"GB", "<i class=locality>London SW1A 1AA</i>", "|London||SW1A 1AA|"},
		{"GB", "<i class=address>10 High Street, Guildford, Surrey GU1 3AA</i>", "||||10 High Street, Guildford, Surrey GU1 3AA"},
		{"CA", "<i class=locality>Toronto ON M5V 2T6</i>", "|Toronto|ON|M5V 2T6|"},
		{"JP", "<i class=locality>Austin, TX 78701</i>", "|Austin, TX 78701|||"},
		{"US", "<i class=locality>Austin, TX 78701</i>", "|Austin|TX|78701|"},
		{"US", "<i class=locality>80331 München</i>", "|80331 München|||"},
		// In structured data.
		{"DE", `<script type="application/ld+json">{"@type":"Plumber","name":"A","url":"/1","address":{"addressLocality":"80331 München","addressRegion":"IN"}}</script>`, "|München|IN|80331|"},
		{"DE", `<script type="application/ld+json">{"@type":"Plumber","name":"A","url":"/1","address":"Marienplatz 1, 80331 München, Germany"}</script>`, "Marienplatz 1|München||80331|"},
		{"AU", `<script type="application/ld+json">{"@type":"Plumber","name":"A","url":"/1","address":{"addressLocality":"Perth","addressRegion":"WA","postalCode":"WA 6000"}}</script>`, "|Perth|WA|6000|"},
	} {
		text := "name: x\nbase_url: https://x.example\nurls: {target: '/{city_slug}?page={page}'}\nchrome: {selectors: [nav]}\ncards: {organic: [.card]}\n" +
			"fields: {id: {attr: data-id}, name: h2, profile_url: {css: a, attr: href}, city: .city, locality: .locality, postal_code: .zip, address: .address}\n" +
			"categories: [a]\ncountry: " + c.country
		s, err := Parse("x.yaml", []byte(text))
		noError(t, err)
		p, err := s.ParsePage([]byte("<html><body><nav></nav><div class=card data-id=1><h2>A</h2><a href=/1>A</a>"+c.html+"</div></body></html>"), urlOf(t, "https://x.example/a"), 200)
		noError(t, err)
		if len(p.Listings) != 1 {
			t.Fatalf("%s: %d listings: %s", c.html, len(p.Listings), p.Reason)
		}
		l := p.Listings[0]
		if got := strings.Join([]string{l.Street, l.City, l.State, l.PostalCode, l.Address}, "|"); got != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.country, c.html, got, c.want)
		}
	}
}
