package site

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Outcome says what a page turned out to be. Network errors, 5xx and block
// pages never get here: they are told apart before.
type Outcome uint8

// The outcomes, in the order of the rules that decide them (see decide).
const (
	// Unrecognised is a page without the site's chrome: try again, then treat
	// it as a block. It is the zero value, so that nothing passes unseen.
	Unrecognised Outcome = iota
	// Redirected is a page of another kind than was asked for: the homepage,
	// another host. It never means "empty".
	Redirected
	// OK is a page with at least one listing.
	OK
	// NoListings is a page on which the site itself says that there is nothing.
	NoListings
	// HTMLChanged is a page of the site whose layout the source does not know.
	HTMLChanged
	// Missing is an answer of 404 or 410 that is no page of the site: neither "empty" nor a block. Nobody knows
	// whether the site has no such page, or its definition asks at a wrong address.
	Missing
	// Failed is an answer that says itself that it is an error, whatever its status: it is asked for again as after a 5xx.
	Failed
	// Throttled is one that says that the site is asked too often: as a 429.
	Throttled
)

var outcomeNames = [...]string{"unrecognised", "redirected", "ok", "no_listings", "html_changed", "missing", "failed", "throttled"}

// String returns the outcome's name as it is in logs.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Cause returns why an attempt ends with such a page, CauseNone for one that holds
// listings. A redirect to the homepage is a soft block.
func (o Outcome) Cause() yp.Cause {
	switch o {
	case OK:
		return yp.CauseNone
	case NoListings:
		return yp.CauseEmpty
	case HTMLChanged:
		return yp.CauseLayout
	case Redirected:
		return yp.CauseBlocked
	case Missing:
		return yp.CauseOther
	case Failed:
		return yp.CauseNetwork
	case Throttled:
		return yp.CauseRateLimited
	case Unrecognised:
		return yp.CauseUnrecognised
	}
	return yp.CauseOther
}

// Code returns the error code of an attempt that ends with such a page.
func (o Outcome) Code() yp.ErrorCode {
	if o == OK {
		return yp.CodeSuccess
	}
	return o.Cause().Policy().Code
}

// evidence is what is there to decide about a page without listings.
type evidence struct {
	doc     *html.Node
	roots   []*html.Node // the source's regions in doc
	cards   []card       // ads among them; what they say, a business says
	scripts []string
	empty   bool          // no body at all
	json    bool          // the body is JSON
	data    jsondoc.Value // of the page's script
}

// decide names the outcome of a page without listings, or with ads only. The order is that of
// the rules, each of which assumes that the ones before it did not apply:
// 1 and 2, errors and blocks, are told apart by the fetcher; 3, redirects, 404 and 410 (see notThere), and
// 4, listings, by ParsePage.
//
//  5. the page says that there is nothing, and is the site's: NoListings
//  6. the site's page, with signs of listings but no card: HTMLChanged
//  7. not the site's page: Unrecognised
//  8. the site's page, no sign of anything: HTMLChanged
//
// "Empty" is never inferred from the absence of cards.
func (s *Source) decide(p *Page, e *evidence) {
	chrome := s.hasChrome(e.doc) || s.chrome.data.held(&cardReader{src: s, item: e.data}) != ""
	if chrome {
		if reason := s.saysNothing(p, e); reason != "" {
			p.Outcome, p.Reason, p.Listings = NoListings, reason, nil
			return
		}
	}
	if len(p.Listings) > 0 {
		return // ads, which are listings
	}
	if chrome {
		p.Outcome, p.Reason = HTMLChanged, "one of the site's pages, but with neither listings nor a sign that there are none"
		if sign := s.sign(p, e); sign != "" {
			p.Reason = "no listing can be read, but the page has " + sign
		}
		return
	}
	p.Outcome, p.Reason = Unrecognised, "not one of the site's pages: it has none of the signs under chrome"
	switch words := blockPage.inText(nil, e.doc); {
	case e.empty:
		p.Reason = "empty body"
	case words != "":
		p.Reason = saysBlocked(words)
	case e.json:
		p.Reason = "JSON instead of HTML, with none of the signs under chrome"
	}
}

func saysBlocked(words string) string { return fmt.Sprintf("a block page: it says %q", words) }

