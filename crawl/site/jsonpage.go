package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// parseJSON reads a page of results that is JSON. Outcomes follow as they do for pages of HTML (see decide), but for
// rule 2: what says that it is an error is one, whatever else it has.
func (s *Source) parseJSON(body []byte, final *url.URL, status int) (*Page, error) {
	doc, p, err := s.readJSON(body, final, status)
	if p != nil || err != nil {
		return p, err
	}
	p = &Page{Via: "json", Whole: true}
	s.trace.begin(s)
	c := &cardReader{src: s, at: s.linksAt(final), item: doc}
	found := s.readItems(p, c)
	s.readJSONAround(p, c)
	if failed := s.refusedBy(c, len(p.Listings) > 0); failed != nil {
		return failed, nil
	}
	s.tellPartial(p, c)
	if onlyAds(p.Listings) {
		s.decideJSON(p, c, found)
	} else {
		p.Outcome, p.Reason = OK, readText(p, "item")
	}
	return p, nil
}

// readJSON reads the JSON of an answer. A page is returned where there is none to be read, or the answer says that there is
// no such page.
func (s *Source) readJSON(body []byte, final *url.URL, status int) (doc jsondoc.Value, p *Page, err error) {
	doc, err = jsondoc.Parse(body)
	doc = doc.Indexed(nil)
	c := &cardReader{src: s, item: doc}
	switch {
	case err != nil && gone(status):
		p = s.noJSON(body)
		if p == nil {
			p = &Page{Reason: "no JSON"}
		}
		if blockPage.inBody(body) == "" {
			p.Outcome, p.Reason = Missing, fmt.Sprintf("status %d, and the answer is not the site's: %s", status, p.Reason)
		}
		return doc, p, nil
	case err != nil:
		if p = s.noJSON(body); p != nil {
			return doc, p, nil
		}
		if errors.Is(err, jsondoc.ErrCut) {
			err = fmt.Errorf("%w: %w", ErrCut, err)
		}
		return doc, nil, s.parseError(final, err)
	case gone(status):
		p = &Page{Outcome: Missing, Reason: fmt.Sprintf("status %d, and the answer is not the site's", status)}
		if words := blockPage.inBody(body); words != "" {
			p.Outcome, p.Reason = Unrecognised, saysBlocked(words)
		} else if s.chrome.data.held(c) != "" || s.refused.data.held(c) != "" || errorsOf(doc) != "" {
			p.Outcome, p.Reason, p.NotFound = NoListings, fmt.Sprintf("status %d", status), true
		}
		return doc, p, nil
	}
	return doc, nil, nil
}

// noJSON is a page for an answer that is none of JSON, nil = it is broken JSON.
func (s *Source) noJSON(body []byte) *Page {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return &Page{Reason: "empty body"}
	case trimmed[0] != '<' && !bytes.HasPrefix(trimmed, []byte("\ufeff<")):
		if words := blockPage.inBody(body); words != "" {
			return &Page{Reason: saysBlocked(words)}
		}
		return nil
	}
	p := &Page{Reason: "HTML where JSON was expected"}
	if doc, _, err := region.Parse(body); err == nil {
		if words := blockPage.inText(nil, doc); words != "" {
			p.Reason = saysBlocked(words)
		} else if title := titleOf(doc); title != "" {
			p.Reason += fmt.Sprintf(": %q", yp.Printable(yp.Clip(title, maxExcerpt)))
		}
	}
	return p
}

// inBody returns the first of the texts that a body holds, which is no HTML.
func (m *marks) inBody(body []byte) string {
	text := strings.ToLower(string(body[:min(len(body), maxPageText)]))
	for _, t := range m.texts {
		if strings.Contains(text, t) {
			return t
		}
	}
	return ""
}

// itemsFound says what is where the items of a page should be.
type itemsFound uint8

const (
	noItems    itemsFound = iota // nothing, null or another kind of value
	emptyItems                   // a list without items
	someItems
)

// eachItem hands the items of the lists at a path to yield, until that returns false.
func (s *Source) eachItem(at *jsondoc.Path, doc jsondoc.Value, yield func(jsondoc.Value) bool) (found itemsFound) {
	for list := range at.In(doc) {
		kind := list.Kind()
		if kind != jsondoc.Array && kind != jsondoc.Object {
			return noItems
		}
		found = max(found, emptyItems)
		for item := range list.Items() {
			found = someItems
			if !yield(item) {
				return found
			}
		}
	}
	return found
}

