package guess

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// chromeDoc is what a sample has that may be the same on all pages of its
// site, and its links.
type chromeDoc struct {
	ids      []string // of elements, in the order of the page
	classes  []string // of the parts that frame a page, as selectors: "header.site-head"
	frames   []string // the tags of those parts
	siteName string   // og:site_name
	title    string
	links    []string
	open     bool // it opens html or body and closes neither
}

// Bounds on what is kept of a sample.
const (
	maxChromeIDs     = 400
	maxChromeClasses = 100
	maxLinks         = 3000
	maxLink          = 2000 // bytes
	maxMark          = 300  // bytes of a title or a name
)

func readChromeDoc(body []byte) (*chromeDoc, error) {
	doc, open, err := site.Tree(body)
	if err != nil {
		return nil, err
	}
	d := &chromeDoc{open: open}
	d.walk(doc)
	return d, nil
}

func (d *chromeDoc) walk(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || structured.Skipped(c.Data) {
			continue
		}
		d.element(c)
		d.walk(c)
	}
}

func (d *chromeDoc) element(n *html.Node) {
	if id := structured.Attr(n, "id"); n.Namespace == "" && sturdyID(id) && len(d.ids) < maxChromeIDs {
		d.ids = append(d.ids, strings.Clone(id))
	}
	if slices.Contains(frameTags, n.Data) && n.Namespace == "" {
		d.frame(n)
	}
	switch n.Data {
	case "title":
		if d.title == "" && n.Namespace == "" {
			d.title = yp.Clip(structured.Text(n), maxMark)
		}
	case "meta":
		if structured.Attr(n, "property") == "og:site_name" && d.siteName == "" {
			d.siteName = yp.Clip(yp.Clean(structured.Attr(n, "content")), maxMark)
		}
	case "a":
		if href := structured.Attr(n, "href"); href != "" && len(href) <= maxLink && len(d.links) < maxLinks {
			d.links = append(d.links, strings.Clone(yp.Clean(href)))
		}
	}
}

// frameTags are the elements that frame a page rather than fill it.
var frameTags = strings.Fields("body header nav main footer aside")

// frame keeps what tells one of them from those of other sites.
func (d *chromeDoc) frame(n *html.Node) {
	if !slices.Contains(d.frames, n.Data) {
		d.frames = append(d.frames, strings.Clone(n.Data))
	}
	for class := range strings.FieldsSeq(structured.Attr(n, "class")) {
		if sturdyID(class) && !slices.Contains(commonIDs, strings.ToLower(class)) && len(d.classes) < maxChromeClasses {
			d.classes = append(d.classes, n.Data+"."+class)
		}
	}
}

// sturdyID reports whether an id can stand in a selector and does not look
// made up for one page or one build: no digits, not too long.
func sturdyID(id string) bool { return sturdy.MatchString(id) }

var sturdy = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,39}$`)

// commonIDs are ids that a thousand sites have, error pages and interstitials
// among them: chrome for want of better.
var commonIDs = strings.Fields("root app main content wrapper container page body header footer nav menu top search form title error message")

// maxChromeMarks bounds the ids of a guessed chrome.
const maxChromeMarks = 6

// chrome finds what all samples have, or, when their homepage and the like
// have nothing in common with them, all results pages. bare tells that nothing
// there is the site's own: any page of any site may have it.
func (g *guesser) chrome() (m *guessMarks, bare bool) {
	var all, results []*chromeDoc
	for i := range g.samples {
		s := &g.samples[i]
		all = append(all, s.doc)
		if s.parts.names() {
			results = append(results, s.doc)
		}
	}
	if m = chromeOf(all); m == nil && len(results) > 0 {
		m = chromeOf(results)
	}
	if m == nil {
		return &guessMarks{Selectors: sharedFrames(all)}, true
	}
	return m, false
}

// chromeOf returns ids that are the site's own, the site's name and the end of
// the title, as far as the samples share them; else classes of the parts that
// frame the page; ids of everybody's when there is nothing else.
func chromeOf(docs []*chromeDoc) *guessMarks {
	m := &guessMarks{}
	var plain []string // everybody's
	for _, id := range shared(docs, func(d *chromeDoc) []string { return d.ids }) {
		if slices.Contains(commonIDs, strings.ToLower(id)) {
			plain = append(plain, "#"+id)
		} else if len(m.Selectors) < maxChromeMarks {
			m.Selectors = append(m.Selectors, "#"+id)
		}
	}
	first := docs[0]
	if name := first.siteName; name != "" && !strings.ContainsAny(name, `"\`) && every(docs, func(d *chromeDoc) bool { return d.siteName == name }) {
		m.Selectors = append(m.Selectors, `meta[property="og:site_name"][content="`+name+`"]`)
	}
	if end := site.TitleEnd(first.title); end != "" && every(docs, func(d *chromeDoc) bool { return strings.HasSuffix(d.title, end) }) {
		m.Titles = []string{end}
	}
	if len(m.Selectors)+len(m.Titles) > 0 {
		return m
	}
	m.Selectors = append(shared(docs, func(d *chromeDoc) []string { return d.classes }), plain...)
	m.Selectors = m.Selectors[:min(len(m.Selectors), maxChromeMarks)]
	if len(m.Selectors) == 0 {
		return nil
	}
	return m
}

// shared returns what all samples have of a list.
func shared(docs []*chromeDoc, of func(*chromeDoc) []string) (out []string) {
	for _, x := range of(docs[0]) {
		if !slices.Contains(out, x) && every(docs, func(d *chromeDoc) bool { return slices.Contains(of(d), x) }) {
			out = append(out, x)
		}
	}
	return out
}

// sharedFrames returns the tags that frame all samples: body, which every page
// has, only when there is no other.
func sharedFrames(docs []*chromeDoc) []string {
	tags := shared(docs, func(d *chromeDoc) []string { return d.frames })
	if more := slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == "body" }); len(more) > 0 {
		return more
	}
	return []string{"body"}
}

func every(docs []*chromeDoc, has func(*chromeDoc) bool) bool {
	for _, d := range docs {
		if !has(d) {
			return false
		}
	}
	return true
}
