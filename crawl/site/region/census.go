package region

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Bounds on what a tree may be built from. The units are nodes and attributes: a page
// of 250 kB with 30 listings counts 13,000, an index of 5,000 cities 45,000.
const (
	maxUnits      = 250_000
	maxPageTokens = 750_000
	maxTag        = 1 << 20 // bytes of one tag, comment or stretch of text; scripts may be longer
)

// ErrTooDeep says that a page nests deeper than the 512 elements that the HTML
// parser takes: a nesting bomb. Fetching the page again does not help.
var ErrTooDeep = errors.New("page nests deeper than 512 elements")

// ErrTooBig says that the tree of a page would be larger than any page of listings
// needs: a page made to exhaust its reader. Fetching the page again does not help.
var ErrTooBig = errors.New("page has too many elements for a page of listings")

// End is how a page ends.
type End uint8

// The ends of a page.
const (
	EndUnknown End = iota
	EndClosed      // it has </body> or </html>
	EndBare        // it has no tag of html or body at all, and breaks off nowhere
	EndOpen        // it opens html or body and closes neither
	EndBroken      // it closes neither, and ends within a tag, a comment or a script
)

// Parse is the one way to the tree of a whole page: html.Parse, within bounds.
//
// html.Parse itself knows no bounds but that of 512 levels: a page of 100 kB whose
// formatting tags are never closed takes it a gigabyte, since every paragraph opens
// them all again. So a census of the tokens comes first. ErrTooDeep and ErrTooBig
// are the errors; neither changes when the page is asked for again.
func Parse(body []byte) (doc *html.Node, end End, err error) {
	c := census{body: body}
	if err := c.take(); err != nil {
		return nil, EndUnknown, err
	}
	if doc, err = html.Parse(bytes.NewReader(c.body)); err != nil {
		return nil, EndUnknown, ErrTooDeep
	}
	for n := range doc.Descendants() {
		for i := range n.Attr {
			n.Attr[i].Val = bounded(n.Attr[i].Key, n.Attr[i].Val)
		}
	}
	switch {
	case c.closed:
		end = EndClosed
	case c.broken:
		end = EndBroken
	case c.rooted:
		end = EndOpen
	default:
		end = EndBare
	}
	return doc, end, nil
}

// maxClass bounds a class attribute: selectors look for words in those of an element and
// of all elements around it, for every element again. Pages have some hundred bytes.
const maxClass = 4 << 10

// bounded cuts the value of a class attribute that is too long.
func bounded(key, value string) string {
	if key == "class" && len(value) > maxClass {
		return value[:maxClass]
	}
	return value
}

// A census reads the tokens of a page and adds up how many nodes and attributes
// html.Parse can make of them at most. What it can't know for sure it counts in full:
//
//   - Formatting elements that are open stand in a list, and the parser opens all of
//     them anew wherever their block was closed. From the list goes what an end tag
//     takes out for certain: nothing behind a table, a cell, a form control or foreign
//     content may have stopped it. Of elements that are equal the list holds three, of
//     links one.
//   - The parser reads text of scripts, styles and titles as tags within svg and math,
//     and the tokenizer alone does not know when it is there. Where it may be, "<" in
//     such texts is blanked out: the parser then sees what was counted.
type census struct {
	body   []byte // the page; a copy, once something is blanked out
	copied bool

	rooted, closed bool // a start tag, an end tag of html or body was there
	broken         bool // the last tag, comment or raw text has no end

	units, tokens int
	rootAttrs     int // on tags of html and body, which the parser joins

	foreign foreignNest
	list    formatList
}

// take counts the page's tokens; its error is ErrTooBig.
func (c *census) take() error {
	z := html.NewTokenizer(bytes.NewReader(c.body))
	at, raw := 0, false // raw: a start tag came last whose content is text
	for {
		if z.SetMaxBuf(maxTag); raw {
			z.SetMaxBuf(0)
		}
		kind := z.Next()
		token := z.Raw()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) {
				return ErrTooBig
			}
			c.broken = c.broken || raw || len(token) > 0
			return nil
		}
		switch c.tokens++; kind {
		case html.TextToken:
			if raw && c.foreign.possible() {
				c.blank(at, len(token))
			}
			c.broken = raw && at+len(token) == len(c.body)
			raw = false
			c.units += 1 + c.list.weight()
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = c.start(z, token, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			raw = false
			name, _ := z.TagName()
			c.end(name)
		default:
			c.broken = at+len(token) == len(c.body) && token[len(token)-1] != '>'
			if c.units++; c.foreign.possible() && bytes.HasPrefix(token, []byte("<![CDATA[")) {
				c.blank(at, 1)
			}
		}
		if c.units > maxUnits || c.tokens > maxPageTokens {
			return ErrTooBig
		}
		at += len(token)
	}
}