// readItems turns the items of a page into listings, as readListings does its cards.
func (s *Source) readItems(p *Page, c *cardReader) itemsFound {
	doc := c.item
	defer func() { c.item = doc }()
	seen := map[string]int{}
	var members []jsondoc.Member
	return s.eachItem(s.items, doc, func(item jsondoc.Value) bool {
		if p.Raw == region.MaxHits {
			p.LeftOut++
			return true
		}
		p.Raw++
		p.Cards++
		c.item = item.Indexed(members)
		if m := c.item.Members(); m != nil {
			members = m
		}
		l := s.readItem(c)
		s.trace.card(c, &l)
		if !l.Sponsored {
			p.Organic++
		}
		if l.ID == "" || l.Name == "" {
			p.unread(lacks(&l), 1, item.Raw)
			return true
		}
		switch at, again := seen[l.ID]; {
		case !again:
			seen[l.ID] = len(p.Listings)
			p.Listings = append(p.Listings, l)
		case p.Listings[at].Sponsored && !l.Sponsored:
			p.Listings[at] = l
		}
		return true
	})
}

// readItem reads the item in hand.
func (s *Source) readItem(c *cardReader) (l yp.Listing) {
	if c.identify(&l); l.ID == "" || l.Name == "" {
		l.Sponsored = c.marked()
		return l
	}
	c.readRest(card{}, &l)
	if s.fields.own != nil {
		r := &detailReader{src: s, at: c.at, page: *c, rules: s.fields.own}
		r.read()
		fillGroups(&l, &r.Listing, ownGroups)
	}
	return l
}

// readJSONAround reads total, next page and end of a page.
func (s *Source) readJSONAround(p *Page, c *cardReader) {
	p.SiteTotal, p.zero = s.readTotal(c)
	_, p.RangeEnd = readRange(s.shown.first(c), p.SiteTotal)
	p.LastMark = s.last.data.held(c)
	for i := range s.next {
		if s.nextByData(p, &s.next[i], c); p.NextURL != "" {
			return
		}
	}
	p.Paging.Unfollowed = p.refused
	s.readPosition(p, c)
}

// decideJSON names the outcome of a page without listings, or with ads only: see decide. A list without items says
// nothing by itself: a sign of the definition's, or a total, has to.
func (s *Source) decideJSON(p *Page, c *cardReader, found itemsFound) {
	chrome := s.chrome.data.held(c) != "" && blockPage.inBody([]byte(c.item.Raw())) == ""
	if chrome && p.Raw == 0 {
		if reason := s.saysNone(p, c, found); reason != "" {
			p.Outcome, p.Reason, p.Listings = NoListings, reason, nil
			return
		}
	}
	if len(p.Listings) > 0 {
		p.Outcome, p.Reason = OK, readText(p, "item")
		return
	}
	p.Outcome, p.Reason = HTMLChanged, "the site answered with an empty list, but nothing confirms that there are no listings"
	switch {
	case !chrome:
		p.Outcome, p.Reason = Unrecognised, "not one of the site's answers: it has none of the signs under chrome"
		if words := blockPage.inBody([]byte(c.item.Raw())); words != "" {
			p.Reason = saysBlocked(words)
		}
	case p.Raw > 0:
		p.Reason = "no listing can be read, but the answer has " + yp.Plural(p.Raw, "item") + " without a name or id"
	case found == noItems:
		p.Reason = fmt.Sprintf("the site answered, but without a list at cards.items (%s)", s.def.Cards.Items)
	case s.countsMore(p):
		p.Reason = fmt.Sprintf("the answer's total is %s, but it contains none", yp.Plural(p.SiteTotal, "listing"))
	}
}

// saysNone says in which words the page says that there is nothing, or "".
func (s *Source) saysNone(p *Page, c *cardReader, found itemsFound) string {
	if sign := s.empty.data.held(c); sign != "" && !s.countsMore(p) {
		return "the answer says there are no results: " + sign
	}
	switch {
	case p.zero && found == emptyItems:
		return "the answer's total is 0"
	case found == emptyItems && p.LastMark != "":
		return "an empty list, marked as the last: " + p.LastMark
	case found == emptyItems && p.SiteTotal > 0 && s.at.Page > 1:
		return fmt.Sprintf("an empty list after all %s of the site's total", yp.Plural(p.SiteTotal, "listing"))
	}
	return ""
}

// countsMore reports whether a first page counts listings, so that a sign of an empty result is wrong: a site that is out of
// order shows none of them. On a later page there may be none left.
func (s *Source) countsMore(p *Page) bool { return p.SiteTotal > 0 && s.at.Page <= 1 }

// refusedBy returns the page for an answer that says that it is an error: nil = it does not. readable tells that it has
// listings all the same.
func (s *Source) refusedBy(c *cardReader, readable bool) *Page {
	sign := s.refused.data.held(c)
	if sign == "" {
		if readable {
			return nil
		}
		if sign = cmp.Or(errorsOf(c.item), s.failureOf(c)); sign == "" {
			return nil
		}
	}
	p := &Page{Outcome: Failed, Reason: "the answer reports an error: " + sign}
	if throttles(c.item, sign) {
		p.Outcome, p.Reason = Throttled, "the site reports too many requests: "+sign
	}
	return p
}

