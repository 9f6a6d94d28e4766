package yp

// Score says how complete a listing is, from 0 to 100, for --min-score:
//
//	name 10 · phone 20 (10 when it has no E.164 form) · street 15 (service
//	area instead: 10) · city and state 5 · postal code 5 · website 15 ·
//	categories 10 · rating 5 · hours 5 · years in business 3 · snippet 3 ·
//	image 2 · price range 2
//
// What lets one reach the business weighs most; rank and advertising count for
// nothing.
func Score(l *Listing) int {
	score := phoneScore(l) + placeScore(l)
	for _, part := range [...]struct {
		has    bool
		weight int
	}{
		{l.Name != "", 10},
		{l.Website != "" || l.WebsiteURL != "", 15},
		{len(l.Categories) > 0, 10},
		{l.Rating > 0, 5},
		{len(l.Hours) > 0, 5},
		{l.YearsInBusiness > 0, 3},
		{l.Snippet != "", 3},
		{l.ImageURL != "", 2},
		{l.PriceRange != "", 2},
	} {
		if part.has {
			score += part.weight
		}
	}
	return score
}

func phoneScore(l *Listing) int {
	switch {
	case l.PhoneE164 != "":
		return 20
	case l.Phone != "":
		return 10
	}
	return 0
}

func placeScore(l *Listing) int {
	score := 0
	switch {
	case l.Street != "":
		score = 15
	case l.ServiceArea != "":
		score = 10
	}
	if l.City != "" && l.State != "" {
		score += 5
	}
	if l.PostalCode != "" {
		score += 5
	}
	return score
}
