package yp

import (
	"slices"
	"strings"
	"testing"
)

func TestNormalName(t *testing.T) {
	for in, want := range map[string]string{
		"ACME  Plumbing, Inc.":          "acme plumbing",
		"Acme Co., Inc.":                "acme",
		"The Roofing Company":           "the roofing",
		"Inc":                           "inc",
		"Co & Co":                       "co and",
		"Joe's Bar & Grill":             "joes bar and grill",
		"Joe’s Bar&Grill":               "joes bar and grill",
		"Café Señor":                    "cafe senor",
		"Smith-Jones/Baker (Downtown)":  "smith jones baker downtown",
		"A.B.C. Co-op":                  "abc co op",
		"7-Eleven #4021":                "7 eleven 4021",
		"東京 Sushi":                      "東京 sushi",
		"Ltd. Edition":                  "ltd edition",
		"\u200bAcme\x00 \u202ePlumbing": "acme plumbing",
		"":                              "",
		"\xff":                          "",
	} {
		if got := NormalName(in); got != want {
			t.Errorf("NormalName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCompanyKeys(t *testing.T) {
	full := Listing{
		Name: "Acme Plumbing, Inc.", Website: "https://acme.com/menu", PhoneE164: "+13105550123",
		Street: "12 Main Street", PostalCode: "90210-1234",
	}
	const (
		web = "web:acme.com/menu"
		tel = "tel:+13105550123|acme plumbing"
		adr = "adr:acme plumbing|12 main st|90210"
	)
	for _, test := range []struct {
		name   string
		change func(*Listing)
		want   []string
	}{
		{"All", func(*Listing) {}, []string{web, tel, adr}},
		{"OtherCountry", func(l *Listing) { l.PhoneE164 = "+4930123456" }, []string{web, "tel:+4930123456|acme plumbing", adr}},
		{"NoWebsite", func(l *Listing) { l.Website = "" }, []string{tel, adr}},
		{"SharedHost", func(l *Listing) { l.Website = "https://facebook.com/acme" }, []string{tel, adr}},
		{"BuilderHost", func(l *Listing) { l.Website = "https://acme.wixsite.com" }, []string{"web:acme.wixsite.com", tel, adr}},
		{"Port", func(l *Listing) { l.Website = "https://acme.com:8080" }, []string{"web:acme.com:8080", tel, adr}},
		{"NoPhone", func(l *Listing) { l.PhoneE164, l.Phone = "", "555-0123" }, []string{web, adr}},
		{"NoStreet", func(l *Listing) { l.Street = "" }, []string{web, tel}},
		{"ShortPostalCode", func(l *Listing) { l.PostalCode = "9021" }, []string{web, tel}},
		{"LongPostalCode", func(l *Listing) { l.PostalCode = "902101" }, []string{web, tel}},
		{"Suite", func(l *Listing) { l.Street = "12  N. Main St, Suite #4" }, []string{web, tel, "adr:acme plumbing|12 n main st|90210"}},
		{"FrontPage", func(l *Listing) { l.Website = "http://www.acme.com/menu/index.html" }, []string{web, tel, adr}},
		{"AgentBrand", func(l *Listing) { l.Website = "https://www.statefarm.com/" }, []string{tel, adr}},
		{"AgentPage", func(l *Listing) { l.Website = "https://www.statefarm.com/agent/us/tx/austin/x" }, []string{"web:statefarm.com/agent/us/tx/austin/x", tel, adr}},
		{"The", func(l *Listing) { l.Name = "The Acme Plumbing" }, []string{web, tel, adr}},
		{"OneDigit", func(l *Listing) { l.PhoneE164 = "+15555555555" }, []string{web, adr}},
		{"ZeroPostalCode", func(l *Listing) { l.PostalCode = "00000" }, []string{web, tel}},
		{"NoAddress", func(l *Listing) { l.Street = "N/A" }, []string{web, tel}},
		{"NoName", func(l *Listing) { l.Name = "!" }, []string{web}},
		{"Nothing", func(l *Listing) { *l = Listing{Name: "Acme"} }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := full
			test.change(&l)
			if got := CompanyKeys(&l, DefaultCountry); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	for name, want := range map[string][2]string{ // as it is beside a phone, and beside an address
		"Hernandez Roofing & Siding":     {"hernandez roofing", "hernandez roofing and siding"},
		"Hernandez Roofing":              {"hernandez roofing", "hernandez roofing"},
		"The Law Offices of Ann B. Carr": {"ann b", "law offices of ann b carr"},
		"Dr. John Smith, DDS":            {"john smith", "dr john smith dds"},
		"Of The":                         {"of", "of"},
		"Copper Pot, The":                {"copper pot", "copper pot"},
		"St. Anne's Center, Inc.":        {"st annes", "st annes ctr"},
		"Peña Brothers Paving LLC":       {"pena bros", "pena bros paving"},
	} {
		l := full
		l.Name, l.Website = name, ""
		if got := CompanyKeys(&l, DefaultCountry); !slices.Equal(got, []string{"tel:+13105550123|" + want[0], "adr:" + want[1] + "|12 main st|90210"}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	t.Run("SameStreet", func(t *testing.T) {
		a, b := full, full
		a.Street, b.Street = "1200 North Oak Avenue Suite 5", "1200 N. Oak Ave., Ste 5"
		if x, y := CompanyKeys(&a, DefaultCountry), CompanyKeys(&b, DefaultCountry); !slices.Equal(x, y) {
			t.Errorf("%q and %q", x, y)
		}
	})
}

// TestCompanyKeysAbroad: two countries may have the same postal code, and a code of another country counts whole.
func TestCompanyKeysAbroad(t *testing.T) {
	t.Parallel()
	at := func(country, code string) string {
		return strings.Join(CompanyKeys(&Listing{Name: "Acme", Street: "1 High St", PostalCode: code}, country), " ")
	}
	for want, got := range map[string]string{
		"adr:acme|1 high st|80331": at("US", "80331-1234"), "adr:acme|1 high st|DE 80331": at("DE", "80331"),
		"adr:acme|1 high st|GB SW1A 1AA": at("GB", "SW1A 1AA"), "adr:acme|1 high st|AU 2000": at("AU", "2000"), "": at("AU", "0000") + at("DE", "") + at("US", "2000"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzCompanyKeys(f *testing.F) {
	f.Add("Acme & Co., Inc.", "12 North Main Street", "http://www.acme.com/")
	f.Add("Café Olé", "1 Rue de l’Été", "facebook.com")
	f.Add("İ & ﬁ Ltd Ltd", "| |", "acme.com/|x")
	f.Add("& Co", "St Street", "https://[::1]")
	f.Fuzz(func(t *testing.T, name, street, website string) {
		normal := NormalName(name)
		if again := NormalName(normal); again != normal {
			t.Errorf("NormalName(%q) = %q, then %q", name, normal, again)
		}
		if strings.ContainsAny(normal, "|\n\t") || strings.Contains(normal, "  ") || strings.TrimSpace(normal) != normal {
			t.Errorf("NormalName(%q) = %q", name, normal)
		}
		l := Listing{Name: name, Street: street, Website: website, PhoneE164: "+13105550123", PostalCode: "90210"}
		keys := CompanyKeys(&l, DefaultCountry)
		for _, key := range keys {
			if Printable(key) != key || len(key) < len("web:a.b") {
				t.Errorf("key %q", key)
			}
		}
		l.Name = normal
		if again := CompanyKeys(&l, DefaultCountry); !slices.Equal(again, keys) {
			t.Errorf("keys %q, by the normal name %q", keys, again)
		}
	})
}

// Databases hold the keys of names: they stay as they were written.
func TestNamesKeepTheirKeys(t *testing.T) {
	for name, want := range map[string]string{"한국 식당 LA": "한국 식당 la", "Cañon ＡＢ": "canon ab"} {
		if got := string(appendWords(nil, name)); got != want {
			t.Errorf("%q has the words %q, want %q", name, got, want)
		}
	}
}
