package site

import (
	"fmt"
	"net/url"
	"unicode/utf8"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// jsonIndex is how a source whose answers are JSON lists its cities.
type jsonIndex struct {
	items             jsondoc.Path
	city, slug, state field // in an item
}

// compileJSONIndex makes an index of JSON ready.
func (c *compiled) compileJSONIndex(x *stateIndex, f *faults) {
	d := &c.def.Index
	c.noHTML(len(d.Cities) > 0, "index.cities", "index.items", f)
	c.noHTML(d.Path != "", "index.path", "index.items, index.city and index.slug", f)
	c.noHTML(d.Not != "", "index.not", "a match in index.slug", f)
	x.json = &jsonIndex{
		city: c.compileRuleSet(nil, d.City, "index.city", f), slug: c.compileRuleSet(nil, d.Slug, "index.slug", f),
	}
	if d.State.JSON+d.State.CSS != "" {
		x.json.state = c.compileRuleSet(nil, ruleSet{d.State}, "index.state", f)
	}
	if d.Items == "" {
		f.lacks("index.items")
	} else {
		var err error
		x.json.items, err = jsondoc.Compile(d.Items)
		x.json.items = x.json.items.List() // of an answer that is a list itself: #
		f.add("index.items", err)
	}
	if len(d.City) == 0 {
		f.lacks("index.city")
	}
}

// readIndex reads a page of an index of JSON: see ParseIndex. That it lists no city is said only where the answer has
// the frame of an index.
func (s *Source) readIndex(body []byte, final *url.URL, status int, state string) (*Page, error) {
	doc, p, err := s.indexData(body, final, status)
	if p != nil || err != nil {
		return p, err
	}
	c := &cardReader{src: s, at: s.linksAt(final), item: doc}
	r := &indexReader{src: s, state: state, seen: map[string]bool{}}
	found := s.eachItem(&s.states.json.items, doc, func(item jsondoc.Value) bool {
		c.item = item
		r.item(c)
		return true
	})
	c.item = doc
	if failed := s.refusedBy(c, false); failed != nil { // of an answer in part nobody knows which cities it lacks
		return failed, nil
	}
	p = &Page{Page: yp.Page{Cities: r.cities}}
	r.decideJSON(p, c, found)
	return p, nil
}

// indexData is readJSON of an index, whose JSON may be in a script of a page of HTML.
func (s *Source) indexData(body []byte, final *url.URL, status int) (data jsondoc.Value, p *Page, err error) {
	if s.script == nil {
		return s.readJSON(body, final, status)
	}
	doc, end, err := region.Parse(body)
	if err != nil {
		return data, nil, s.parseError(final, err)
	}
	if gone(status) {
		p, err = s.notThere(doc, end, final, status)
		return data, p, err
	}
	data, why := s.dataOf(doc)
	if why == "" {
		return data, nil, s.cut(OK, end, final)
	}
	p = &Page{Outcome: HTMLChanged, Reason: why}
	if words := blockPage.inText(nil, doc); words != "" {
		p.Outcome, p.Reason = Unrecognised, saysBlocked(words)
	} else if !s.hasChrome(doc) {
		p.Outcome, p.Reason = Unrecognised, "not one of the site's pages: it has none of the signs under chrome, and "+why
	}
	return data, p, s.cut(p.Outcome, end, final)
}

// item keeps the city of an item.
func (r *indexReader) item(c *cardReader) {
	x := r.src.states.json
	name, slug, state := keep(yp.TrimPlace(x.city.first(c)), maxLine), x.slug.identifier(c), r.state
	switch {
	case name == "" || len(slug) > maxSlug:
		r.listed++
		return
	case slug == "" && r.src.country == yp.DefaultCountry && state != "":
		slug = yp.CitySlug(name, state)
	case slug == "":
		slug = yp.Slug(name)
	}
	if len(x.state) > 0 {
		text := yp.Clean(x.state.first(c))
		st, known := r.src.stateSet.Lookup(text)
		if state = keep(text, maxLine); known {
			state = st.Code
		} else if len(r.src.stateSet.All()) > 0 || text == "" || utf8.RuneCountInString(text) > yp.MaxState {
			r.stateless++
			return
		}
	}
	key := state + "\x00" + slug
	switch whole := r.src.states.whole; {
	case slug == "" || r.seen[key]:
	case !whole && state != r.state:
		r.other++
	case len(r.cities) >= maxCities*wholeShare(whole):
		r.more++
	default:
		r.seen[key] = true
		r.cities = append(r.cities, yp.FoundCity{City: yp.City{State: state}, Address: slug, Shown: name})
	}
}

// decideJSON names the outcome of an index of JSON, in the order of Source.decide.
func (r *indexReader) decideJSON(p *Page, c *cardReader, found itemsFound) {
	s, raw := r.src, []byte(c.item.Raw())
	switch chrome := s.chrome.data.held(c) != ""; {
	case len(p.Cities) > 0:
		p.Outcome, p.Reason = OK, yp.Plural(len(p.Cities), "city")
		if r.more > 0 {
			p.Reason += fmt.Sprintf("; %d more left out", r.more)
		}
		if bad := r.stateless + r.listed; bad > 0 {
			p.Reason += fmt.Sprintf("; the name or state of %d can't be read", bad)
		}
	case blockPage.inBody(raw) != "":
		p.Reason = saysBlocked(blockPage.inBody(raw))
	case !chrome:
		p.Reason = "not one of the site's answers: it has none of the signs under chrome"
	case r.other+r.stateless+r.listed > 0:
		p.Outcome = HTMLChanged
		p.Reason = fmt.Sprintf("the answer has no readable city of %s, only %s", r.state, yp.Plural(r.other+r.stateless+r.listed, "other"))
	case found == noItems:
		p.Outcome, p.Reason = HTMLChanged, fmt.Sprintf("the site answered, but without a list at index.items (%s)", s.def.Index.Items)
	case s.states.frame.data.held(c) != "":
		p.Outcome, p.Reason = NoListings, "the index lists no cities here: "+s.states.frame.data.held(c)
	default:
		p.Outcome, p.Reason = HTMLChanged, "the site answered, but with neither cities nor the signs of an index (index.frame)"
	}
}
