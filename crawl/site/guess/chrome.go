package guess

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// outline is what a sample has that may be the same on all pages of its site, and its links.
type outline struct {
	marks [kinds][]string // selectors, in the order of the page
	title string
	links []string
	open  bool // it opens html or body and closes neither
}

// Kinds of marks.
const (
	ownIDs    = iota // ids of elements
	siteNames        // og:site_name
	classes          // of the parts that frame a page: "header.site-head"
	commonIDs        // ids that a thousand sites have
	frames           // the tags of the parts that frame a page
	kinds
)

// Bounds on what is kept of a sample.
const (
	maxMarks = 400 // of a kind
	maxLinks = 3000
	maxLink  = 2000 // bytes
	maxTitle = 300  // bytes
)

var (
	// frameTags are the elements that frame a page rather than fill it.
	frameTags = strings.Fields("body header nav main footer aside")
	// common are ids and classes that a thousand sites have, error pages and interstitials
	// among them: chrome for want of better.
	common = strings.Fields("root app main content wrapper container page body header footer nav menu top search form title error message")
	// sturdy are ids and classes that can stand in a selector and do not look
	// made up for one page or one build: no digits, not too long.
	sturdy = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,39}$`)
)

func readOutline(body []byte) (*outline, error) {
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, err
	}
	o := &outline{open: end == region.EndOpen}
	o.walk(doc)
	return o, nil
}

func (o *outline) walk(n *html.Node) {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && !region.Unseen(c.Data) {
			o.element(c)
			o.walk(c)
		}
	}
}

func (o *outline) element(n *html.Node) {
	if id := region.Attr(n, "id"); n.Namespace == "" && sturdy.MatchString(id) {
		if slices.Contains(common, strings.ToLower(id)) {
			o.mark(commonIDs, "#"+id)
		} else {
			o.mark(ownIDs, "#"+id)
		}
	}
	if n.Namespace == "" && slices.Contains(frameTags, n.Data) {
		if n.Data != "body" {
			o.mark(frames, n.Data)
		}
		for class := range strings.FieldsSeq(region.Attr(n, "class")) {
			if sturdy.MatchString(class) && !slices.Contains(common, strings.ToLower(class)) {
				o.mark(classes, n.Data+"."+class)
			}
		}
	}
	switch n.Data {
	case "title":
		if o.title == "" && n.Namespace == "" {
			o.title = yp.Clip(structured.Text(n), maxTitle)
		}
	case "meta":
		name := yp.Clip(yp.Clean(region.Attr(n, "content")), maxTitle)
		if region.Attr(n, "property") == "og:site_name" && name != "" && !strings.ContainsAny(name, `"\`) {
			o.mark(siteNames, `meta[property="og:site_name"][content="`+name+`"]`)
		}
	case "a":
		if href := region.Attr(n, "href"); href != "" && len(href) <= maxLink && len(o.links) < maxLinks {
			o.links = append(o.links, yp.Clean(href))
		}
	}
}

func (o *outline) mark(kind int, selector string) {
	if len(o.marks[kind]) < maxMarks && !slices.Contains(o.marks[kind], selector) {
		o.marks[kind] = append(o.marks[kind], selector)
	}
}

// chrome finds what all samples have, or, when their homepage and the like
// have nothing in common with them, all results pages. bare says that nothing
// there is the site's own: any page of any site may have it.
func (g *guesser) chrome() (m *guessMarks, bare bool) {
	var all, results []*outline
	for i := range g.samples {
		s := &g.samples[i]
		all = append(all, s.outline)
		if s.parts.names() {
			results = append(results, s.outline)
		}
	}
	if m = chromeOf(all); m == nil && len(results) > 0 {
		m = chromeOf(results)
	}
	if m != nil {
		return m, false
	}
	if m = (&guessMarks{Selectors: shared(all, frames)}); len(m.Selectors) == 0 {
		m.Selectors = []string{"body"} // which every page has
	}
	return m, true
}

// maxChrome bounds the ids or classes of a guessed chrome.
const maxChrome = 6

// chromeOf returns ids that are the site's own, the site's name and the end of
// the title, as far as the samples share them; else classes of the parts that
// frame the page; ids of everybody's when there is nothing else.
func chromeOf(all []*outline) *guessMarks {
	first := func(list []string) []string { return list[:min(len(list), maxChrome)] }
	m := &guessMarks{Selectors: append(first(shared(all, ownIDs)), shared(all, siteNames)...)}
	end := site.TitleEnd(all[0].title)
	if end != "" && !slices.ContainsFunc(all, func(o *outline) bool { return !strings.HasSuffix(o.title, end) }) {
		m.Titles = []string{end}
	}
	if len(m.Selectors)+len(m.Titles) > 0 {
		return m
	}
	if m.Selectors = first(append(shared(all, classes), shared(all, commonIDs)...)); len(m.Selectors) == 0 {
		return nil
	}
	return m
}

// shared returns the marks of a kind that all samples have.
func shared(all []*outline, kind int) (out []string) {
	for _, mark := range all[0].marks[kind] {
		if !slices.ContainsFunc(all, func(o *outline) bool { return !slices.Contains(o.marks[kind], mark) }) {
			out = append(out, mark)
		}
	}
	return out
}
