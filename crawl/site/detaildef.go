package site

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/PuerkitoBio/goquery"
)

// detailDef is the YAML form of what detail pages look like.
type detailDef struct {
	Path    scalar              `yaml:"path"`
	IDs     scalar              `yaml:"ids"` // page or url: of structured sources, see compileOwnPages
	Regions []scalar            `yaml:"regions"`
	Marks   markDef             `yaml:"marks"`
	Others  []scalar            `yaml:"others"`
	Info    []scalar            `yaml:"info"`
	Hours   []scalar            `yaml:"hours"`
	Labels  map[string][]string `yaml:"labels"`
	Fields  map[string]ruleSet  `yaml:"fields"`
}

// detailRules is a detailDef, ready for use.
type detailRules struct {
	structured bool // the pages are read by ownPage; the rules below are empty then
	urlIDs     bool // ids are those of URLs

	path        *regexp.Regexp
	id          int // group of path
	regions     regionSet
	marks       marks
	others      []goquery.Matcher // boxes of other businesses
	page        *index
	info, hours []int             // in page
	labels      map[string]string // of a label to its field
	fields      detailFields
}

// detailFields are the rules for the fields of a detail.
type detailFields struct {
	id, name, phone, email, website, lat, lon, about, founded, years, services, payment, languages, neighborhoods, aka, social field
}

// byName returns the field that a definition calls so.
func (fs *detailFields) byName() map[string]*field {
	return map[string]*field{
		"id": &fs.id, "name": &fs.name, "phone": &fs.phone, "email": &fs.email, "website": &fs.website, "lat": &fs.lat, "lon": &fs.lon,
		"about": &fs.about, "founded": &fs.founded, "years_in_business": &fs.years, "services": &fs.services, "payment": &fs.payment,
		"languages": &fs.languages, "neighborhoods": &fs.neighborhoods, "aka": &fs.aka, "social": &fs.social,
	}
}

// labelFields are the fields that labels may name.
var labelFields = []string{
	"about", "aka", "email", "founded", "hours", "languages", "neighborhoods", "payment", "phone", "services", "social", "website", "years_in_business",
}

// compileDetail makes the rules for detail pages ready, if there are any.
func (c *compiled) compileDetail(f *faults) {
	d := &c.def.Detail
	if c.compileOwnPages(f) {
		return
	}
	if d.Path.text == "" {
		if len(d.Fields)+len(d.Labels) > 0 && c.def.Extends.text == "" {
			f.add(f.lineOf("detail"), "detail", fmt.Errorf("path %w", errMissing))
		}
		return
	}
	r := &detailRules{page: newIndex(), marks: compileMarks(d.Marks, "detail.marks", f), labels: map[string]string{}}
	var err error
	r.path, r.id, err = pathPattern(d.Path.text, "id")
	f.add(d.Path.line, "detail.path", err)
	for _, sel := range d.Regions {
		if err := r.regions.add(sel.text); err != nil {
			f.add(sel.line, "detail.regions", fmt.Errorf("%q: %w", sel.text, err))
		}
	}
	r.others = matchers(d.Others, "detail.others", f)
	r.info = selectors(r.page, d.Info, "detail.info", f)
	r.hours = selectors(r.page, d.Hours, "detail.hours", f)
	r.compileLabels(d, f)
	r.compileFields(d, f)
	c.detail = r
}

func (r *detailRules) compileLabels(d *detailDef, f *faults) {
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		at := "detail.labels." + name
		if !slices.Contains(labelFields, name) {
			f.add(f.lineOf(at), at, unknown(name, labelFields))
		}
		for _, label := range d.Labels[name] {
			if have, again := r.labels[labelText(label)]; again {
				line := cmp.Or(f.lineOf(at), f.lineOf("detail.labels."+have))
				f.add(line, at, fmt.Errorf("the label %q is that of %s and of %s", label, have, name))
			}
			r.labels[labelText(label)] = name
		}
	}
}

func (r *detailRules) compileFields(d *detailDef, f *faults) {
	known := r.fields.byName()
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		at := "detail.fields." + name
		if known[name] == nil {
			f.add(f.lineOf(at), at, unknown(name, names))
			continue
		}
		*known[name] = rules(r.page, d.Fields[name], at, f)
	}
	if len(d.Fields["name"]) == 0 {
		f.add(f.lineOf("detail.fields"), "detail.fields", fmt.Errorf("name %w", errMissing))
	}
}
