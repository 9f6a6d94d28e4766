package site

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A scanner reads a whole page once and builds the trees of the regions that a
// source names, and of nothing else.
//
// It understands a subset of HTML in which the tree is exactly the nesting of
// the tags: every element that is opened is closed in its place, and no tag
// implies another. Any page outside that subset, by a single byte anywhere,
// makes run return false, and the caller parses the whole page with
// golang.org/x/net/html. So the scanner is never asked to repair anything, and
// what it builds is what that parser would have built: TestRegionEqualsWhole
// and FuzzRegionEqualsWhole compare the two node by node.
type scanner struct {
	s       string
	i       int
	regions *regionSet
	arena   *arena

	open []open
	// How many of these are open: their start tags (or others') would imply
	// an end tag.
	paras, anchors, buttons, forms, selects int
	svgs                                    int // open elements that are an svg or in one

	headless bool // the head has no tags

	root    int        // len(open) just outside the region being built; -1 = not in one
	cur     *html.Node // parent of what comes next, in a region
	tag     tag
	roots   []*html.Node
	scripts []string // contents of the JSON-LD scripts, in order
}

// open is an open element.
type open struct {
	name string
	kind kind
	node *html.Node // nil outside regions
	// implied marks a tbody that no tag opened: a row that stands right in its
	// table gets one, and the end of the table closes it.
	implied bool
}

// maxOpen is the depth from which the scanner leaves a page to the whole-page
// parser, which gives up at 512.
const maxOpen = 480

func (c *scanner) reset(s string, regions *regionSet, a *arena) {
	*c = scanner{
		s: s, regions: regions, arena: a, root: -1,
		open: c.open[:0], roots: c.roots[:0], scripts: c.scripts[:0], tag: tag{attrs: c.tag.attrs[:0]},
	}
}

// run scans the page; false means that the page is outside the subset.
func (c *scanner) run() bool {
	if strings.IndexByte(c.s, 0) >= 0 {
		return false
	}
	return c.prolog() && c.head() && c.body() && c.epilog()
}

// prolog reads up to and including the head's start tag, if there is one.
func (c *scanner) prolog() bool {
	if !c.misc() || !c.doctype() || !c.misc() || !c.shell("html") {
		return false
	}
	if !c.misc() {
		return false
	}
	c.headless = !c.starts("head")
	return c.headless || c.shell("head")
}

// head reads up to and including the body's start tag. The tags of the head itself may be
// missing.
func (c *scanner) head() bool {
	for {
		if !c.misc() {
			return false
		}
		if c.headless && c.starts("body") {
			return c.shell("body")
		}
		if c.has("</") {
			return !c.headless && c.end("head") && c.misc() && c.shell("body")
		}
		if !c.startTag() || !headOnly(&c.tag) || c.regions.match(&c.tag) {
			return false
		}
		if c.tag.el.kind.raw() && !c.raw(nil) {
			return false
		}
	}
}

func headOnly(t *tag) bool {
	if t.hasEntity || t.selfClosing && !t.el.kind.void() {
		return false
	}
	switch t.name {
	case "meta", "link", "base", "title", "script", "style", "noscript":
		return true
	}
	return false
}

// body reads up to and including the body's end tag.
func (c *scanner) body() bool {
	for {
		j := strings.IndexByte(c.s[c.i:], '<')
		if j < 0 || c.i+j+1 >= len(c.s) || c.arena.full() {
			return false
		}
		if j > 0 && !c.text(c.s[c.i:c.i+j]) {
			return false
		}
		c.i += j
		switch next := c.s[c.i+1]; {
		case next == '/':
			if len(c.open) == 0 {
				return c.end("body")
			}
			if !c.close() {
				return false
			}
		case next == '!':
			if !c.comment() {
				return false
			}
		case !letter(next) || !c.element():
			return false
		}
	}
}

// epilog reads what may follow the body's end tag.
func (c *scanner) epilog() bool {
	if !c.misc() {
		return false
	}
	if c.i < len(c.s) && !c.end("html") {
		return false
	}
	return c.misc() && c.i == len(c.s)
}

// element reads a start tag inside the body, with its content when that is
// raw text.
func (c *scanner) element() bool {
	if c.svgs > 0 {
		return c.foreign()
	}
	if !c.startTag() || !c.admit() {
		return false
	}
	if c.tag.el.kind == kindSVG {
		return c.foreignNode()
	}
	if c.tag.el.kind == kindRow && c.open[len(c.open)-1].kind == kindTable {
		c.impliedBody()
	}
	t := &c.tag
	if t.hasEntity && (c.root < 0 || t.name == "script") {
		return false
	}
	if c.root < 0 && c.regions.match(t) {
		if t.el.kind.void() || t.el.kind.raw() || t.el.kind == kindPre {
			return false
		}
		c.root = len(c.open)
	}
	var n *html.Node
	if c.root >= 0 {
		n = c.node()
	}
	switch k := t.el.kind; {
	case k.void():
		return true
	case k.raw():
		return c.raw(n)
	}
	return c.push(n)
}

