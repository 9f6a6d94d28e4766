package demo

import (
	"encoding/json"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// told holds what a listing says in the fields whose changes count, as texts:
// lists as JSON arrays, numbers in decimal, "" for nothing. The other fields
// are volatile, or follow from these.
type told [len(toldFields)]string

var toldFields = [...]string{
	"name", "phone", "street", "city", "state", "postal_code", "service_area", "website", "categories", "rating", "review_count",
	"years_in_business", "price_range", "snippet", "hours", "claimed",
}

const toldPhone = 1

func tell(l *yp.Listing) told {
	t := told{
		l.Name, l.Phone, l.Street, l.City, l.State, l.PostalCode, l.ServiceArea, l.Website, listText(l.Categories), "", countText(l.ReviewCount),
		countText(l.YearsInBusiness), l.PriceRange, l.Snippet, listText(l.Hours), "",
	}
	if l.Rating > 0 {
		t[9] = strconv.FormatFloat(l.Rating, 'f', -1, 64)
	}
	if l.Claimed != nil {
		t[15] = strconv.FormatBool(*l.Claimed)
	}
	return t
}

func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// listText writes a list as JSON, with & and < as they are.
func listText(list []string) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		return "" // a list of texts can always be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// same reports whether two texts of a field say the same: phones by their
// canonical form where both have one.
func (t *told) same(field int, other string) bool {
	if t[field] == other {
		return true
	}
	if field != toldPhone {
		return false
	}
	a, okA := yp.CanonicalPhone(t[field])
	b, okB := yp.CanonicalPhone(other)
	return okA && okB && a == b
}
