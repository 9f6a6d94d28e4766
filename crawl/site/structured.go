package site

import (
	"fmt"
	"net/url"
	"slices"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// Forms of structured data, as a definition names them. Microformats are the
// older vcard classes and h-card.
const (
	formJSONLD    = "jsonld"
	formMicrodata = "microdata"
	formHCard     = "hcard"
)

// structuredForms are the forms, in the order in which they are read: what the
// first says of a business wins over the next.
var structuredForms = []string{formJSONLD, formMicrodata, formHCard}

// structuredDef says that a source's listings are read from the structured
// data of its pages; cards and fields are not looked at then. It is "true", or
// a mapping:
//
//	forms  forms to read, of jsonld, microdata and hcard; left out = all
//	types  further schema.org types that are businesses
//
// The listings' own pages are read from theirs, too, unless the block detail
// says how else. It may say where the id of such a page stands, ids: page (the
// default) or url, see compileOwnPages.
type structuredDef struct {
	On    bool
	Forms []string
	Types []string
}

// UnmarshalYAML reads true, false or the mapping.
func (d *structuredDef) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*d = structuredDef{}
		return n.Decode(&d.On)
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want true or a mapping of forms, types", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value != "forms" && key.Value != "types" {
			return fmt.Errorf("line %d: field %s not found in a rule: want one of [forms types]", key.Line, key.Value)
		}
	}
	type plain struct{ Forms, Types []string }
	var p plain
	if err := n.Decode(&p); err != nil {
		return err
	}
	for _, form := range p.Forms {
		if !slices.Contains(structuredForms, form) {
			return fmt.Errorf("line %d: form %q: want one of %v", n.Line, form, structuredForms)
		}
	}
	*d = structuredDef{On: true, Forms: p.Forms, Types: p.Types}
	return nil
}

// reads reports whether the definition takes a form.
func (d *structuredDef) reads(form string) bool {
	return len(d.Forms) == 0 || slices.Contains(d.Forms, form)
}

// parseStructured reads a results page from its structured data. Outcomes
// follow as they do for pages with cards.
func (s *Source) parseStructured(body []byte, final *url.URL, status int) (*Page, error) {
	doc, end, err := parseTree(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	scripts := ldScripts(doc, nil)
	p := &Page{Via: "structured"}
	s.structuredListings(p, doc, scripts, final)
	s.readAround(p, doc, final)
	if len(p.Listings) > 0 {
		p.Outcome, p.Reason = OK, fmt.Sprintf("%d listings in %d businesses, %d of them bad", len(p.Listings), p.Raw, p.Bad)
	} else {
		s.decide(p, &evidence{doc: doc, roots: s.regions.Find(doc), scripts: scripts, empty: len(body) == 0, status: status})
	}
	return p, s.cut(p.Outcome, end, final)
}

// readAround reads the total and the next link: by the definition's rules,
// then the next link as most sites mark it.
func (s *Source) readAround(p *Page, doc *html.Node, final *url.URL) {
	w := s.workspace()
	defer s.release(w)
	s.page.Find(doc, w.pageHits, nil)
	around := cardReader{src: s, final: final, hits: w.pageHits, card: doc}
	p.SiteTotal, p.zero = readTotal(s.total.first(&around))
	next := s.next.first(&around)
	if p.NextURL = s.nextURL(final, next); p.NextURL != "" {
		return
	}
	if p.NextHost = s.otherHost(final, next); p.NextHost == "" {
		p.NextURL, p.NextHost = s.genericNext(doc, final)
	}
}

// structuredListings gathers what all forms say and makes one listing of each
// business.
func (s *Source) structuredListings(p *Page, doc *html.Node, scripts []string, final *url.URL) {
	r := &businessReader{src: s, final: final, doc: doc}
	r.forms(scripts)
	r.finish(p)
	p.LeftOut = r.leftOut
}

// forms gathers what all forms that the definition takes say.
func (r *businessReader) forms(scripts []string) {
	d := &r.src.def.Structured
	for _, form := range structuredForms {
		if !d.reads(form) {
			continue
		}
		g := &graph{}
		switch form {
		case formJSONLD:
			g.addScripts(scripts)
		case formMicrodata:
			g.addMicrodata(r.doc, nil)
		case formHCard:
			g.addHCards(r.doc)
		}
		r.read(g)
	}
}