func (c *scanner) push(n *html.Node) bool {
	if len(c.open) >= maxOpen {
		return false
	}
	c.count(c.tag.el.kind, 1)
	c.open = append(c.open, open{name: c.tag.name, kind: c.tag.el.kind, node: n})
	if n != nil {
		c.cur = n
	}
	return true
}

// close reads an end tag, which must be that of the element opened last.
func (c *scanner) close() bool {
	if c.open[len(c.open)-1].implied {
		c.pop()
	}
	if !c.end(c.open[len(c.open)-1].name) {
		return false
	}
	c.pop()
	return true
}

func (c *scanner) pop() {
	top := &c.open[len(c.open)-1]
	c.count(top.kind, -1)
	c.open = c.open[:len(c.open)-1]
	if c.root < 0 {
		return
	}
	c.cur = top.node.Parent
	if len(c.open) == c.root {
		c.root = -1
	}
}

func (c *scanner) count(k kind, by int) {
	switch k {
	case kindPara:
		c.paras += by
	case kindAnchor:
		c.anchors += by
	case kindButton:
		c.buttons += by
	case kindForm:
		c.forms += by
	case kindSelect:
		c.selects += by
	case kindSVG, kindForeign:
		c.svgs += by
	}
}

// admit reports whether the start tag just read opens an element where it
// stands, with no effect on any other.
func (c *scanner) admit() bool {
	k := c.tag.el.kind
	if c.paras > 0 && k.closesPara() || c.tag.selfClosing && !k.void() && k != kindSVG {
		return false
	}
	var top open
	if n := len(c.open); n > 0 {
		top = c.open[n-1]
	}
	parent := top.name
	if top.kind.ofTable() {
		return k == kindCell && top.kind == kindRow || k == kindRow && top.kind != kindRow ||
			k == kindTableBody && top.kind == kindTable
	}
	switch k {
	case kindOdd, kindShell, kindTitle, kindTableBody, kindRow, kindCell, kindForeign:
		return false
	case kindHeading:
		return top.kind != kindHeading
	case kindAnchor:
		return c.anchors == 0
	case kindButton:
		return c.buttons == 0
	case kindForm:
		return c.forms == 0
	case kindItem:
		return parent == "ul" || parent == "ol" || parent == "menu"
	case kindTerm:
		return parent == "dl"
	case kindSelect, kindInput, kindRule:
		return c.selects == 0
	case kindOptgroup:
		return parent == "select"
	case kindOption:
		return parent == "select" || parent == "optgroup" || parent == "datalist"
	case kindPre, kindRCData:
		return c.root < 0 // their text loses its first newline
	}
	return true
}

// node builds the element whose start tag was just read.
func (c *scanner) node() *html.Node {
	t := &c.tag
	n := c.arena.node()
	n.Type, n.Data, n.DataAtom, n.Attr = html.ElementNode, t.name, t.el.atom, c.arena.attributes(t.attrs)
	if c.root == len(c.open) {
		c.roots = append(c.roots, n)
		return n
	}
	appendChild(c.cur, n)
	return n
}

// appendChild is (*html.Node).AppendChild for a node that is new.
func appendChild(parent, n *html.Node) {
	n.Parent = parent
	if last := parent.LastChild; last != nil {
		last.NextSibling, n.PrevSibling = n, last
	} else {
		parent.FirstChild = n
	}
	parent.LastChild = n
}

// text reads a text. Between the parts of a table only white space may stand.
func (c *scanner) text(s string) bool {
	if len(c.open) > 0 && c.open[len(c.open)-1].kind.ofTable() && !blank(s) {
		return false
	}
	if c.root < 0 {
		return true
	}
	n := c.arena.node()
	n.Type, n.Data = html.TextNode, html.UnescapeString(newlines(s))
	appendChild(c.cur, n)
	return true
}

func blank(s string) bool {
	for i := range len(s) {
		if !space(s[i]) {
			return false
		}
	}
	return true
}

