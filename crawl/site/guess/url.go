package guess

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// urlReader finds the parts of URLs that name a city, a state and a category.
type urlReader struct {
	city       func(slug string) (city, state string, ok bool)
	categories map[string]string // name by slug
}

func newURLReader(h Hints) urlReader {
	r := urlReader{city: h.City, categories: make(map[string]string, len(h.Categories))}
	if r.city == nil {
		r.city = func(string) (string, string, bool) { return "", "", false }
	}
	for _, name := range h.Categories {
		r.categories[yp.CategorySlug(name)] = name
	}
	return r
}

// urlParts is a URL cut into the segments of its path and the values of its
// query, each with the template that stands for it.
type urlParts struct {
	parts    []urlPart
	segments int // how many of parts are of the path; the rest are of the query
	slash    bool
	place    yp.Place // City and State as the URL names them; "" = not named
	known    bool     // the category is one that is known, not taken from its place in the URL
	odd      []string // parts that no placeholder writes exactly
}

// urlPart is a segment or a parameter.
type urlPart struct {
	key  string // of the parameter
	text string // decoded
	end  string // ".html", cut off text
	form string // template, escaped; "" = the text as it is
}

// Bounds on the URLs that are looked at.
const (
	maxParts    = 24
	maxPartText = 120
)

// read cuts a URL up, and returns nil when it names neither city nor category.
func (r *urlReader) read(u *url.URL) *urlParts {
	p := split(u)
	if p == nil {
		return nil
	}
	r.findCity(p)
	r.findCategory(p)
	if p.place.City == "" && p.place.Category == "" {
		return nil
	}
	return p
}

// split cuts a URL into parts; nil when it has too many or too long ones.
func split(u *url.URL) *urlParts {
	p := &urlParts{slash: strings.HasSuffix(u.Path, "/")}
	for seg := range strings.SplitSeq(strings.Trim(u.EscapedPath(), "/"), "/") {
		text, err := url.PathUnescape(seg)
		if err != nil || text == "" || len(p.parts) >= maxParts || len(text) > maxPartText {
			return nil
		}
		p.parts = append(p.parts, urlPart{text: text})
	}
	p.segments = len(p.parts)
	last := &p.parts[p.segments-1]
	for _, end := range [...]string{".html", ".htm", ".php", ".aspx", ".asp"} {
		if rest, ok := strings.CutSuffix(last.text, end); ok && rest != "" {
			last.text, last.end = rest, end
		}
	}
	for param := range strings.SplitSeq(u.RawQuery, "&") {
		key, val, _ := strings.Cut(param, "=")
		k, err := url.QueryUnescape(key)
		v, err2 := url.QueryUnescape(val)
		if k == "" || strings.HasPrefix(k, "utm_") {
			continue
		}
		if err != nil || err2 != nil || len(p.parts) >= maxParts || len(v) > maxPartText {
			return nil
		}
		p.parts = append(p.parts, urlPart{key: k, text: v})
	}
	return p
}

// findCity looks for a part that names a city with its state, then for a city
// and a state in parts of their own, then for a city at the end of a part that
// says more, "plumbers-in-springfield-il".
func (r *urlReader) findCity(p *urlParts) {
	for i := range p.parts {
		slug := yp.Slug(p.parts[i].text)
		if city, state, ok := r.city(slug); ok && slug != "" {
			p.setCity(city, state, slug)
			p.write(i, wholeCity)
			return
		}
	}
	if r.findStateAndCity(p) {
		return
	}
	for i := range p.parts {
		text := p.parts[i].text
		for at := range len(text) {
			if text[at] != '-' {
				continue
			}
			left, right := text[:at], text[at+1:]
			if r.cityBeside(p, i, right, left, true) || r.cityBeside(p, i, left, right, false) {
				return
			}
		}
	}
}

func (p *urlParts) setCity(city, state, slug string) {
	p.place.City, p.place.State, p.place.CitySlug = city, state, slug
}

