package yp

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitLocalityIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ country, in, want string }{
		// The code before the city.
		{"DE", "80331 München", "München||80331"},
		{"DE", "D-80331 München", "München||80331"},
		{"DE", "DE-80331 München", "München||80331"},
		{"DE", "D 80331 München", "München||80331"},
		{"DE", "01067 Dresden", "Dresden||01067"},
		{"DE", "80331 München, Germany", "München||80331"},
		{"DE", "80331 München, Bayern", "München|BY|80331"},
		{"DE", "80331 München, Bayern, Deutschland", "München|BY|80331"},
		{"DE", "10115, Berlin", "Berlin||10115"},
		{"DE", "61348 Bad Homburg v. d. Höhe", "Bad Homburg v. d. Höhe||61348"},
		{"DE", "76530 BADEN-BADEN", "BADEN-BADEN||76530"},
		{"DE", "80331", "||80331"},
		{"DE", "München", "München||"},
		{"DE", "München 80331", "München 80331||"},
		{"DE", "1067 Dresden", "1067 Dresden||"},
		{"DE", "80331 München Tel. 089 1234", "80331 München Tel. 089 1234||"},
		{"DE", "80331 München IN", "München IN||80331"},
		{"DE", "Springfield, IL 62701", "Springfield, IL 62701||"},
		{"DE", "Berlin, DE", "Berlin, DE||"},
		{"DE", "DE 19901 USA", "DE 19901 USA||"},
		{"AT", "1010 Wien", "Wien||1010"},
		{"AT", "A-1010 Wien", "Wien||1010"},
		{"AT", "1010, Wien", "Wien||1010"},
		{"AT", "5020 Salzburg, Salzburg", "Salzburg|Salzburg|5020"},
		{"CH", "CH-8001 Zürich", "Zürich||8001"},
		{"CH", "9470 Buchs SG", "Buchs SG||9470"},
		{"FR", "75008 Paris", "Paris||75008"},
		{"FR", "75380 PARIS CEDEX 08", "PARIS CEDEX 08||75380"},
		{"FR", "69002 Lyon 2e", "Lyon 2e||69002"},
		{"ES", "28013 Madrid", "Madrid||28013"},
		{"ES", "41001 Sevilla, Andalucía", "Sevilla|AN|41001"},
		{"IT", "00184 Roma RM", "Roma|RM|00184"},
		{"IT", "00184 Roma (RM)", "Roma|RM|00184"},
		{"IT", "20121 Milano, MI", "Milano|MI|20121"},
		{"IT", "19121 LA SPEZIA SP", "LA SPEZIA|SP|19121"},
		{"NL", "1012 AB Amsterdam", "Amsterdam||1012 AB"},
		{"NL", "1012AB Amsterdam", "Amsterdam||1012 AB"},
		{"NL", "5211 AX 's-Hertogenbosch", "'s-Hertogenbosch||5211 AX"},
		{"NL", "1012 Amsterdam", "1012 Amsterdam||"},
		{"BE", "1000 Bruxelles", "Bruxelles||1000"},
		{"BE", "B-2000 Antwerpen", "Antwerpen||2000"},
		{"LU", "L-1234 Luxembourg", "Luxembourg||1234"},
		{"SE", "SE-111 22 Stockholm", "Stockholm||111 22"},
		{"SE", "111 22 Stockholm", "Stockholm||111 22"},
		{"SE", "11122 Stockholm", "Stockholm||111 22"},
		{"NO", "0150 Oslo", "Oslo||0150"},
		{"DK", "1620 København V", "København V||1620"},
		{"FI", "FI-00100 Helsinki", "Helsinki||00100"},
		{"PL", "00-950 Warszawa", "Warszawa||00-950"},
		{"CZ", "110 00 Praha 1", "Praha 1||110 00"},
		{"PT", "1000-205 Lisboa", "Lisboa||1000-205"},
		{"IS", "101 Reykjavík", "Reykjavík||101"},
		// Behind it and a state.
		{"AU", "Perth WA 6000", "Perth|WA|6000"},
		{"AU", "Perth, WA 6000", "Perth|WA|6000"},
		{"AU", "PERTH WA 6000, Australia", "PERTH|WA|6000"},
		{"AU", "Perth WA 6000 Australia", "Perth|WA|6000"},
		{"AU", "Perth, Western Australia 6000", "Perth|WA|6000"},
		{"AU", "Perth, WA", "Perth|WA|"},
		{"AU", "Alice Springs NT 0870", "Alice Springs|NT|0870"},
		{"AU", "Surry Hills, NSW, 2010", "Surry Hills|NSW|2010"},
		{"AU", "Port Victoria 5573", "Port Victoria 5573||"},
		{"AU", "Perth 6000", "Perth 6000||"},
		{"AU", "Perth WA 60001", "Perth WA 60001||"},
		{"AU", "Perth", "Perth||"},
		{"AU", "6000", "||6000"},
		{"AU", "Austin, TX 78701", "Austin, TX 78701||"},
		{"CA", "Toronto ON M5V 2T6", "Toronto|ON|M5V 2T6"},
		{"CA", "Toronto, ON M5V2T6", "Toronto|ON|M5V 2T6"},
		{"CA", "Toronto, Ontario M5V 2T6, Canada", "Toronto|ON|M5V 2T6"},
		{"CA", "Montréal (Québec) H2X 1Y4", "Montréal|QC|H2X 1Y4"},
		{"CA", "Victoria BC V8W 1P6", "Victoria|BC|V8W 1P6"},
		{"CA", "Toronto M5V 2T6", "Toronto||M5V 2T6"},
		{"CA", "Toronto, ON", "Toronto|ON|"},
		{"CA", "Buffalo, NY 14201", "Buffalo, NY 14201||"},
		// Behind it.
		{"GB", "London SW1A 1AA", "London||SW1A 1AA"},
		{"GB", "London, SW1A 1AA", "London||SW1A 1AA"},
		{"GB", "London SW1A1AA", "London||SW1A 1AA"},
		{"GB", "London SW1A 1AA UK", "London||SW1A 1AA"},
		{"GB", "London, England, SW1A 1AA", "London||SW1A 1AA"},
		{"GB", "Cardiff, South Wales CF10 1EP", "Cardiff, South Wales||CF10 1EP"},
		{"GB", "Guildford, Surrey GU1 3AA", "Guildford, Surrey||GU1 3AA"},
		{"GB", "London SW1A", "London SW1A||"},
		{"GB", "London 90210", "London 90210||"},
		{"GB", "10 Downing Street SW1A 2AA", "10 Downing Street SW1A 2AA||"},
		{"IE", "Dublin 2 D02 X285", "Dublin 2||D02 X285"},
		{"IE", "Dublin 6W D6W XK53", "Dublin 6W||D6W XK53"},
		{"IE", "Dublin 2", "Dublin 2||"},
		// Of others it is not known.
		{"JM", "Kingston 10", "Kingston 10||"},
		{"BR", "São Paulo - SP, 01310-100", "São Paulo - SP, 01310-100||"},
		{"JP", "Chiyoda-ku, Tokyo 100-0001", "Chiyoda-ku, Tokyo 100-0001||"},
		{"IN", "Mumbai 400001", "Mumbai 400001||"},
		{"XX", "Springfield, IL 62701", "Springfield, IL 62701||"},
		{"PR", "San Juan, PR 00901", "San Juan|PR|00901"},
	} {
		city, state, code := SplitLocality(c.in, c.country)
		if got := strings.Join([]string{city, state, code}, "|"); got != c.want {
			t.Errorf("%q in %s: got %q, want %q", c.in, c.country, got, c.want)
		}
	}
}

