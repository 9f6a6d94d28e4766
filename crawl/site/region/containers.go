package region

import (
	"errors"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// Containers holds the selectors of the elements of a page that count. Only the
// outermost matching elements of a page are containers, in their order. They are matched
// on tags as well as on trees, so they take simple forms only: a tag, an id and classes.
type Containers struct {
	list   []compound
	anyTag bool // some selector names a tag only
}

// compound is a tag, an id and classes written together.
type compound struct {
	tag, id string
	classes []string
}

var errForm = errors.New("a region takes the tag of a container, #id and .classes only, such as div#main or .results")

// Add adds a selector.
func (r *Containers) Add(sel string) error {
	c, err := parseCompound(sel)
	if err != nil {
		return err
	}
	switch k := elements[c.tag].kind; {
	case c.tag != "" && k != kindBlock && k != kindPhrasing:
		return errForm
	case c.id == "" && len(c.classes) == 0:
		r.anyTag = true
	}
	r.list = append(r.list, c)
	return nil
}

// Find returns the containers in the tree of a whole page. A template shows nothing.
func (r *Containers) Find(n *html.Node) []*html.Node { return r.find(n, nil) }

func (r *Containers) find(n *html.Node, found []*html.Node) []*html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data == "template":
		case c.Namespace == "" && r.matches(c.Data, Attr(c, "id"), Attr(c, "class")):
			found = append(found, c)
		default:
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
