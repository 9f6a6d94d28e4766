package site

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// soundListing may be promoted.
func soundListing() yp.Listing {
	return yp.Listing{
		ID: "400001", Name: "Müller & Söhne Plumbing", ProfileURL: "https://www.yellowpages.com/springfield-il/mip/mueller-400001",
		Phone: "(217) 555-0100", PhoneE164: "+12175550100", Street: "100 Main St", City: "Coeur d'Alene", State: "IL", PostalCode: "62701-1234",
		WebsiteURL: "http://www.mueller.example/", Website: "https://mueller.example", Domain: "mueller.example",
	}
}

func TestCheck(t *testing.T) {
	s := builtin(t, "yellowpages")
	for name, c := range map[string]struct {
		change func(*yp.Listing)
		want   string
	}{
		"sound":                  {func(*yp.Listing) {}, ""},
		"no id":                  {func(l *yp.Listing) { l.ID = "" }, "id: is missing"},
		"id in letters":          {func(l *yp.Listing) { l.ID = "abc" }, `id: "abc" does not match ^\d{1,12}$`},
		"id with a line end":     {func(l *yp.Listing) { l.ID = "12\n" }, `id: "12\n" does not match ^\d{1,12}$`},
		"name of marks":          {func(l *yp.Listing) { l.Name = "*** - !!" }, `name: "*** - !!" does not match [\pL\pN]`},
		"name in another script": {func(l *yp.Listing) { l.Name = "寿司" }, ""},
		"name of 201":            {func(l *yp.Listing) { l.Name = strings.Repeat("é", 201) }, `name: "` + strings.Repeat("é", 40) + `" is longer than 200 characters`},
		"city with a digit":      {func(l *yp.Listing) { l.City = "Austin, TX 7870" }, `city: "Austin, TX 7870" matches \pN`},
		"state not of the 51":    {func(l *yp.Listing) { l.State = "PR" }, `state: "PR" is not one of the 50 states or DC`},
		"state by name":          {func(l *yp.Listing) { l.State = "District of Columbia" }, ""},
		"postal code":            {func(l *yp.Listing) { l.PostalCode = "6270" }, `postal_code: "6270" does not match ^\d{5}(?:-\d{4})?$`},
		"profile elsewhere":      {func(l *yp.Listing) { l.ProfileURL = "https://evil.example/mip/a-1" }, `profile_url: "https://evil.example/mip/a-1" is not on www.yellowpages.com`},
		"profile on a port":      {func(l *yp.Listing) { l.ProfileURL = "https://www.yellowpages.com:8443/mip/a-1" }, `profile_url: "https://www.yellowpages.com:8443/mip/a-1" is not on www.yellowpages.com`},
		"profile of a user":      {func(l *yp.Listing) { l.ProfileURL = "https://www.yellowpages.com@evil.example/mip/" }, `profile_url: "https://www.yellowpages.com@evil.example/mip/" is not on www.yellowpages.com`},
		"profile without www":    {func(l *yp.Listing) { l.ProfileURL = "http://yellowpages.com/a/mip/a-1" }, ""},
		"website on a LAN":       {func(l *yp.Listing) { l.Website = "https://192.168.0.1/x" }, `website: "https://192.168.0.1/x" is not an http or https address of a public host`},
		"several": {
			func(l *yp.Listing) { l.ID, l.Name, l.State = "x", "", "ZZ" },
			`name: is missing | id: "x" does not match ^\d{1,12}$ | state: "ZZ" is not one of the 50 states or DC`,
		},
	} {
		l := soundListing()
		c.change(&l)
		storetest.Equal(t, strings.Join(s.Check(&l), " | "), c.want, name)
	}
	t.Run("WithoutRules", func(t *testing.T) {
		small, err := Parse("small.yaml", []byte(smallDef))
		noError(t, err)
		if got, want := small.Check(&yp.Listing{State: "ZZ"}), []string{"id: is missing", "name: is missing"}; !cmp.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestPublicURL(t *testing.T) {
	for want, all := range map[bool][]string{
		true: {"http://shop.acme.co.uk:8080/x?y", "https://user@acme.com/", "https://93.184.216.34", "https://[2606:4700::1111]:443/", "https://a.example"},
		false: {
			"", "acme.com", "ftp://acme.com", "https://", "https://localhost", "https://acme", "https://router.home.arpa", "https://x.test",
			"https://127.0.0.1:8080", "https://10.1.2.3", "https://169.254.169.254/latest", "https://0.0.0.0", "https://1.2.3",
			"https://[::1]", "https://[fe80::1]", "https://[fd00::1]", "https://acme.com@127.0.0.1",
		},
	} {
		for _, u := range all {
			storetest.Equal(t, publicURL(u), want, u)
		}
	}
}
