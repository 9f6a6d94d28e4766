package region

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// kind says how the HTML parser treats an element, as far as the scanner
// needs to know. An element that is not in the table (and is no custom
// element) is odd: the page goes to the whole-page parser.
type kind uint8

const (
	kindOdd      kind = iota
	kindPhrasing      // no effect on open elements
	kindFormat        // active formatting element
	kindBlock         // closes an open p
	kindHeading       // closes an open p, and a heading that is its parent
	kindPara          // p
	kindAnchor        // a: closes an open a
	kindButton        // closes an open button
	kindForm          // ignored inside a form
	kindItem          // li
	kindTerm          // dt, dd
	kindSelect
	kindOption
	kindOptgroup
	kindPre // drops a leading newline, closes an open p
	kindVoid
	kindInput // void, closes an open select
	kindRule  // hr: void, closes an open p
	kindRaw   // text up to its end tag
	kindRCData
	kindShell // html, head, body
	kindTitle // text up to its end tag, in the head only
	kindTable
	kindTableBody
	kindRow
	kindCell
	kindSVG     // svg
	kindForeign // an element in an svg
	kinds       = iota
)

type element struct {
	atom atom.Atom
	kind kind
}

// elements holds what the scanner understands. It follows the start tag rules
// of "in body" in golang.org/x/net/html; whatever has rules of its own that
// are not spelled out in (*scanner).admit is left out on purpose:
// template, math, ruby, object, applet, marquee, nobr, frameset,
// plaintext, xmp, noframes, noembed, image, keygen.
var elements = func() (known elementTable) {
	for kind, names := range map[kind]string{
		kindPhrasing: "abbr audio bdi bdo canvas cite data datalist del dfn ins kbd label legend map mark meter output picture progress q samp" +
			" span sub sup time var video",
		kindFormat: "b big code em font i s small strike strong tt u",
		kindBlock: "address article aside blockquote center details dialog div dl fieldset figcaption figure footer header main menu nav ol" +
			" search section summary ul",
		kindHeading:   "h1 h2 h3 h4 h5 h6",
		kindPara:      "p",
		kindAnchor:    "a",
		kindButton:    "button",
		kindForm:      "form",
		kindItem:      "li",
		kindTerm:      "dt dd",
		kindSelect:    "select",
		kindOption:    "option",
		kindOptgroup:  "optgroup",
		kindPre:       "pre",
		kindVoid:      "area base br img link meta param source track wbr",
		kindInput:     "input",
		kindRule:      "hr",
		kindRaw:       "iframe noscript script style",
		kindRCData:    "textarea",
		kindShell:     "html head body",
		kindTitle:     "title",
		kindTable:     "table",
		kindTableBody: "tbody thead tfoot",
		kindRow:       "tr",
		kindCell:      "td th",
		kindSVG:       "svg",
	} {
		for name := range strings.FieldsSeq(names) {
			at := known.place(name)
			known[at].name, known[at].element = name, element{atom.Lookup([]byte(name)), kind}
		}
	}
	return known
}()

// elementTable finds an element faster than a map: by its length and three of its letters.
type elementTable [1024]struct {
	name string
	element
}

// place returns where a name stands, or would be. name must not be empty.
func (t *elementTable) place(name string) int {
	n := len(name)
	at := (n*61 + int(name[0])*7 + int(name[n/2])*31 + int(name[n-1])*127) % len(t)
	for t[at].name != "" && t[at].name != name {
		at = (at + 1) % len(t)
	}
	return at
}

// lookup finds an element by its lower-case name. A name with a hyphen is a
// custom element, which the parser treats as phrasing.
func lookup(name string) (element, bool) {
	if e := &elements[elements.place(name)]; e.name != "" {
		return e.element, true
	}
	if strings.IndexByte(name, '-') > 0 {
		return element{atom.Lookup([]byte(name)), kindPhrasing}, true
	}
	return element{}, false
}

// void reports whether the element never has content.
func (k kind) void() bool { return k == kindVoid || k == kindInput || k == kindRule }

// raw reports whether the element's content is text up to its end tag.
func (k kind) raw() bool { return k == kindRaw || k == kindRCData || k == kindTitle }

// closesPara reports whether the start tag closes an open p.
func (k kind) closesPara() bool {
	switch k {
	case kindBlock, kindHeading, kindPara, kindForm, kindItem, kindTerm, kindPre, kindRule, kindTable:
		return true
	}
	return false
}

// ofTable reports whether the element takes only parts of a table for children:
// anything else would be moved out of the table.
func (k kind) ofTable() bool { return k == kindTable || k == kindTableBody || k == kindRow }

// svgElements are the elements that the scanner admits in an svg: shapes and
// their groups, as icons have them. The parser leaves their names as they are
// and does not leave the svg for them.
var svgElements = wordSet("svg g path circle ellipse rect line polyline polygon use defs symbol text tspan")

// svgAttributes are those whose names the parser leaves as they are in an svg, or
// changes as foreignKeys does; so are those that begin with one of svgPrefixes.
var (
	svgAttributes = wordSet("viewbox xlink:href xmlns class id d x y x1 x2 y1 y2 r rx ry cx cy width height points fill stroke" +
		" opacity transform style role focusable href hidden version")
	svgPrefixes = [...]string{"aria-", "data-", "fill-", "stroke-", "clip-"}
)

func plainForeign(key string) bool {
	if svgAttributes[key] {
		return true
	}
	for _, prefix := range svgPrefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// foreignKeys does to attribute names what the parser does to them in an svg.
func foreignKeys(attrs []html.Attribute) {
	for i := range attrs {
		switch attrs[i].Key {
		case "viewbox":
			attrs[i].Key = "viewBox"
		case "xlink:href":
			attrs[i].Namespace, attrs[i].Key = "xlink", "href"
		}
	}
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
