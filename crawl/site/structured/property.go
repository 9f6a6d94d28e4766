package structured

import "strings"

// properties are the names of schema.org's properties that are read, by their lower case, and those of JSON-LD.
var properties = propertySet(`
@type @id @graph @value about addressLocality addressRegion address aggregateRating alternateName areaServed bestRating category closes contactPoint
contentUrl dayOfWeek description email foundingDate geo hasOfferCatalog hasPart identifier image item itemListElement itemOffered
keywords knowsLanguage latitude legalName location longitude mainEntity mainEntityOfPage makesOffer name openingHours
openingHoursSpecification opens paymentAccepted phone photo position postalCode priceRange ratingCount ratingValue reviewCount sameAs
serviceArea starRating streetAddress telephone telephone_number url validFrom validThrough value worstRating
`)

func propertySet(words string) map[string]string {
	set := map[string]string{}
	for w := range strings.FieldsSeq(words) {
		set[strings.ToLower(w)] = w
	}
	return set
}

// maxProperty is longer than any of the properties, in bytes.
const maxProperty = 32

// property returns the name of a property in the letters that schema.org has for it: sites also write "Name" and "STREETADDRESS". exact
// says that it had them, or is none that is read.
func property(name string) (own string, exact bool) {
	var buf [maxProperty]byte
	if len(name) > len(buf) {
		return name, true
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	own, known := properties[string(buf[:len(name)])]
	switch {
	case !known, own == name:
		return name, true
	}
	return own, false
}
