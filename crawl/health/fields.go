package health

import "ypcrawl/yp"

// fields are the fields of a listing that the layout alarm watches: those that a page may
// say or not. Id, name and rank are not among them: without the first two there is no
// listing, and the page's own checks see it.
var fields = func() (watched []*yp.ListingField) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Watched) {
			watched = append(watched, f)
		}
	}
	return watched
}()

// maxFields bounds how many they are.
const maxFields = len(yp.ListingFields)

// having counts the listings of a page that have each field.
type having [maxFields]int

func count(listings []yp.Listing) (n having) {
	for i := range listings {
		for f := range fields {
			if fields[f].Has(&listings[i]) {
				n[f]++
			}
		}
	}
	return n
}

// fieldNumber finds a field by its name; -1 = none of ours.
func fieldNumber(name string) int {
	for f := range fields {
		if fields[f].Name == name {
			return f
		}
	}
	return -1
}
