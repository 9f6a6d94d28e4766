package site

import (
	"encoding/json"
	"net/url"
	"strings"

	"ypcrawl/yp"
)

// business is what a JSON-LD script says of one business, as far as a listing
// has room for it. Such scripts on results pages know no website and no
// categories.
type business struct {
	Type     words     `json:"@type"`
	Graph    nodes     `json:"@graph"`
	Items    nodes     `json:"itemListElement"`
	Item     nodes     `json:"item"`
	URL      words     `json:"url"`
	Phone    words     `json:"telephone"`
	Address  addresses `json:"address"`
	Hours    words     `json:"openingHours"`
	Rating   score     `json:"aggregateRating"`
	Image    words     `json:"image"`
	Price    words     `json:"priceRange"`
	FullName words     `json:"name"`
}

type address struct {
	Street words `json:"streetAddress"`
	City   words `json:"addressLocality"`
	State  words `json:"addressRegion"`
	Zip    words `json:"postalCode"`
}

type scoreFields struct {
	Value   words `json:"ratingValue"`
	Reviews words `json:"reviewCount"`
	Ratings words `json:"ratingCount"`
}

// The types below take what pages write for one thing: a value, a list of
// them, or something else, which they pass over.
type (
	words     []string
	nodes     []business
	addresses []address
	score     scoreFields
)

// UnmarshalJSON takes a text, a number, or a list of them.
func (w *words) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*w = words{s}
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, raw := range list[:min(len(list), maxHours)] {
			var one words
			if one.UnmarshalJSON(raw) == nil {
				*w = append(*w, one...)
			}
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*w = words{string(b)}
	}
	return nil
}

// first returns the first text, or "".
func (w words) first() string {
	if len(w) == 0 {
		return ""
	}
	return w[0]
}

// UnmarshalJSON takes an object or a list of objects; one that is of another
// form than expected is passed over alone.
func (n *nodes) UnmarshalJSON(b []byte) error {
	return each(b, func(raw []byte) {
		var one business
		if json.Unmarshal(raw, &one) == nil {
			*n = append(*n, one)
		}
	})
}

// UnmarshalJSON takes an object or a list of objects.
func (a *addresses) UnmarshalJSON(b []byte) error {
	return each(b, func(raw []byte) {
		var one address
		if json.Unmarshal(raw, &one) == nil {
			*a = append(*a, one)
		}
	})
}

// UnmarshalJSON takes an object.
func (s *score) UnmarshalJSON(b []byte) error {
	return each(b, func(raw []byte) { _ = json.Unmarshal(raw, (*scoreFields)(s)) })
}

// each calls f with the object b, or with the objects of the list b.
func each(b []byte, f func([]byte)) error {
	switch b[0] {
	case '{':
		f(b)
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, raw := range list {
			if len(raw) > 0 && raw[0] == '{' {
				f(raw)
			}
		}
	}
	return nil
}

// Bounds on JSON-LD: pages of 30 cards carry some 20 KB of it.
const (
	maxScript     = 1 << 20
	maxBusinesses = 1000
	maxNesting    = 4
)

// businesses returns what the scripts say of businesses; a script that is no
// JSON is passed over.
func businesses(scripts []string) []business {
	var found []business
	for _, script := range scripts {
		if len(script) > maxScript || tooDeep(script) {
			continue
		}
		var top nodes
		if json.Unmarshal([]byte(script), &top) == nil {
			found = gather(found, top, 0)
		}
	}
	return found
}

// tooDeep reports whether JSON nests deeper than any of use: each level costs
// another pass.
func tooDeep(script string) bool {
	depth, most := 0, 0
	for i := range len(script) {
		switch script[i] {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most > 16
}

// gather picks the businesses, found by type, out of lists and graphs.
func gather(found []business, in nodes, depth int) []business {
	for i := range in {
		b := &in[i]
		if len(found) >= maxBusinesses || depth > maxNesting {
			return found
		}
		if b.isBusiness() {
			found = append(found, *b)
		}
		found = gather(found, b.Graph, depth+1)
		found = gather(found, b.Items, depth+1)
		found = gather(found, b.Item, depth+1)
	}
	return found
}

// isBusiness reports whether the type is LocalBusiness, or one of its many
// subtypes, told by an address or a telephone beside the url.
func (b *business) isBusiness() bool {
	for _, t := range b.Type {
		if t == "LocalBusiness" || strings.HasSuffix(t, "/LocalBusiness") {
			return true
		}
	}
	return len(b.Type) > 0 && len(b.URL) > 0 && (len(b.Address) > 0 || len(b.Phone) > 0)
}

// fillFromJSONLD gives listings what their cards lack and the page's JSON-LD
// has. The two are matched by the path of the profile URL.
func fillFromJSONLD(list []yp.Listing, scripts []string, final *url.URL) {
	if len(scripts) == 0 {
		return
	}
	byPath := map[string]*business{}
	all := businesses(scripts)
	for i := range all {
		if path := urlPath(all[i].URL.first()); path != "" && byPath[path] == nil {
			byPath[path] = &all[i]
		}
	}
	for i := range list {
		if b := byPath[urlPath(list[i].ProfileURL)]; b != nil {
			b.fill(&list[i], final)
		}
	}
}

// urlPath returns the path of an absolute or site-relative URL, without the
// slash at its end; "" when there is none to match by.
func urlPath(u string) string {
	if i := strings.Index(u, "://"); i >= 0 {
		u = u[i+3:]
		j := strings.IndexByte(u, '/')
		if j < 0 {
			return ""
		}
		u = u[j:]
	}
	if i := strings.IndexAny(u, "?#"); i >= 0 {
		u = u[:i]
	}
	if !strings.HasPrefix(u, "/") {
		return ""
	}
	return strings.TrimRight(u, "/")
}

func (b *business) fill(l *yp.Listing, final *url.URL) {
	if l.Phone == "" {
		setPhone(l, yp.Clean(strings.TrimPrefix(clip(b.Phone.first(), maxText), "tel:")))
	}
	b.fillAddress(l)
	if l.Rating == 0 {
		l.Rating = rating(strings.TrimSpace(clip(b.Rating.Value.first(), maxLine)))
	}
	if l.ReviewCount == 0 {
		l.ReviewCount, _ = firstInt(clip(b.Rating.Reviews.first(), maxLine))
	}
	if l.PriceRange == "" {
		l.PriceRange = priceRange(strings.TrimSpace(b.Price.first()))
	}
	for _, h := range b.Hours[:min(len(b.Hours), maxHours)] {
		if h = keep(yp.Clean(clip(h, maxText)), maxLine); h != "" {
			l.Hours = append(l.Hours, h)
		}
	}
}

// fillAddress fills the address when the card has none at all: half of one
// from here and half from there would be nobody's.
func (b *business) fillAddress(l *yp.Listing) {
	if len(b.Address) == 0 || l.Street != "" || l.PostalCode != "" || l.ServiceArea != "" {
		return
	}
	a := &b.Address[0]
	part := func(w words) string { return keep(trimPlace(yp.Clean(clip(w.first(), maxText))), maxLine) }
	city, state := part(a.City), stateCode(part(a.State))
	if l.City != "" && !strings.EqualFold(city, l.City) {
		return
	}
	l.Street, l.City, l.State, l.PostalCode = part(a.Street), orKeep(city, l.City), orKeep(state, l.State), postalCode(part(a.Zip))
}

func orKeep(s, old string) string {
	if s == "" {
		return old
	}
	return s
}