// TestSplitLineIn: what is not sure is not split.
func TestSplitLineIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ country, in, want string }{
		{"DE", "Marienplatz 1, 80331 München", "Marienplatz 1|München||80331"},
		{"DE", "Marienplatz 1, D-80331 München, Deutschland", "Marienplatz 1|München||80331"},
		{"DE", "Marienplatz 1, 80331 München, Bayern", "Marienplatz 1|München|BY|80331"},
		{"DE", "Hinterhaus, Hauptstr. 5a, 10115 Berlin", "Hinterhaus, Hauptstr. 5a|Berlin||10115"},
		{"DE", "Hauptstr. 5, 80331 München, DE", "Hauptstr. 5|München||80331"},
		{"DE", "80331 München", "|München||80331"},
		{"DE", "80331 München, Marienplatz 1", ""},
		{"DE", "Marienplatz 1 80331 München", ""},
		{"DE", "Marienplatz 1, 80331, München", ""},
		{"DE", "Marienplatz 1, 80331", ""},
		{"DE", "Marienplatz 1, München", ""},
		{"DE", "Marienplatz 1", ""},
		{"DE", "Friedrichstr. 1, Berlin", ""},
		{"DE", "12 Elm St, Springfield, IL 62701", ""},
		{"DE", "12 Elm St", ""},
		{"AT", "Stephansplatz 3, 1010 Wien", "Stephansplatz 3|Wien||1010"},
		{"AT", "Hauptstraße 1010 Wien", ""},
		{"CH", "Bahnhofstrasse 1, 8001 Zürich, Schweiz", "Bahnhofstrasse 1|Zürich||8001"},
		{"FR", "12 rue de la Paix, 75002 Paris", "12 rue de la Paix|Paris||75002"},
		{"FR", "12 rue de la Paix 75002 Paris", ""},
		{"ES", "Calle Mayor, 5, 28013 Madrid", "Calle Mayor, 5|Madrid||28013"},
		{"ES", "Calle Sierpes 5, 41004 Sevilla, Sevilla", ""},
		{"IT", "Via Roma, 5, 00184 Roma RM", "Via Roma, 5|Roma|RM|00184"},
		{"IT", "Via Roma 5, 20121 Milano, MI, Italia", "Via Roma 5|Milano|MI|20121"},
		{"NL", "Damrak 1, 1012 LG Amsterdam", "Damrak 1|Amsterdam||1012 LG"},
		{"SE", "Drottninggatan 1, 111 51 Stockholm", "Drottninggatan 1|Stockholm||111 51"},
		{"DK", "Vesterbrogade 3, 2. tv., 1620 København V", "Vesterbrogade 3, 2. tv.|København V||1620"},
		{"CZ", "Vodičkova 1, 110 00 Praha 1", "Vodičkova 1|Praha 1||110 00"},
		{"PL", "ul. Nowy Świat 1, 00-496 Warszawa", "ul. Nowy Świat 1|Warszawa||00-496"},
		{"PT", "Rua Augusta 1, 1100-048 Lisboa, Portugal", "Rua Augusta 1|Lisboa||1100-048"},
		{"HU", "1051 Budapest, Nádor utca 1.", ""},
		{"AU", "12 George St, Sydney NSW 2000", "12 George St|Sydney|NSW|2000"},
		{"AU", "12 George St, Sydney, NSW, 2000", "12 George St|Sydney|NSW|2000"},
		{"AU", "Shop 3, 12 George St, Perth WA 6000, Australia", "Shop 3, 12 George St|Perth|WA|6000"},
		{"AU", "12 George St, Perth, Western Australia 6000", "12 George St|Perth|WA|6000"},
		{"AU", "Perth WA 6000", "|Perth|WA|6000"},
		{"AU", "12 George St, Sydney, NSW", "12 George St|Sydney|NSW|"},
		{"AU", "12 George St", "12 George St|||"},
		{"AU", "12 George St Sydney NSW 2000", ""},
		{"AU", "12 George St, Sydney 2000", ""},
		{"AU", "PO Box 2000", ""},
		{"AU", "12 Elm St, Austin, TX 78701", ""},
		{"CA", "100 Queen St W, Toronto, ON M5H 2N2", "100 Queen St W|Toronto|ON|M5H 2N2"},
		{"CA", "100 Queen St W, Toronto ON M5H 2N2, Canada", "100 Queen St W|Toronto|ON|M5H 2N2"},
		{"CA", "1000, rue Sherbrooke, Montréal (Québec) H3A 3G4", "1000, rue Sherbrooke|Montréal|QC|H3A 3G4"},
		{"CA", "100 Queen St W", "100 Queen St W|||"},
		{"CA", "100 Queen St W, Suite 4, Toronto", ""},
		{"CA", "Toronto, ON", "|Toronto|ON|"},
		{"GB", "10 Downing Street, London SW1A 2AA", "10 Downing Street|London||SW1A 2AA"},
		{"GB", "10 Downing Street, London, SW1A 2AA, United Kingdom", "10 Downing Street|London||SW1A 2AA"},
		{"GB", "Flat 2, 10 High Street, Leeds LS1 4AP", "Flat 2, 10 High Street|Leeds||LS1 4AP"},
		{"GB", "221B Baker Street, London NW1 6XE", "221B Baker Street|London||NW1 6XE"},
		{"GB", "10 High Street, Guildford, Surrey GU1 3AA", ""},
		{"GB", "10 High Street, Surrey GU1 3AA", ""},
		{"GB", "10 High Street, Oxfordshire OX1 4AA", ""},
		{"GB", "Guildford, Surrey GU1 3AA", ""},
		{"GB", "Buckingham Palace SW1A 1AA", ""},
		{"GB", "London SW1A 1AA", ""},
		{"GB", "10 Downing Street, London", ""},
		{"IE", "12 Main Street, Dublin 2, D02 X285", "12 Main Street|Dublin 2||D02 X285"},
		{"IE", "12 Main Street, Co. Kildare W91 X7Y8", ""},
		{"IE", "12 Main Street, Naas, Co. Kildare W91 X7Y8", ""},
		{"JM", "12 Hope Road, Kingston 10", ""},
		{"BR", "Av. Paulista, 1000, São Paulo - SP, 01310-100", ""},
		{"XX", "12 Elm St, Springfield, IL 62701", ""},
		{"PR", "1 Calle Sol, San Juan, PR 00901", "1 Calle Sol|San Juan|PR|00901"},
		{"DE", "", ""},
		{"GB", ", ,", ""},
	} {
		street, city, state, code, ok := SplitLine(c.in, c.country)
		got := strings.Join([]string{street, city, state, code}, "|")
		if ok != (c.want != "") || ok && got != c.want || !ok && got != "|||" {
			t.Errorf("%q in %s: got %q, %t, want %q", c.in, c.country, got, ok, c.want)
		}
	}
}