// notThere is what an answer of 404 or 410 says, of any kind of page and whatever it shows: the site's own page
// that there is no such page, one in the words of block pages that it is a block; any other is Missing.
func (s *Source) notThere(doc *html.Node, end region.End, final *url.URL, status int) (*Page, error) {
	p := &Page{Outcome: Missing, Reason: fmt.Sprintf("status %d, and the page is not the site's", status)}
	switch words := blockPage.inText(nil, doc); {
	case words != "":
		p.Outcome, p.Reason = Unrecognised, saysBlocked(words)
	case s.hasChrome(doc):
		p.Outcome, p.Reason, p.NotFound = NoListings, fmt.Sprintf("status %d", status), true
	case refusal.inTitle(titleOf(doc)) != "":
		p.Outcome = Unrecognised
	}
	return p, s.cut(p.Outcome, end, final)
}

// refusal holds what is in the title of a refusal; a page of a business may have it there, too, so it counts
// only where nothing else says whose page it is.
var refusal = marks{titles: []string{
	"access denied", "forbidden", "blocked", "captcha", "attention required",
	"are you a robot", "are you human", "security check",
}}

// SaysBlocked reports whether a page that is not known is worded as a block page, in its text or in its title.
func SaysBlocked(body []byte) bool {
	doc, _, err := region.Parse(body)
	return err == nil && (blockPage.inText(nil, doc) != "" || refusal.inTitle(titleOf(doc)) != "")
}

// hasChrome reports whether a page is the site's own. One that speaks as block pages do
// is not, whatever frames it.
func (s *Source) hasChrome(doc *html.Node) bool {
	return blockPage.inText(nil, doc) == "" &&
		(s.chrome.selectors.In(doc) || s.chrome.partOfTitle(titleOf(doc)) || s.chrome.inText(nil, doc) != "")
}

// saysNothing says in which words the page says that there is nothing, or "".
func (s *Source) saysNothing(p *Page, e *evidence) string {
	switch {
	case s.empty.shown(e.doc):
		return "the page has an element that means \"no results\""
	case p.zero:
		return "the page's total is 0"
	case s.empty.inTitle(titleOf(e.doc)) != "":
		return "the title says there are no results"
	}
	if sign := s.empty.data.held(&cardReader{src: s, item: e.data}); sign != "" && !s.countsMore(p) {
		return "the page says there are no results: " + sign
	}
	if p.SiteTotal > 0 || p.Missing > 0 || p.NextURL != "" || p.NextHost != "" || p.Organic > 0 {
		return "" // words of someone else: the page has listings, if only such as can't be read
	}
	if len(s.empty.texts) > 0 {
		w := s.workspace()
		defer s.release(w)
		if texts := s.empty.in(s.readSpoken(w, e.cards, e.doc, e.roots).text); len(texts) > 0 {
			return fmt.Sprintf("the page says %q", texts[0])
		}
	}
	return ""
}

// shown reports whether one of the elements is there, and not hidden.
func (m *marks) shown(doc *html.Node) bool {
	found := m.selectors.NewHits()
	m.selectors.Find(doc, found, nil)
	for _, nodes := range found {
		if slices.ContainsFunc(nodes, func(n *html.Node) bool { return !region.HiddenAround(n) }) {
			return true
		}
	}
	return false
}

// sign names a sign of listings on the page, or "".
func (s *Source) sign(p *Page, e *evidence) string {
	switch {
	case p.Raw > 0:
		return yp.Plural(p.Raw, "card") + " without a name or id"
	case p.SiteTotal > 0:
		return fmt.Sprintf("a total of %d", p.SiteTotal)
	case len(structured.ReadScripts(e.scripts)) > 0:
		return "JSON-LD of businesses"
	case p.NextURL != "":
		return "a next link"
	case s.evidence.In(e.doc):
		return "links to listings"
	case phoneForm.MatchString(pageText(nil, e.doc)):
		return "phone numbers"
	}
	return ""
}

// phoneForm is (ddd) ddd-dddd, or the same with other separators.
var phoneForm = regexp.MustCompile(`(?:^|\D)\d{3}[). -]{1,3}\d{3}[). -]{1,3}\d{4}(?:\D|$)`)

// none reports whether there are no signs.
func (m *marks) none() bool {
	return len(m.texts)+len(m.titles)+len(m.data) == 0 && len(m.selectors.Texts()) == 0
}

// on returns the first of the signs that a page bears, "" = it bears none: an element, words in its title, or
// words that it shows outside of the cards. In words {n} is a number, the same one each time: "page {n} of {n}".
func (m *marks) on(doc *html.Node, cards []card) string {
	switch {
	case m.none():
		return ""
	case m.selectors.In(doc):
		return "an element that the definition names"
	case m.inTitle(titleOf(doc)) != "":
		return "the title"
	}
	text := ""
	for _, t := range m.texts {
		if text == "" {
			text = strings.ToLower(pageText(cards, doc))
		}
		if containsNumbered(text, t) {
			return fmt.Sprintf("the words %q", t)
		}
	}
	return ""
}