// blank overwrites "<" in n bytes from at.
func (c *census) blank(at, n int) {
	if bytes.IndexByte(c.body[at:at+n], '<') < 0 {
		return
	}
	if !c.copied {
		c.body, c.copied = bytes.Clone(c.body), true
	}
	for i := at; i < at+n; i++ {
		if c.body[i] == '<' {
			c.body[i] = ' '
		}
	}
}

// start counts a start tag, and reports whether the tokenizer takes what follows
// for raw text.
func (c *census) start(z *html.Tokenizer, token []byte, selfClosing bool) (raw bool) {
	name, more := z.TagName()
	t, attrs := knownTags[string(name)], 0
	for more {
		_, _, more = z.TagAttr()
		attrs++
	}
	c.units += 1 + attrs + c.list.weight()
	switch t.group {
	case tagRoot: // the parser joins the attributes of all of them
		c.rooted = true
		c.rootAttrs += attrs
		c.units += c.rootAttrs
	case tagAnchor:
		c.units += c.list.openLink(1 + attrs/2)
	case tagFormat:
		if t.name == "nobr" { // one ends the other, where it can be reached
			c.units += maxRounds * c.list.weight()
		}
		c.list.open(t.name, token, 1+attrs/2)
	case tagFence:
		c.units += 2 // a cell may open a row and a body of its table
		c.list.fence(t.name)
	case tagRow:
		c.units++ // the same of a row and a column
		c.list.others++
	default:
		c.list.others++
	}
	if !selfClosing && c.foreign.start(name, t.group) {
		c.list.fence("")
	}
	return t.group == tagRaw
}

// end counts an end tag.
func (c *census) end(name []byte) {
	t := knownTags[string(name)]
	c.units++ // that of a paragraph may open one
	switch t.group {
	case tagRoot:
		c.closed = true
	case tagFormat, tagAnchor:
		c.units += c.list.close(t.name)
	case tagFence:
		c.list.unfence(t.name)
	}
	if string(name) == "br" { // which is taken for a start tag
		c.units += c.list.weight()
	}
	if c.foreign.end(name) {
		c.list.unfence("")
	}
}

// tagGroup is what the census tells tags apart by.
type tagGroup uint8

const (
	tagOther    tagGroup = iota
	tagFormat            // formatting, which the parser opens anew
	tagAnchor            // the same, but one ends the other
	tagFence             // end tags of formatting do not reach over it
	tagRaw               // its content is text
	tagForeign           // svg, math
	tagRoot              // html, body
	tagBreakout          // ends foreign content
	tagInward            // HTML may stand in it, in foreign content
	tagRow
)

// knownTag is a tag that is none of the others, with its name to keep.
type knownTag struct {
	name  string
	group tagGroup
}

var knownTags = func() map[string]knownTag {
	known := map[string]knownTag{}
	for group, names := range map[tagGroup]string{
		tagFormat:   "b big code em font i nobr s small strike strong tt u",
		tagAnchor:   "a",
		tagFence:    "applet marquee object table caption td th template select",
		tagRaw:      "iframe noembed noframes noscript plaintext script style textarea title xmp",
		tagForeign:  "svg math",
		tagRoot:     "html body",
		tagBreakout: "blockquote br center dd div dl dt embed h1 h2 h3 h4 h5 h6 head hr img li listing menu meta ol p pre ruby span sub sup ul var",
		tagRow:      "tr col",
		tagInward:   "foreignobject desc annotation-xml mi mo mn ms mtext",
	} {
		for name := range strings.FieldsSeq(names) {
			known[name] = knownTag{name, group}
		}
	}
	return known
}()

// foreignNest follows svg and math as long as they nest as they should.
type foreignNest struct {
	open []string
	lost bool // they did not: foreign content is possible from here on
}

func (f *foreignNest) possible() bool { return f.lost || len(f.open) > 0 }

// start reports whether the tag begins foreign content.
func (f *foreignNest) start(name []byte, group tagGroup) bool {
	n := len(f.open)
	if f.lost || n == 0 && group != tagForeign {
		return false
	}
	if n > 0 {
		top := f.open[n-1]
		inward := top == "title" || knownTags[top].group == tagInward // HTML may stand in it
		leaves := group == tagFormat || group == tagFence || group == tagRoot || group == tagBreakout
		if f.lost = inward || leaves || n >= maxOpen; f.lost {
			return false
		}
	}
	f.open = append(f.open, string(name))
	return n == 0
}

