package region

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Parser reads a page once and builds the trees of its containers, and of nothing
// else. Its zero value is ready, and serves one page after the other: the trees of a page
// are good until the next one is parsed.
type Parser struct {
	scanner
	arena arena
}

// Parse returns the containers of a page side by side in a document of their own, and
// the contents of all its JSON-LD scripts. ok is false when the page is outside of the
// subset that is read here, or has none of the containers: then Parse must read it. All
// texts are parts of page.
func (p *Parser) Parse(page string, in *Containers) (doc *html.Node, scripts []string, ok bool) {
	p.arena.reset()
	p.scanner = scanner{
		s: page, in: in, arena: &p.arena, root: -1,
		open: p.open[:0], roots: p.roots[:0], scripts: p.scripts[:0], tag: tag{attrs: p.tag.attrs[:0]},
	}
	ok = len(in.list) > 0 && p.run() && len(p.roots) > 0
	if p.s = ""; !ok {
		return nil, nil, false
	}
	doc, _ = Graft(p.roots)
	return doc, p.scripts, true
}

// Outside reports whether what Containers.Watch was told of may find more in the whole of the page parsed last.
func (p *Parser) Outside() bool { return p.outside || p.in.watchAll }

// Paging reports whether what stands outside of the containers of the page parsed last may lead to another page:
// see Containers.WatchPaging.
func (p *Parser) Paging() bool { return p.paging }

// Base returns the href of the page parsed last, as Base does of a tree.
func (p *Parser) Base() (href string, ok bool) { return p.base, p.based }

// Title returns the text of the first title with one in the page parsed last.
func (p *Parser) Title() string { return html.UnescapeString(newlines(p.title)) }

// scanner is the reading of one page.
type scanner struct {
	s     string
	i     int
	in    *Containers
	arena *arena

	open   []open
	opened [kinds]int // of open, by kind

	root    int        // len(open) just outside the container being built; -1 = not in one
	cur     *html.Node // parent of what comes next, in a container
	tag     tag
	roots   []*html.Node
	scripts []string // contents of the JSON-LD scripts, in order
	outside bool     // a tag outside of the containers has a mark that is watched for
	base    string   // href of the first base that has one
	based   bool     // there is such a base

	paging  bool   // what stands outside of the containers may lead to another page: see Containers.WatchPaging
	labelAt int    // where the content of the innermost control outside of them begins
	control int    // and its place in open
	title   string // as written
}