// TestLocalities: each country of the table is one with postal codes, and is there once.
func TestLocalities(t *testing.T) {
	t.Parallel()
	for country, l := range localitiesByCountry() {
		if !slices.Contains(countries, country) || l.codes == "" || usesZIP(country) || strings.Count(localities, " "+country+" ") != 1 {
			t.Errorf("%s is no country with such postal codes, or stands there twice", country)
		}
		if !slices.Contains([]string{"before", "state", "behind"}, l.order) || l.order == "state" && len(l.states.All()) == 0 {
			t.Errorf("%s: order %q with %d states", country, l.order, len(l.states.All()))
		}
	}
}

// TestSplitUSA: addresses of the USA come apart into what they were made of, and nowhere else is any of them split.
func TestSplitUSA(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[A-Z][a-z]{2,9}`)
	rapid.Check(t, func(t *rapid.T) {
		street := rapid.StringMatching(`[1-9][0-9]{0,4} `).Draw(t, "number") + word.Draw(t, "street") + rapid.SampledFrom([]string{" St", " Avenue", " Rd, Ste 4"}).Draw(t, "kind")
		city := word.Draw(t, "city") + rapid.SampledFrom([]string{"", " Springs", " St. Mary"}).Draw(t, "more")
		state := rapid.SampledFrom(States()).Draw(t, "state").Code
		zip := rapid.StringMatching(`[0-9]{5}(-[0-9]{4})?`).Draw(t, "zip")
		line := city + rapid.SampledFrom([]string{", ", " "}).Draw(t, "sep") + state + " " + zip + rapid.SampledFrom([]string{"", ", USA", " US"}).Draw(t, "country")
		if c, s, z := SplitLocality(line, "US"); c != city || s != state || z != zip {
			t.Errorf("%q: got %q, %q, %q", line, c, s, z)
		}
		r, c, s, z, ok := SplitLine(street+", "+line, "US")
		if r != street || c != city || s != state || z != zip || !ok {
			t.Errorf("%q: got %q, %q, %q, %q, %t", street+", "+line, r, c, s, z, ok)
		}
		for country := range localitiesByCountry() {
			if r, c, s, z, ok := SplitLine(street+", "+line, country); ok {
				t.Errorf("%q in %s: got %q, %q, %q, %q", street+", "+line, country, r, c, s, z)
			}
		}
	})
}

// FuzzSplitLineIn: a part of an address is a part of the text, but for the form of the code and the code of a state; a code is one of the
// country.
func FuzzSplitLineIn(f *testing.F) {
	for _, s := range []string{"Marienplatz 1, 80331 München", "10 Downing Street, London SW1A 2AA, UK", "12 George St, Sydney NSW 2000", "Montréal (Québec) H2X 1Y4", "00184 Roma (RM)", "D 80331 ", "\xff, 1012 AB ’s", ", ,", "(", "1010, Wien"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for country, l := range localitiesByCountry() {
			street, city, state, code, ok := SplitLine(s, country)
			if !ok && street+city+state+code != "" || !strings.Contains(s, street) || code != "" && PostalCodeIn(code, country) != code {
				t.Errorf("%q in %s: got %q, %q, %q, %q, %t", s, country, street, city, state, code, ok)
			}
			if _, known := l.states.Lookup(state); state != "" && !known && country != "IT" {
				t.Errorf("%q in %s: got the state %q", s, country, state)
			}
			city, state, code = SplitLocality(s, country)
			if state == "" && code == "" && city != TrimPlace(s) || code != "" && PostalCodeIn(code, country) != code {
				t.Errorf("%q in %s: got %q, %q, %q", s, country, city, state, code)
			}
		}
	})
}