// containsNumbered reports whether a text holds words in which {n} is a number, the same one each time.
func containsNumbered(text, words string) bool {
	parts := strings.Split(words, "{n}")
	if len(parts) == 1 {
		return strings.Contains(text, words)
	}
	form := regexp.QuoteMeta(parts[0])
	for _, part := range parts[1:] {
		form += `(\d+)` + regexp.QuoteMeta(part)
	}
	numbered, err := regexp.Compile(`(?:^|\D)` + form + `(?:\D|$)`)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(numbered.FindAllStringSubmatch(text, maxTries), func(m []string) bool {
		return !slices.ContainsFunc(m[2:], func(n string) bool { return n != m[1] })
	})
}

// inTitle returns the first of the titles that a title holds, in any letter case.
func (m *marks) inTitle(title string) string {
	title = strings.ToLower(title)
	for _, t := range m.titles {
		if strings.Contains(title, strings.ToLower(t)) {
			return t
		}
	}
	return ""
}

// partOfTitle reports whether a title is one of the site's: all of it, its last part or,
// unless that is a host's name, its first part is what the site writes there, in its
// letter case; a part may be in capitals, and a name that is no host's and all in lower
// case stands for any. A block page, the page of a domain for sale or
// a browser's own error page names the host somewhere, as "www.example.com".
func (m *marks) partOfTitle(title string) bool {
	for _, t := range m.titles {
		title, t := registered.Replace(title), registered.Replace(t)
		if t == strings.ToLower(t) && !strings.Contains(t, ".") {
			title = strings.ToLower(title)
		}
		if title == t {
			return true
		}
		for _, name := range [...]string{t, strings.ToUpper(t)} {
			for _, sep := range titleSeparators {
				if strings.HasSuffix(title, sep+name) || strings.Contains(name, " ") && strings.HasPrefix(title, name+sep) {
					return true
				}
			}
		}
	}
	return false
}

// registered takes the signs of trade marks out of a title.
var registered = strings.NewReplacer("®", "", "™", "", "(R)", "", "(TM)", "")

// titleSeparators are in a title between the name of the site and the rest.
var titleSeparators = [...]string{" | ", " - ", " – ", " — ", " · ", " :: "}

// titleOf returns the title of a page: that of an image (svg) is none.
func titleOf(n *html.Node) string {
	if n.Type == html.ElementNode && n.Data == "title" && n.Namespace == "" {
		return yp.Clean(string(region.AppendText(nil, n, maxText)))
	}
	for c := n.FirstChild; c != nil && n.Data != "template" && n.Data != "noscript"; c = c.NextSibling {
		if title := titleOf(c); title != "" {
			return title
		}
	}
	return ""
}

// inText returns the first of the texts that the trees show to a reader outside of the
// cards.
func (m *marks) inText(but []card, trees ...*html.Node) string {
	if len(m.texts) == 0 {
		return ""
	}
	text := strings.ToLower(pageText(but, trees...))
	for _, t := range m.texts {
		if strings.Contains(text, t) {
			return t
		}
	}
	return ""
}

// blockPage holds what block pages and interstitials say, and pages of listings do not.
// Single words such as "blocked" or "captcha" are in the names of businesses.
var blockPage = marks{texts: []string{
	"cloudflare to restrict access",
	"you have been blocked",
	"your request has been blocked",
	"access to this page has been denied",
	"you don't have permission to access",
	"verify you are human",
	"verify that you are human",
	"verifying you are human",
	"confirm you are human",
	"making sure you're not a bot",
	"checking your browser before",
	"checking if the site connection is secure",
	"using a security service to protect itself",
	"unusual traffic from your",
	"pardon our interruption",
	"incapsula incident id",
	"complete the security check",
	"enable javascript and cookies to continue",
}}

// maxPageText bounds the text that is searched for words.
const maxPageText = 256 << 10

// pageText returns the text of the trees without that of the cards, white space folded.
func pageText(but []card, trees ...*html.Node) string {
	for _, c := range but {
		was := c.n.Type
		c.n.Type = html.CommentNode // which is passed over
		defer func() { c.n.Type = was }()
	}
	var b []byte
	for _, n := range trees {
		if n.Type != html.CommentNode { // a region may be a card itself
			b = append(region.AppendText(b, n, maxPageText), ' ')
		}
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