// failureOf returns what an answer without listings says of an error in another form than under errors, or "": under error, in
// either letter case; success: false; a problem with its status (RFC 9457); or so in the first of several answers. What the
// definition takes for the sign of an empty result is none.
func (s *Source) failureOf(c *cardReader) string {
	doc := c.item
	if doc.Kind() == jsondoc.Array {
		for first := range doc.Items() {
			doc = first
			break
		}
		if sign := errorsOf(doc); sign != "" {
			return sign
		}
	}
	for i := range failures {
		f := &failures[i]
		if v := f.path.First(doc); f.is(v, doc) && !s.empty.data.reads(f.key, c) {
			return f.key + quoted(yp.Printable(yp.Clip(yp.Clean(textIn(v)), maxExcerpt)))
		}
	}
	return ""
}

// failures are members of an answer that say that it is an error.
var failures = [...]struct {
	key  string
	path jsondoc.Path
	is   func(v, doc jsondoc.Value) bool
}{
	{"error", mustPath("error"), isError},
	{"Error", mustPath("Error"), isError},
	{"Errors", mustPath("Errors"), isError},
	{"errors", mustPath("errors"), isError},
	{"success", mustPath("success"), func(v, _ jsondoc.Value) bool { return v.Kind() == jsondoc.Bool && v.Text() == "false" }},
	{"status", mustPath("status"), isProblem},
}

// isError reports whether a value says that something went wrong: a text, a number above 0, true, or a list or an object with
// something in it.
func isError(v, _ jsondoc.Value) bool {
	switch v.Kind() {
	case jsondoc.String:
		return yp.Clean(v.Text()) != ""
	case jsondoc.Array, jsondoc.Object:
		for range v.Items() {
			return true
		}
		return false
	case jsondoc.Number:
		return v.Text() != "0"
	}
	return says(v)
}

// isProblem reports whether a status is that of a failure, beside a title or a detail that says which.
func isProblem(v, doc jsondoc.Value) bool {
	n, err := strconv.Atoi(v.Text())
	return err == nil && n >= 400 && n < 600 && (titlePath.First(doc).Text() != "" || detailPath.First(doc).Text() != "")
}

var titlePath, detailPath = mustPath("title"), mustPath("detail")

// textIn returns what a value says, or what its message does.
func textIn(v jsondoc.Value) string {
	text := v.Text()
	for _, path := range messagePaths {
		text = cmp.Or(text, path.First(v).Text())
	}
	return text
}

// reads reports whether one of the rules that hold reads a member of that name at the root.
func (f field) reads(key string, c *cardReader) bool {
	for i := range f {
		if r := &f[i]; r.holds(c) && (r.text == key || strings.HasPrefix(r.text, key+".")) {
			return true
		}
	}
	return false
}

// tellPartial notes that an answer has errors beside its listings: what is missing of it, nobody knows.
func (s *Source) tellPartial(p *Page, c *cardReader) {
	if sign := errorsOf(c.item); sign != "" && len(p.Listings) > 0 {
		p.unread(InPart, 1, func() string { return sign })
		p.LastMark, p.Partial = "", true
	}
}

// errorsOf returns what an answer says under errors, as GraphQL does (its specification, section 7.1.2), or "": an array or an
// object with something in it, or a text.
func errorsOf(doc jsondoc.Value) string {
	errs := errorsPath.First(doc)
	switch errs.Kind() {
	case jsondoc.String:
		if text := yp.Clean(errs.Text()); text != "" {
			return "errors" + quoted(yp.Printable(yp.Clip(text, maxExcerpt)))
		}
	case jsondoc.Array, jsondoc.Object:
		for item := range errs.Items() {
			text := item.Text()
			for _, path := range messagePaths {
				if m := path.First(item).Text(); text == "" {
					text = m
				}
			}
			return "errors" + quoted(yp.Printable(yp.Clip(yp.Clean(text), maxExcerpt)))
		}
	}
	return ""
}

var (
	errorsPath   = mustPath("errors")
	messagePaths = [...]jsondoc.Path{mustPath("message"), mustPath("extensions.code"), mustPath("code"), mustPath("detail"), mustPath("title")}
)

func mustPath(text string) jsondoc.Path {
	p, err := jsondoc.Compile(text)
	if err != nil {
		panic(err)
	}
	return p
}

// throttleWords are in the code or the text of an error that says that the site is asked too often.
var throttleWords = [...]string{"rate limit", "rate_limit", "ratelimit", "rate-limit", "throttl", "too many requests"}

// tooManyCode is the status of such an error (RFC 6585), as a number of its own.
var tooManyCode = regexp.MustCompile(`\b429\b`)

// throttles reports whether an error says that the site is asked too often.
func throttles(doc jsondoc.Value, sign string) bool {
	text := sign
	for _, key := range [...]string{"errors", "error", "code", "message"} {
		raw := mustPath(key).First(doc).Raw()
		text += " " + raw[:min(len(raw), maxText)]
	}
	text = strings.ToLower(text)
	for _, word := range throttleWords {
		if strings.Contains(text, word) {
			return true
		}
	}
	return tooManyCode.MatchString(text)
}