// raw reads the content and the end tag of an element that holds text only,
// and puts the text into n, if there is one.
func (c *scanner) raw(n *html.Node) bool {
	name, jsonLD := c.tag.name, c.tag.jsonLD()
	start := c.i
	for {
		j := strings.Index(c.s[c.i:], "</")
		if j < 0 {
			return false
		}
		c.i += j
		if c.endsRaw(name) {
			break
		}
		c.i += 2
	}
	content := c.s[start:c.i]
	if name == "script" && hidesEnd(content) || !c.end(name) {
		return false
	}
	if content == "" {
		return true
	}
	if n != nil {
		text := c.arena.node()
		text.Type, text.Data = html.TextNode, newlines(content)
		appendChild(n, text)
	}
	if jsonLD {
		c.scripts = append(c.scripts, newlines(content))
	}
	return true
}

// starts reports whether a start tag of name is at hand.
func (c *scanner) starts(name string) bool {
	rest := c.s[c.i:]
	n := 1 + len(name)
	return len(rest) > n && rest[0] == '<' && strings.EqualFold(rest[1:n], name) && (space(rest[n]) || rest[n] == '>')
}

// endsRaw reports whether the "</" at hand starts the end tag of name.
func (c *scanner) endsRaw(name string) bool {
	rest := c.s[c.i+2:]
	return len(rest) > len(name) && strings.EqualFold(rest[:len(name)], name) &&
		(space(rest[len(name)]) || rest[len(name)] == '/' || rest[len(name)] == '>')
}

// hidesEnd reports whether the script may be one in which "<!--" and
// "<script" hide the first end tag.
func hidesEnd(script string) bool {
	if !strings.Contains(script, "<!--") {
		return false
	}
	for {
		j := strings.IndexByte(script, '<')
		if j < 0 {
			return false
		}
		script = script[j+1:]
		if len(script) >= 6 && strings.EqualFold(script[:6], "script") {
			return true
		}
	}
}

// comment reads a comment of the plain form.
func (c *scanner) comment() bool {
	content, ok := c.commentText()
	if ok && c.root >= 0 {
		n := c.arena.node()
		n.Type, n.Data = html.CommentNode, newlines(content)
		// The text of a comment is unescaped like any other by the parser.
		n.Data = html.UnescapeString(n.Data)
		appendChild(c.cur, n)
	}
	return ok
}

func (c *scanner) commentText() (string, bool) {
	if !c.has("<!--") {
		return "", false
	}
	rest := c.s[c.i+4:]
	j := strings.Index(rest, "-->")
	if j < 0 || strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, "->") || strings.Contains(rest[:j], "--!") {
		return "", false
	}
	c.i += 4 + j + 3
	return rest[:j], true
}

// misc skips white space and comments outside the body.
func (c *scanner) misc() bool {
	for {
		c.skipSpace()
		if !c.has("<!--") {
			return true
		}
		if _, ok := c.commentText(); !ok {
			return false
		}
	}
}

func (c *scanner) doctype() bool {
	const start = "<!doctype"
	if !c.has("<!") {
		return true
	}
	rest := c.s[c.i:]
	end := strings.IndexByte(rest, '>')
	if len(rest) < len(start) || !strings.EqualFold(rest[:len(start)], start) || end < 0 {
		return false
	}
	c.i += end + 1
	return true
}

// shell reads the start tag of html, head or body.
func (c *scanner) shell(name string) bool {
	return c.startTag() && c.tag.name == name && !c.tag.selfClosing && !c.tag.hasEntity && !c.regions.match(&c.tag)
}

// end reads the end tag of name, which must carry nothing but white space.
func (c *scanner) end(name string) bool {
	rest := c.s[c.i:]
	n := 2 + len(name)
	if len(rest) <= n || rest[:2] != "</" || rest[2:n] != name && !strings.EqualFold(rest[2:n], name) {
		return false
	}
	c.i += n
	c.skipSpace()
	if c.i >= len(c.s) || c.s[c.i] != '>' {
		return false
	}
	c.i++
	return true
}

func (c *scanner) has(prefix string) bool { return strings.HasPrefix(c.s[c.i:], prefix) }

func (c *scanner) skipSpace() {
	for c.i < len(c.s) && space(c.s[c.i]) {
		c.i++
	}
}

func space(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' || b == '\f' }

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// newlines turns CR LF and CR into LF, as the parser does before all else.
func newlines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// lookup finds an element by its lower-case name. A name with a hyphen is a
// custom element, which the parser treats as phrasing.
func lookup(name string) (element, bool) {
	if el, ok := elements[name]; ok {
		return el, true
	}
	if strings.IndexByte(name, '-') > 0 {
		return element{atom.Lookup([]byte(name)), kindPhrasing}, true
	}
	return element{}, false
}
