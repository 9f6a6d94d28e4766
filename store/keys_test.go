package store

import (
	"testing"

	"ypcrawl/yp"
)

// TestKeyNumbers: the numbers are in files and must never change. Those of one kind and
// place are near each other.
func TestKeyNumbers(t *testing.T) {
	t.Parallel()
	number := func(key string) int64 { return numberOf(keyHash, key) }
	for key, want := range map[string]int64{
		"web:acme.com":                       6667216908133600,
		"tel:+13105550123|acme plumbing":     5628793422884941,
		"adr:acme plumbing|12 main st|90210": 387451364654370,
	} {
		if got := number(key); got != want || got < 0 || got>>56 != 0 {
			t.Errorf("%s has the number %d, want %d", key, got, want)
		}
	}
	const aPlace = 1 << (hashBits - placeBits + kindBits)
	for _, near := range [][2]string{
		{"tel:+13105550123|acme", "tel:+13105559876|bolt"},
		{"adr:acme|1 main st|90210", "adr:bolt|9 oak ave|90210"},
	} {
		if a, b := number(near[0]), number(near[1]); a/aPlace != b/aPlace || a == b {
			t.Errorf("%q: %d and %d", near, a, b)
		}
	}
	// Whatever has no place, or not all of it, has a number all the same.
	for _, key := range []string{"tel:+1|x", "tel:+", "adr:", "web:", "tel:+4420794|x"} {
		if n := number(key); n < 0 || n>>56 != 0 {
			t.Errorf("%q: %d", key, n)
		}
	}
}

// FuzzKeyNumbers: any listing's keys have numbers of their kind.
func FuzzKeyNumbers(f *testing.F) {
	f.Add("Acme", "+13105550123", "12 Main St", "90210", "https://acme.com")
	f.Fuzz(func(t *testing.T, name, phone, street, postal, website string) {
		for _, k := range yp.CompanyKeys(&yp.Listing{Name: name, PhoneE164: phone, Street: street, PostalCode: postal, Website: website}, yp.DefaultCountry) {
			n := numberOf(keyHash, k)
			kind := []yp.KeyKind{yp.KeyWeb, yp.KeyTel, yp.KeyAdr}[n&(1<<kindBits-1)]
			if n < 0 || n>>56 != 0 || kind != yp.KindOf(k) {
				t.Errorf("%q has the number %d", k, n)
			}
		}
	})
}