// end reports whether the outermost svg or math ended in its place.
func (f *foreignNest) end(name []byte) bool {
	n := len(f.open)
	switch {
	case f.lost || n == 0:
		return false
	case f.open[n-1] != string(name):
		f.lost = true
		return false
	}
	f.open = f.open[:n-1]
	return n == 1
}

// formatList holds at least the formatting elements that the parser has in its list
// (https://html.spec.whatwg.org/multipage/parsing.html#the-list-of-active-formatting-elements).
type formatList struct {
	entries []formatEntry
	units   int            // of all that may be in it, but links
	link    int            // of the heaviest link that may be: there is one at most
	links   int            // among the entries
	count   map[string]int // of entries of the same tag, as written
	others  int            // start tags so far that are no formatting
}

// formatEntry is a formatting tag, or a fence.
type formatEntry struct {
	name   string
	fence  bool
	tag    string // as written
	units  int
	before int // others before it
}

const (
	// maxEqual is how many equal elements the parser keeps in its list.
	maxEqual = 3
	// maxRounds is how often the parser tries to take an element out of its list
	// that an end tag ends: once for each block in it. It copies what is in between
	// each time, and what is left after these rounds stays.
	maxRounds = 8
)

// weight is how many units the parser may make to open again what is in the list.
func (l *formatList) weight() int { return l.units + l.link }

// fence keeps the end tags to come from what is in the list now. A cell ends the
// one before it.
func (l *formatList) fence(name string) {
	if cell(name) {
		if i := l.lastFence(len(l.entries)); i >= 0 && cell(l.entries[i].name) {
			l.entries = slices.Delete(l.entries, i, i+1)
		}
	}
	l.entries = append(l.entries, formatEntry{name: name, fence: true})
	l.others++
}

func cell(name string) bool { return name == "td" || name == "th" || name == "caption" }

func (l *formatList) lastFence(before int) int {
	for before--; before >= 0 && !l.entries[before].fence; before-- {
	}
	return before
}

// unfence takes a fence back whose element ends. The end of a table ends its cell.
func (l *formatList) unfence(name string) {
	i := l.lastFence(len(l.entries))
	if i >= 0 && name == "table" && cell(l.entries[i].name) {
		if j := l.lastFence(i); j >= 0 && l.entries[j].name == name {
			l.entries = slices.Delete(l.entries, i, i+1)
			i = j
		}
	}
	if i >= 0 && l.entries[i].name == name {
		l.entries = slices.Delete(l.entries, i, i+1)
	}
}

// open adds a formatting tag.
func (l *formatList) open(name string, token []byte, units int) {
	if l.count == nil {
		l.count = map[string]int{}
	}
	switch n := l.count[string(token)]; {
	case n < maxEqual:
		tag := string(token)
		l.count[tag]++
		l.units += units
		l.entries = append(l.entries, formatEntry{name: name, tag: tag, units: units, before: l.others})
	case n == maxEqual:
		l.count[string(token)]++ // one is open that is not in the list: end tags may go to it
	}
}

// openLink adds a link, which ends those before it: one is in the list, and those
// that were left in it. It returns how many units the parser may make of that.
func (l *formatList) openLink(units int) (made int) {
	if l.links > 0 {
		made = maxRounds * l.weight()
	}
	for i := len(l.entries) - 1; i >= 0 && !l.entries[i].fence; i-- {
		if e := &l.entries[i]; e.name == "a" {
			made = l.rounds(i) * l.weight()
			if l.rounds(i) == maxRounds {
				l.units += e.units
			}
			l.remove(i)
		}
	}
	l.link = max(l.link, units)
	l.links++
	l.entries = append(l.entries, formatEntry{name: "a", units: units, before: l.others})
	return made
}

// rounds is how many blocks may be open in an entry, up to maxRounds.
func (l *formatList) rounds(i int) int { return min(l.others-l.entries[i].before, maxRounds) }

// close handles an end tag of formatting, and returns how many units the parser may
// make of it.
func (l *formatList) close(name string) (units int) {
	i := len(l.entries) - 1
	for ; i >= 0 && !l.entries[i].fence; i-- {
		if l.entries[i].name == name {
			break
		}
	}
	if i < 0 || l.entries[i].fence {
		return maxRounds * l.weight()
	}
	rounds := l.rounds(i)
	units = rounds * l.weight()
	if rounds < maxRounds && l.count[l.entries[i].tag] <= maxEqual {
		l.remove(i)
	}
	return units
}

func (l *formatList) remove(i int) {
	if e := &l.entries[i]; e.name != "a" {
		l.count[e.tag]--
		l.units -= e.units
	} else if l.links--; l.links == 0 {
		l.link = 0
	}
	l.entries = slices.Delete(l.entries, i, i+1)
}