// findStateAndCity finds "/il/springfield" and "city=Springfield&state=IL".
func (r *urlReader) findStateAndCity(p *urlParts) bool {
	for i := range p.parts {
		state, ok := yp.LookupState(strings.ReplaceAll(p.parts[i].text, "-", " "))
		if !ok {
			continue
		}
		for j := range p.parts {
			slug := yp.CitySlug(p.parts[j].text, state.Code)
			city, code, ok := r.city(slug)
			if i == j || !ok || p.parts[j].text == "" {
				continue
			}
			p.setCity(city, code, slug)
			p.write(j, cityAlone)
			p.write(i, stateAlone)
			return true
		}
	}
	return false
}

// Ways in which URLs write a city with its state, a city alone, a state and a
// category, the most general first.
var (
	wholeCity = []string{
		"{city_slug}", "{city}, {state}", "{city},{state}", "{city} {state}", "{city}-{state}", "{city}-{state_lower}",
	}
	cityAlone  = []string{"{city_name_slug}", "{city}"}
	stateAlone = []string{"{state_lower}", "{state}", "{state_slug}"}
	categories = []string{"{category_slug}", "{category}"}
)

// write gives a part the first of the forms that yields its text. In a query
// letter case counts for nothing. In a path it may count: what fits no form
// exactly gets the nearest, and is noted as odd.
func (p *urlParts) write(i int, forms []string) {
	u := &p.parts[i]
	if i < p.segments && !strings.ContainsRune(u.text, ' ') && !slices.Equal(forms, stateAlone) {
		forms = forms[:1] // {city} and {category} put blanks into a path
	}
	folded := ""
	for _, form := range forms {
		got := site.FillTemplate(form, p.place)
		if got == u.text && (i >= p.segments || form != "{city}" || strings.ContainsRune(got, ' ')) {
			u.form = form
			return
		}
		if strings.EqualFold(got, u.text) && folded == "" {
			folded = form
		}
	}
	u.form = cmp.Or(folded, forms[0])
	if i < p.segments || folded == "" {
		p.odd = append(p.odd, u.text)
	}
}

// joints stand between a category and a city in one part.
var joints = [...]string{"-in", "-near", ""}

// cityBeside finds a city's slug after or before the category in one part.
func (r *urlReader) cityBeside(p *urlParts, i int, slug, rest string, after bool) bool {
	city, state, ok := r.city(slug)
	if !ok || slug != yp.Slug(slug) {
		return false
	}
	joint := ""
	if after {
		for _, joint = range joints {
			if strings.HasSuffix(rest, joint) {
				break
			}
		}
		rest = strings.TrimSuffix(rest, joint)
	}
	name, known := r.categories[rest]
	if rest == "" || !known && joint == "" {
		return false
	}
	p.setCity(city, state, slug)
	p.place.Category, p.place.CategorySlug, p.known = cmp.Or(name, rest), rest, known
	if p.parts[i].form = "{category_slug}" + joint + "-{city_slug}"; !after {
		p.parts[i].form = "{city_slug}-{category_slug}"
	}
	return true
}

// categoryKeys are the parameters that name what is searched for.
var categoryKeys = strings.Fields("search_terms find_desc what category cat q query keyword keywords term terms k c s")

// findCategory looks for a part that is a known category; else, in a URL that
// names a city, takes the parameter that usually does, or the segment after
// the city, or the one before it.
func (r *urlReader) findCategory(p *urlParts) {
	if p.place.Category != "" {
		return
	}
	for i := range p.parts {
		u := &p.parts[i]
		slug := yp.CategorySlug(u.text)
		if name, ok := r.categories[slug]; ok && u.form == "" {
			p.place.Category, p.place.CategorySlug, p.known = name, slug, true
			p.write(i, categories)
			return
		}
	}
	if p.place.City == "" {
		return
	}
	if i := p.categoryPart(); i >= 0 {
		u := &p.parts[i]
		p.place.Category, p.place.CategorySlug = u.text, yp.CategorySlug(u.text)
		p.write(i, categories)
	}
}

