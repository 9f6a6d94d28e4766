package site

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// hints tells of the fields that no card has what their rules find; of a page without cards what its selectors of
// cards may lack; and of one without a next link where its rules lead.
func (r *Reading) hints(s *Source, t *trace, doc *html.Node) {
	for n := range doc.Descendants() {
		if len(r.Cards) == 0 && n.Type == html.ElementNode {
			t.addWords(n)
		}
	}
	words := slices.Sorted(maps.Keys(t.words))
	if len(r.Cards) == 0 && r.Outcome == HTMLChanged && !s.def.Structured.On {
		r.cardHints(s, doc, words)
	}
	if s.def.Structured.On && r.Outcome == HTMLChanged {
		r.Hints = append(r.Hints, Hint{*s.places.rule("structured", "true"), "the page has no business in JSON-LD, microdata or hCard"})
	}
	if len(t.cards) > 0 {
		r.fieldHints(s, t, words)
	}
	if r.NextURL == "" && r.Outcome == OK {
		hits := s.page.NewHits()
		s.page.Find(doc, hits, nil)
		for i := range s.next {
			if sel := s.next[i].sel; sel >= 0 && len(hits[sel]) > 0 {
				n := len(hits[sel])
				r.Hints = append(r.Hints, Hint{*s.next[i].def, fmt.Sprintf("finds %s, but no link to a later page", yp.Plural(n, "element"))})
			}
		}
	}
}

// cardHints says why there are no cards.
func (r *Reading) cardHints(s *Source, doc *html.Node, words []string) {
	for i, text := range s.def.Cards.Organic {
		rule := s.cardRules[s.organic[i]]
		r.Hints = append(r.Hints, Hint{*rule, "finds nothing on the page" + near(text, words)})
	}
	if often := repeated(doc); len(often) > 0 && len(r.Hints) > 0 {
		r.Hints[len(r.Hints)-1].Text += "; repeated most on the page: " + strings.Join(often, ", ")
	}
}

// repeated returns what a page repeats, as its list of cards does: elements of one tag and class with a link in them,
// those with the most in them first.
func repeated(doc *html.Node) (often []string) {
	type kind struct{ n, size int }
	kinds := map[string]*kind{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		class, _, _ := strings.Cut(strings.TrimSpace(region.Attr(n, "class")), " ")
		if class == "" {
			continue
		}
		size, link := 0, false
		for d := range n.Descendants() {
			size++
			link = link || d.Type == html.ElementNode && d.Data == "a"
		}
		if link && size > 6 {
			key := n.Data + "." + class
			if kinds[key] == nil {
				kinds[key] = &kind{}
			}
			kinds[key].n++
			kinds[key].size += size
		}
	}
	var keys []string
	for key, k := range kinds {
		if k.n >= 3 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(kinds[b].size-kinds[a].size, strings.Compare(a, b)) })
	for _, key := range keys[:min(len(keys), 3)] {
		often = append(often, fmt.Sprintf("%s (%d times)", key, kinds[key].n))
	}
	return often
}

// hintOrder is the order of fieldNames in which people look for them.
var hintOrder = func() (names []string) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Defined) {
			names = append(names, f.Name)
		}
	}
	return append(names, "locality", "address")
}()

// fieldHints tells of the fields that no card has what their rules find.
func (r *Reading) fieldHints(s *Source, t *trace, words []string) {
	some := map[string]bool{}
	for i := range r.Cards {
		for _, v := range r.Cards[i].Values {
			some[v.Field] = some[v.Field] || v.Text != ""
		}
	}
	some["locality"], some["address"] = some["city"], some["city"]
	lack := map[string]int{} // cards that are unread for want of it
	for i := range r.Cards {
		for _, name := range r.Cards[i].Empty {
			if r.Cards[i].Unread != "" && (name == "id" || name == "name") {
				lack[name]++
			}
		}
	}
	for _, name := range hintOrder {
		if some[name] && 2*lack[name] < len(r.Cards) {
			continue
		}
		if !some[name] && name != "locality" && name != "address" {
			r.Never = append(r.Never, name)
		}
		for i := range s.def.Fields[name] {
			rule := s.fields.named(name)[i]
			u := t.uses[rule.def]
			h := Hint{Rule: *rule.def}
			switch {
			case u == nil || u.found == 0:
				h.Text = "finds nothing on any card" + near(s.def.Fields[name][i].CSS, words)
			case u.gave == 0:
				h.Text = fmt.Sprintf("takes nothing on %s: %s", yp.Plural(u.found, "card"), u.sample)
			case some[name]:
				h.Text = fmt.Sprintf("gives a text on only %d of %s", u.gave, yp.Plural(len(r.Cards), "card"))
			default:
				h.Text = fmt.Sprintf("gives a text on %s, but not in the form of this field", yp.Plural(u.gave, "card"))
			}
			r.Hints = append(r.Hints, h)
		}
	}
}

// named returns the rules of a field.
func (f *fields) named(name string) field {
	for _, rules := range f.all() {
		if len(rules) > 0 && fieldOf(rules[0].def.Key) == name {
			return rules
		}
	}
	return nil
}

var selectorWord = regexp.MustCompile(`[.#][\w-]+`)

// near says which class or id a selector may have meant, of those that are there.
func near(selector string, words []string) string {
	for _, w := range selectorWord.FindAllString(selector, -1) {
		if slices.Contains(words, w) {
			continue
		}
		if hit, ok := yp.Nearest(w, words); ok && hit[0] == w[0] {
			return fmt.Sprintf(": there is no %s; did you mean %s?", w, hit)
		}
		return fmt.Sprintf(": there is no %s", w)
	}
	return ""
}

// signs notes which signs of the site and of an empty result the page has.
func (r *Reading) signs(s *Source, doc *html.Node) {
	r.Signs = []Rule{}
	for _, of := range []struct {
		key  string
		def  *markDef
		mark *marks
	}{{"chrome", &s.def.Chrome, &s.chrome}, {"empty", &s.def.Empty, &s.empty}} {
		for i, text := range of.def.Selectors {
			var one region.Selectors
			if _, err := one.Add(text); err == nil && one.In(doc) {
				r.Signs = append(r.Signs, *s.ruleAt(of.key+".selectors", i, text))
			}
		}
		for i, text := range of.def.Texts {
			if m := (marks{texts: of.mark.texts[i : i+1]}); m.inText(nil, doc) != "" {
				r.Signs = append(r.Signs, *s.ruleAt(of.key+".texts", i, text))
			}
		}
		for i, text := range of.def.Titles {
			m := marks{titles: of.def.Titles[i : i+1]}
			if of.key == "chrome" && m.partOfTitle(titleOf(doc)) || of.key == "empty" && m.inTitle(doc) {
				r.Signs = append(r.Signs, *s.ruleAt(of.key+".titles", i, text))
			}
		}
	}
}

// ruleAt returns the rule at an item of a list of the definition.
func (s *Source) ruleAt(path string, i int, text string) *Rule {
	return s.places.rule(itemPath(path, i), text)
}
