package region

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// Containers holds the selectors of the elements of a page that count. Only the
// outermost matching elements of a page are containers, in their order. They are matched
// on tags as well as on trees, so they take simple forms only: a tag, an id and classes.
type Containers struct {
	list   []compound
	anyTag bool // some selector names a tag only

	watched  []mark
	watchAll bool // a watched selector does not say what its outermost element must have

	paging   PagingWords
	noscript *Selectors // what counts in noscript; nil = nothing
}

// mark is what an element must have for a selector to match it or anything in it: a word in an attribute.
type mark struct{ key, word string }

// compound is a tag, an id and classes written together.
type compound struct {
	tag, id string
	classes []string
}

var errForm = errors.New("a region may hold only a container's tag, #id and .class, such as div#main or .results")

// Add adds a selector.
func (r *Containers) Add(sel string) error {
	c, err := parseCompound(sel)
	if err != nil {
		return err
	}
	if c.tag != "" {
		if e, _ := lookup(c.tag); e.kind != kindBlock && e.kind != kindPhrasing {
			return errForm
		}
	}
	r.anyTag = r.anyTag || c.id == "" && len(c.classes) == 0
	r.list = append(r.list, c)
	return nil
}

// Watch has Parser.Outside tell whether the selector, or a group of them, may find elements in the tree of the
// whole page that it does not find in those of the containers alone.
func (r *Containers) Watch(text string) {
	group, err := cascadia.ParseGroup(text)
	if err != nil {
		return // it finds nothing
	}
	for _, sel := range group {
		if m, ok := markOf(plainText(sel)); !ok {
			r.watchAll = true
		} else if !slices.Contains(r.watched, m) {
			r.watched = append(r.watched, m)
		}
	}
}

// InNoscript has a Parser leave pages to Parse in which a noscript may hold a container, or in a container what
// these selectors find in noscript (Selectors.InNoscript). Outside of the containers such a noscript counts as
// what is watched for.
func (r *Containers) InNoscript(x *Selectors) { r.noscript = x.noscript }

// onlyNot are pseudo-classes whose match hangs on the element alone, and not on what is beside it.
var onlyNot = regexp.MustCompile(`^(?::not\([^\s>+~:()]*\))*$`)

// markOf returns what the outermost element of a selector must have. What the selector finds is in that, so
// what it finds in the whole page only has it outside of the containers. ok is false where that can't be told: of
// elements side by side, and of places among them.
func markOf(sel string) (m mark, ok bool) {
	for i, word := range strings.Fields(sel) {
		part := compoundText.FindStringSubmatch(word)
		switch {
		case i > 0 && word == ">":
		case part == nil || !onlyNot.MatchString(part[5]):
			return mark{}, false
		case i > 0:
		case part[2] == "":
			m = mark{strings.ToLower(part[3]), part[4]}
		case part[2][0] == '#':
			m = mark{"id", compoundPart.FindString(part[2])[1:]}
		default:
			m = mark{"class", compoundPart.FindString(part[2])[1:]}
		}
	}
	return m, m.key != ""
}

// watches reports whether a tag outside of the containers has a mark.
func (r *Containers) watches(t *tag) bool {
	for i := range r.watched {
		switch m := &r.watched[i]; {
		case m.key == "class" && m.word != "":
			if strings.Contains(t.class, m.word) {
				return true
			}
		default:
			for j := range t.attrs {
				if a := &t.attrs[j]; a.key == m.key && (strings.Contains(a.val, m.word) || strings.IndexByte(a.val, '&') >= 0) {
					return true
				}
			}
		}
	}
	return false
}

// Find returns the containers in the tree of a whole page. A template shows nothing, and a noscript holds none.
func (r *Containers) Find(n *html.Node) []*html.Node { return r.find(n, nil) }

func (r *Containers) find(n *html.Node, found []*html.Node) []*html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data == "template":
		case c.Namespace == "" && r.matches(c.Data, Attr(c, "id"), Attr(c, "class")):
			found = append(found, c)
		case c.Data != "noscript":
			found = r.find(c, found)
		}
	}
	return found
}

var (
	compoundForm = regexp.MustCompile(`^[.#]?[\w-]+(?:[.#][\w-]+)*$`)
	compoundPart = regexp.MustCompile(`[.#]?[\w-]+`)
)

func parseCompound(sel string) (c compound, err error) {
	if !compoundForm.MatchString(sel) {
		return c, errForm
	}
	for _, part := range compoundPart.FindAllString(sel, -1) {
		switch {
		case part[0] == '.':
			c.classes = append(c.classes, part[1:])
		case part[0] != '#':
			c.tag = strings.ToLower(part)
		case c.id != "":
			return c, errForm
		default:
			c.id = part[1:]
		}
	}
	return c, nil
}

// match reports whether the start tag opens a container.
func (r *Containers) match(t *tag) bool {
	return (t.id != "" || t.class != "" || r.anyTag) && r.matches(t.name, t.id, t.class)
}

// namedIn reports whether elements written in text may be containers.
func (r *Containers) namedIn(text string) bool {
	if strings.Contains(text, "&#") {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(r.list, func(c compound) bool { return hasAll(text, c.words()) })
}

func (r *Containers) matches(tag, id, class string) bool {
	for i := range r.list {
		if r.list[i].matches(tag, id, class) {
			return true
		}
	}
	return false
}

func (c *compound) matches(tag, id, class string) bool {
	return (c.tag == "" || c.tag == tag) && (c.id == "" || c.id == id) && hasClasses(class, c.classes)
}

func hasClasses(attr string, classes []string) bool {
	for _, class := range classes {
		if !HasClass(attr, class) {
			return false
		}
	}
	return true
}
