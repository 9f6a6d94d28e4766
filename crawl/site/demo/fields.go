package demo

import "fmt"

// The fields that templates may name.
const (
	fID = iota
	fLid
	fRank
	fGap
	fHref
	fName
	fPhone
	fTel
	fStreet
	fLocality
	fCity
	fState
	fZip
	fArea
	fOneLine
	fWebsite
	fCats
	fStars
	fReviews
	fTA
	fTACount
	fBBB
	fYears
	fYearsYP
	fOpen
	fOpenClass
	fPrice
	fSnippet
	fImage
	fLazy
	fNoImage
	fClaimed
	fTier
	fLDName
	fLDURL
	fLDStreet
	fLDCity
	fLDHours
	fLDRating
	fLDDetail
	fCharset
	fTitle
	fSelf
	fKind
	fWhat
	fWhere
	fHeading
	fTotal
	fSort
	fShowing
	fShowingP
	fPager
	fNext
	fNextPage
	fLast
	fCitySlug
	fStateSlug
	fLetters
	fList
	fListClass
	fMailto
	fServices
	fPayment
	fHoursRows
	fLanguages
	fAKA
	fSocial
	fAddressSpan
	fHoods
	numFields
)

var fieldNames = [numFields]string{
	fID: "id", fLid: "lid", fRank: "rank", fGap: "gap", fHref: "href", fName: "name", fPhone: "phone", fTel: "tel", fStreet: "street",
	fLocality: "locality", fCity: "city", fState: "state", fZip: "zip", fArea: "area", fOneLine: "one_line", fWebsite: "website", fCats: "cats",
	fStars: "stars", fReviews: "reviews", fTA: "ta", fTACount: "ta_count", fBBB: "bbb", fYears: "years", fYearsYP: "years_yp", fOpen: "open",
	fOpenClass: "open_class", fPrice: "price", fSnippet: "snippet", fImage: "image", fLazy: "lazy", fNoImage: "noimage", fClaimed: "claimed",
	fTier: "tier", fLDName: "ld_name", fLDURL: "ld_url", fLDStreet: "ld_street", fLDCity: "ld_city", fLDHours: "ld_hours", fLDRating: "ld_rating",
	fLDDetail: "ld_detail", fCharset: "charset", fTitle: "title", fSelf: "self", fKind: "kind", fWhat: "what", fWhere: "where",
	fHeading: "heading", fTotal: "total", fSort: "sort", fShowing: "showing", fShowingP: "showing_p", fPager: "pager", fNext: "next",
	fNextPage: "next_page", fLast: "last", fCitySlug: "city_slug", fStateSlug: "state_slug", fLetters: "letters", fList: "list",
	fListClass: "list_class", fMailto: "mailto", fServices: "services", fPayment: "payment", fHoursRows: "hours_rows",
	fLanguages: "languages", fAKA: "aka", fSocial: "social", fAddressSpan: "address_span", fHoods: "hoods",
}

func fieldNamed(name string) (int, error) {
	for f, n := range fieldNames {
		if n == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("no field %q", name)
}
