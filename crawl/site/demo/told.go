package demo

import "ypcrawl/yp"

// told holds what a listing says in the fields whose changes count, as texts, in the order
// of yp.ListingFields. The other fields are volatile, or follow from these.
type told [len(yp.ListingFields)]string

func tell(l *yp.Listing) (t told) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Counted) {
			t[i] = f.Text(l)
		}
	}
	return t
}

// same reports whether two texts of a field say the same: phones by their
// canonical form where both have one.
func (t *told) same(field int, other string) bool {
	if t[field] == other {
		return true
	}
	if yp.ListingFields[field].Form != "phone_e164" {
		return false
	}
	a, okA := yp.CanonicalPhone(t[field])
	b, okB := yp.CanonicalPhone(other)
	return okA && okB && a == b
}
