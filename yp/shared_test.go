package yp

import (
	"fmt"
	"strings"
	"testing"
)

// hosts returns the hosts of a kind in hosts.txt.
func hosts(t *testing.T, kind string) (all []string) {
	t.Helper()
	for host, k := range hostKinds() {
		if k == kind {
			all = append(all, host)
		}
	}
	if len(all) < 20 {
		t.Fatalf("there are %d hosts of kind %s", len(all), kind)
	}
	return all
}

func shareWebKey(a, b string) bool {
	x, y := CompanyKeys(&Listing{Name: "A", Website: a}, DefaultCountry), CompanyKeys(&Listing{Name: "B", Website: b}, DefaultCountry)
	return len(x) > 0 && len(y) > 0 && x[0] == y[0]
}

// TestSharedHosts: nothing on a host that many businesses share makes one of two.
func TestSharedHosts(t *testing.T) {
	for _, domain := range hosts(t, "shared") {
		for _, address := range []string{
			"http://%s", "https://www.%s/", "%s/acme", "https://m.%s/acme?id=1", "http://a.b.%s", "HTTPS://WWW.%s:443/index.html", "//%s/contact",
		} {
			url := fmt.Sprintf(address, domain)
			if keys := CompanyKeys(&Listing{Name: "Acme", Website: url}, DefaultCountry); len(keys) > 0 {
				t.Errorf("%s gives the key %q", url, keys)
			}
		}
	}
}

// TestBuilders: the home of a site builder makes one of nobody; the hosts that it
// gives to customers tell them apart.
func TestBuilders(t *testing.T) {
	for _, host := range append(hosts(t, "builder"), "wixsite.com", "square.site", "blogspot.com", "myshopify.com", "github.io") {
		for _, address := range []string{"http://%s", "https://www.%s/", "%s/acme"} {
			url := fmt.Sprintf(address, host)
			if keys := CompanyKeys(&Listing{Name: "Acme", Website: url}, DefaultCountry); len(keys) > 0 {
				t.Errorf("%s gives the key %q", url, keys)
			}
		}
		if shareWebKey("https://acme."+host, "https://bob."+host) {
			t.Errorf("two customers of %s are one", host)
		}
		if !shareWebKey("http://acme."+host+"/index.html", "https://www.acme."+host) {
			t.Errorf("two addresses of one customer of %s are two", host)
		}
	}
}

// TestAgentBrands: the front page of a brand tells none of its agents from another.
func TestAgentBrands(t *testing.T) {
	for _, domain := range hosts(t, "agents") {
		for _, url := range []string{"https://www." + domain, "http://" + domain + "/index.html", domain + "/contact-us/", "https://agents." + domain + "/?a=b"} {
			if keys := CompanyKeys(&Listing{Name: "Acme", Website: url}, DefaultCountry); len(keys) > 0 {
				t.Errorf("%s gives the key %q", url, keys)
			}
		}
		if shareWebKey(domain+"/agent/ann", domain+"/agent/bob") || !shareWebKey(domain+"/agent/ann", "www."+domain+"/agent/ann/") {
			t.Errorf("the pages of agents on %s", domain)
		}
	}
}

func TestWebKey(t *testing.T) {
	for in, want := range map[string]string{
		"http://www.acme.com/":                        "acme.com",
		"https://acme.com/index.php":                  "acme.com",
		"https://acme.com/Default.aspx":               "acme.com",
		"https://acme.com/home":                       "acme.com",
		"https://acme.com/contact-us/":                "acme.com",
		"https://acme.com/menu":                       "acme.com/menu",
		"https://acme.com/austin/contact":             "acme.com/austin/contact",
		"https://acme.com/austin/index.html":          "acme.com/austin",
		"https://acme.com/index.php?page=austin":      "acme.com/index.php?page=austin",
		"https://acme.com/?store=4":                   "acme.com?store=4",
		"https://acme.com:8080/index.html":            "acme.com:8080",
		"https://acme.com/index.html/index.html":      "acme.com/index.html",
		"https://acme.com/locations/home.html":        "acme.com/locations",
		"http://192.0.2.1/welcome.html":               "192.0.2.1",
		"https://acme.com/" + strings.Repeat("i", 99): "acme.com/" + strings.Repeat("i", 99),
	} {
		w, ok := CanonicalWebsite(in)
		if !ok {
			t.Fatalf("%s is no website", in)
		}
		if got, ok := webKey(&w); got != want || !ok {
			t.Errorf("webKey(%s) = %q, %t, want %q", in, got, ok, want)
		}
	}
}