// categoryPart returns the part that most likely names the category, or -1.
func (p *urlParts) categoryPart() int {
	for _, key := range categoryKeys {
		for i := p.segments; i < len(p.parts); i++ {
			if strings.EqualFold(p.parts[i].key, key) && p.parts[i].form == "" && wordy(p.parts[i].text) {
				return i
			}
		}
	}
	city := -1
	for i := range p.segments {
		if p.parts[i].form != "" {
			city = i
		}
	}
	if city >= 0 && city+2 == p.segments && wordy(p.parts[city+1].text) {
		return city + 1
	}
	return -1
}

// wordy reports whether a text can be a category: letters, no number at its
// end as ids have.
func wordy(s string) bool {
	slug := yp.Slug(s)
	return len(slug) >= 3 && strings.TrimRight(slug, "0123456789") == slug
}

// urlTemplates forms the templates of a URL that names a city and a category.
// next is the page's next link, or nil: it says how the site writes a page
// number. search is "" unless pages are numbered in the path; the first has no
// number then, and the search template writes it.
func (p *urlParts) urlTemplates(next *url.URL) (target, search string, paged bool) {
	path := p.pathForm()
	if next != nil {
		if q := split(next); q != nil {
			if end := p.pathPage(q); end != "" {
				return strings.TrimSuffix(path, "/") + "/" + end + p.queryForm("", ""), path + p.queryForm("", ""), true
			}
			if key := p.queryPage(q); key != "" {
				return path + p.queryForm(key, url.QueryEscape(key)+"={page}"), "", true
			}
		}
	}
	return path + p.queryForm("", "page={page}"), "", false
}

// pathForm writes the template of the path.
func (p *urlParts) pathForm() string {
	var b strings.Builder
	for _, u := range p.parts[:p.segments] {
		b.WriteString("/" + cmp.Or(u.form, url.PathEscape(u.text)) + u.end)
	}
	if p.slash {
		b.WriteByte('/')
	}
	return b.String()
}

// queryForm writes the template of the query, without one of its parameters and with one more.
func (p *urlParts) queryForm(without, more string) string {
	var params []string
	for _, u := range p.parts[p.segments:] {
		if u.key == without {
			continue
		}
		val := url.QueryEscape(u.text)
		if u.form != "" {
			val = braces.Replace(url.QueryEscape(u.form))
		}
		params = append(params, url.QueryEscape(u.key)+"="+val)
	}
	if more != "" {
		params = append(params, more)
	}
	if len(params) == 0 {
		return ""
	}
	return "?" + strings.Join(params, "&")
}

// braces takes back the escapes of those of placeholders.
var braces = strings.NewReplacer("%7B", "{", "%7D", "}")

// pathPage returns what a next link adds to the path: "page/{page}" for
// "/page/2", "{page}" for "/2", "page-{page}" for "/page-2"; else "".
func (p *urlParts) pathPage(next *urlParts) string {
	extra := next.segments - p.segments
	if extra < 1 || extra > 2 {
		return ""
	}
	for i, u := range p.parts[:p.segments] {
		if u.text != next.parts[i].text || u.end != next.parts[i].end {
			return ""
		}
	}
	last := next.parts[next.segments-1]
	word := strings.TrimRight(last.text, "0123456789")
	if last.text != word+"2" {
		return ""
	}
	end := url.PathEscape(word) + "{page}" + last.end
	if extra == 2 {
		end = url.PathEscape(next.parts[next.segments-2].text) + "/" + end
	}
	if next.slash {
		end += "/"
	}
	return end
}

// queryPage returns the parameter in which a next link counts pages from 1, or
// "": one that counts listings, "start=30", writes no page number.
func (p *urlParts) queryPage(next *urlParts) string {
	if p.segments != next.segments {
		return ""
	}
	for _, u := range next.parts[next.segments:] {
		have := "1"
		for _, ours := range p.parts[p.segments:] {
			if ours.key == u.key {
				have = ours.text
			}
		}
		n, err := strconv.Atoi(u.text)
		before, err2 := strconv.Atoi(have)
		if err == nil && err2 == nil && n == before+1 {
			return u.key
		}
	}
	return ""
}