// pass notes a tag outside of the containers.
func (c *scanner) pass() {
	c.outside = c.outside || c.in.watches(&c.tag)
	c.paging = c.paging || c.in.pages(&c.tag)
	if c.in.paging.Label != nil && isControl(&c.tag) {
		c.labelAt, c.control = c.i, len(c.open)
	}
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

// run scans the page; false means that the page is outside the subset.
func (c *scanner) run() bool {
	return strings.IndexByte(c.s, 0) < 0 &&
		c.misc() && c.doctype() && c.misc() && c.shell("html") && c.misc() && c.head() && c.body() &&
		c.misc() && (c.i == len(c.s) || c.end("html")) && c.misc() && c.i == len(c.s)
}

// head reads up to and including the body's start tag. The tags of the head itself may be
// missing.
func (c *scanner) head() bool {
	tagged := c.starts("head")
	if tagged && !c.shell("head") {
		return false
	}
	for {
		if !c.misc() {
			return false
		}
		if !tagged && c.starts("body") {
			return c.shell("body")
		}
		if c.has("</") {
			return tagged && c.end("head") && c.misc() && c.shell("body")
		}
		if !c.startTag() || !headOnly(&c.tag) || c.in.match(&c.tag) {
			return false
		}
		c.noteBase()
		if c.pass(); c.tag.el.kind.raw() && !c.raw(nil) {
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

// element reads a start tag inside the body, with its content when that is
// raw text.
func (c *scanner) element() bool {
	if c.inSVG() {
		return c.startTag() && svgElements[c.tag.name] && c.foreignNode() // no container
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
	if c.root < 0 && c.in.match(t) {
		if t.el.kind.void() || t.el.kind.raw() || t.el.kind == kindPre {
			return false
		}
		c.root = len(c.open)
	}
	var n *html.Node
	if c.root >= 0 {
		n = c.node()
	} else {
		c.pass()
	}
	switch k := t.el.kind; {
	case k.void():
		c.noteBase()
		return true
	case k.raw():
		return c.raw(n)
	}
	return c.push(n)
}

// noteBase keeps the href of the start tag just read, if it is that of the page's base.
func (c *scanner) noteBase() {
	if c.based || c.tag.el.atom != atom.Base {
		return
	}
	for _, at := range c.tag.attrs {
		if at.key == "href" {
			c.base, c.based = attrText(at.val), true
		}
	}
}

func (c *scanner) inSVG() bool { return c.opened[kindSVG] > 0 }

// foreignNode opens the svg or the element in one whose start tag was just
// read.
func (c *scanner) foreignNode() bool {
	t := &c.tag
	for i := range t.attrs {
		if !plainForeign(t.attrs[i].key) {
			return false
		}
	}
	if t.el.kind != kindSVG || c.inSVG() {
		t.el = element{atom.Lookup([]byte(t.name)), kindForeign}
	}
	var n *html.Node
	if c.root >= 0 {
		n = c.node()
		n.Namespace = "svg"
		foreignKeys(n.Attr)
	} else {
		c.pass()
	}
	return t.selfClosing || c.push(n)
}

// impliedBody opens the tbody that a row gets when it stands right in its
// table.
func (c *scanner) impliedBody() {
	o := open{name: "tbody", kind: kindTableBody, implied: true}
	if c.root >= 0 {
		o.node = c.add(html.ElementNode, o.name)
		o.node.DataAtom = atom.Tbody
		c.cur = o.node
	}
	c.opened[o.kind]++
	c.open = append(c.open, o)
}

func (c *scanner) push(n *html.Node) bool {
	if len(c.open) >= maxOpen {
		return false
	}
	c.opened[c.tag.el.kind]++
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
	name := c.open[len(c.open)-1].name
	if rest, ok := strings.CutPrefix(c.s[c.i+2:], name); ok && rest != "" && rest[0] == '>' { // as nearly all are written
		c.i = len(c.s) - len(rest) + 1
	} else if !c.end(name) {
		return false
	}
	c.pop()
	return true
}

func (c *scanner) pop() {
	top := &c.open[len(c.open)-1]
	c.opened[top.kind]--
	c.open = c.open[:len(c.open)-1]
	if c.root < 0 {
		c.label()
		return
	}
	c.cur = top.node.Parent
	if len(c.open) == c.root {
		c.root = -1
	}
}

// admit reports whether the start tag just read opens an element where it
// stands, with no effect on any other.
func (c *scanner) admit() bool {
	k := c.tag.el.kind
	if c.opened[kindPara] > 0 && k.closesPara() || c.tag.selfClosing && !k.void() && k != kindSVG {
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
		return c.opened[kindAnchor] == 0
	case kindButton:
		return c.opened[kindButton] == 0
	case kindForm:
		return c.opened[kindForm] == 0
	case kindItem:
		return parent == "ul" || parent == "ol" || parent == "menu"
	case kindTerm:
		return parent == "dl"
	case kindSelect, kindInput, kindRule:
		return c.opened[kindSelect] == 0
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
	n := c.add(html.ElementNode, t.name)
	n.DataAtom, n.Attr = t.el.atom, c.arena.attributes(t.attrs)
	return n
}

// add makes a node: a container, or what comes next in one.
func (c *scanner) add(kind html.NodeType, data string) *html.Node {
	n := c.arena.node()
	n.Type, n.Data = kind, data
	if c.root == len(c.open) {
		c.roots = append(c.roots, n)
	} else {
		appendChild(c.cur, n)
	}
	return n
}

// text reads a text. Between the parts of a table only white space may be.
func (c *scanner) text(s string) bool {
	if len(c.open) > 0 && c.open[len(c.open)-1].kind.ofTable() && strings.Trim(s, " \n\r\t\f") != "" {
		return false
	}
	if c.root >= 0 {
		c.add(html.TextNode, html.UnescapeString(newlines(s)))
	}
	return true
}

// raw reads the content and the end tag of an element that holds text only,
// and puts the text into n, if there is one.
func (c *scanner) raw(n *html.Node) bool {
	name, jsonLD := c.tag.name, c.tag.name == "script" && isJSONLD(c.tag.typ)
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
	if n == nil && name == "noscript" && c.in.hidesLinks(content) {
		c.paging = true
	}
	if name == "script" && hidesEnd(content) || !c.end(name) || name == "noscript" && !c.noscript(content) {
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
	if name == "title" && strings.TrimSpace(c.title) == "" {
		c.title = content
	}
	if jsonLD {
		c.scripts = append(c.scripts, newlines(content))
	}
	return true
}

// noscript reports whether a noscript may stay a text.
func (c *scanner) noscript(content string) bool {
	if c.in.noscript == nil || !holdsElements(content) {
		return true
	}
	named := c.in.noscript.namedIn(content)
	if c.root >= 0 {
		return !named
	}
	c.outside = c.outside || named
	return !c.in.namedIn(content)
}

// starts reports whether a start tag of name is at hand.
func (c *scanner) starts(name string) bool {
	rest, ok := cutFold(c.s[c.i:], "<"+name)
	return ok && rest != "" && (space(rest[0]) || rest[0] == '>')
}

// endsRaw reports whether the "</" at hand starts the end tag of name.
func (c *scanner) endsRaw(name string) bool {
	rest, ok := cutFold(c.s[c.i+2:], name)
	return ok && rest != "" && (space(rest[0]) || rest[0] == '/' || rest[0] == '>')
}

// cutFold cuts a prefix off, whatever its letter case.
func cutFold(s, prefix string) (rest string, ok bool) {
	n := len(prefix)
	if len(s) < n || s[:n] != prefix && !strings.EqualFold(s[:n], prefix) {
		return s, false
	}
	return s[n:], true
}

// hidesEnd reports whether the script may be one in which "<!--" and
// "<script" hide the first end tag.
func hidesEnd(script string) bool {
	return strings.Contains(script, "<!--") && strings.Contains(strings.ToLower(script), "<script")
}

// comment reads a comment of the plain form.
func (c *scanner) comment() bool {
	content, ok := c.commentText()
	if ok && c.root >= 0 {
		c.add(html.CommentNode, html.UnescapeString(newlines(content))) // as the parser does
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
	if !c.has("<!") {
		return true
	}
	rest, ok := cutFold(c.s[c.i:], "<!doctype")
	_, rest, ended := strings.Cut(rest, ">")
	c.i = len(c.s) - len(rest)
	return ok && ended
}

// shell reads the start tag of html, head or body.
func (c *scanner) shell(name string) bool {
	if !c.startTag() || c.tag.name != name || c.tag.selfClosing || c.tag.hasEntity || c.in.match(&c.tag) {
		return false
	}
	c.pass()
	return true
}

// end reads the end tag of name, which must carry nothing but white space.
func (c *scanner) end(name string) bool {
	if !c.has("</") {
		return false
	}
	rest, ok := cutFold(c.s[c.i+2:], name)
	c.i = len(c.s) - len(rest)
	if c.skipSpace(); !ok || !c.has(">") {
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
