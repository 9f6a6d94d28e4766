package health

import "ypcrawl/yp"

// field is a field of a listing that the layout alarm watches.
type field struct {
	name string
	has  func(*yp.Listing) bool
}

// fields are those that a page may say or not. Id, name and rank are not among
// them: without the first two there is no listing, and the page's own checks see it.
var fields = [...]field{
	{"phone", func(l *yp.Listing) bool { return l.Phone != "" }},
	{"street", func(l *yp.Listing) bool { return l.Street != "" }},
	{"city", func(l *yp.Listing) bool { return l.City != "" }},
	{"postal_code", func(l *yp.Listing) bool { return l.PostalCode != "" }},
	{"website", func(l *yp.Listing) bool { return l.Website != "" || l.WebsiteURL != "" }},
	{"categories", func(l *yp.Listing) bool { return len(l.Categories) > 0 }},
	{"rating", func(l *yp.Listing) bool { return l.Rating > 0 }},
	{"review_count", func(l *yp.Listing) bool { return l.ReviewCount > 0 }},
	{"price_range", func(l *yp.Listing) bool { return l.PriceRange != "" }},
	{"snippet", func(l *yp.Listing) bool { return l.Snippet != "" }},
	{"years_in_business", func(l *yp.Listing) bool { return l.YearsInBusiness > 0 }},
	{"hours", func(l *yp.Listing) bool { return len(l.Hours) > 0 }},
	{"profile_url", func(l *yp.Listing) bool { return l.ProfileURL != "" }},
	{"image_url", func(l *yp.Listing) bool { return l.ImageURL != "" }},
}

// having counts the listings of a page that have each field.
type having [len(fields)]int

func count(listings []yp.Listing) (n having) {
	for i := range listings {
		for f := range fields {
			if fields[f].has(&listings[i]) {
				n[f]++
			}
		}
	}
	return n
}

// fieldNumber finds a field by its name; -1 = none of ours.
func fieldNumber(name string) int {
	for f := range fields {
		if fields[f].name == name {
			return f
		}
	}
	return -1
}
