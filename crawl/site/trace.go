package site

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// Trace notes which rules of a definition gave what on a page, for whoever writes one. It is of the page that the traced source
// has read last, and of one page at a time.
type Trace struct {
	src   *Source
	read  int                        // cards, items or own pages so far
	at    map[string]*TracedField    // by name
	given map[string]map[string]bool // ids of the listings that have a field by rules, by the field's name
}

// TracedField is what the rules of a field gave on a page.
type TracedField struct {
	Name     string       `json:"field"`
	Listings int          `json:"listings"` // of the page that have it
	Rules    []TracedRule `json:"rules"`    // in their order, then what else gave it

	gave bool // a rule of its own gave a text on the card in hand
}

// TracedRule is what a rule of a field gave on a page.
type TracedRule struct {
	Number int           `json:"number"` // from 1; 0 = it is none of the field's own
	Rule   string        `json:"rule"`   // as it is written; of another one where the value is from, such as locality or JSON-LD
	Cards  int           `json:"cards"`  // on how many cards its text is the field's
	Needed bool          `json:"needed"` // false: wherever it has a text, a rule before it has one, too
	Values []TracedValue `json:"values"` // the first that differ

	also int // on how many cards it has a text, though a rule before it has one
}

// TracedValue is a text that a rule has found, and what became of it.
type TracedValue struct {
	Raw   string `json:"raw"`           // as the page has it, without line breaks
	Value string `json:"value"`         // as the listing has it: "" = not at all
	Why   string `json:"why,omitempty"` // the listing does not have it, or has it in no normal form
}

const (
	maxTraced = 2   // values of a rule that are kept
	maxShown  = 200 // bytes of a value
)

// Tracing returns the source with a trace of what it reads. It is read by one goroutine at a time.
func (s *Source) Tracing() (*Source, *Trace) {
	traced := *s
	traced.trace = &Trace{}
	traced.trace.begin(&traced)
	return &traced, traced.trace
}

// begin begins a page.
func (t *Trace) begin(s *Source) {
	if t != nil {
		*t = Trace{src: s, at: map[string]*TracedField{}, given: map[string]map[string]bool{}}
	}
}

// tracedRules are the rules of one field.
type tracedRules struct {
	name    string
	rules   field
	written ruleSet
	gives   func(c *cardReader, rule field) string // the text that one of the rules gives, "" = none
}

// cardRules are the rules of cards and items.
func (s *Source) cardRules() (all []tracedRules) {
	f := &s.fields
	first := func(c *cardReader, r field) string { return r.first(c) }
	part := func(c *cardReader, r field) string { return c.part(r) }
	add := func(name string, rules field, gives func(*cardReader, field) string) {
		all = append(all, tracedRules{name, rules, s.def.Fields[name], gives})
	}
	add("id", f.id, func(c *cardReader, r field) string { return r.identifier(c) })
	add("name", f.name, first)
	add("street", f.street, part)
	add("locality", f.locality, part)
	add("city", f.city, part)
	add("state", f.state, part)
	add("postal_code", f.postal, part)
	add("address", f.address, first)
	for i := range f.others {
		o := &f.others[i]
		gives := first
		switch to := yp.ListingFieldAt(o.name); {
		case o.name == "image_url":
			gives = func(c *cardReader, r field) string {
				if c.image(r) == "" {
					return ""
				}
				return r.first(c)
			}
		case to >= 0 && isList(o.name):
			gives = firstOfList
		}
		add(o.name, o.rules, gives)
	}
	for _, name := range slices.Sorted(maps.Keys(f.own)) {
		add(name, f.own[name], first)
	}
	return all
}

func firstOfList(c *cardReader, r field) string {
	if all := r.all(c, 1); len(all) > 0 {
		return all[0]
	}
	return ""
}

// card notes what the rules gave on the card or the item in hand, of which l was made.
func (t *Trace) card(c *cardReader, l *yp.Listing) {
	if t == nil {
		return
	}
	t.read++
	for _, r := range t.src.cardRules() {
		if l.ID == "" || l.Name == "" {
			if r.name != "id" && r.name != "name" {
				continue // it is not read any further
			}
		}
		t.field(c, l, r)
	}
	if l.ID != "" && l.Name != "" {
		t.place(c, l)
	}
}

// field notes what the rules of a field gave: the first that has a text does.
func (t *Trace) field(c *cardReader, l *yp.Listing, r tracedRules) {
	if len(r.rules) == 0 {
		return
	}
	f := t.of(r.name)
	if f.Rules == nil {
		for i := range r.rules {
			f.Rules = append(f.Rules, TracedRule{Number: i + 1, Rule: r.written[i].text()})
		}
	}
	f.gave = false
	for i := range r.rules {
		text := r.gives(c, r.rules[i:i+1])
		switch {
		case text == "":
		case f.gave:
			f.Rules[i].also++
		default:
			f.gave = true
			t.gives(f, i, l, r.rules[i].rawOf(c, text))
		}
	}
}

// of is the trace of a field, which is begun with its first card.
func (t *Trace) of(name string) *TracedField {
	f := t.at[name]
	if f == nil {
		f = &TracedField{Name: name}
		t.at[name] = f
	}
	return f
}

// gives notes that the i-th rule gave a field its text.
func (t *Trace) gives(f *TracedField, i int, l *yp.Listing, raw string) {
	r := &f.Rules[i]
	r.Cards++
	v := TracedValue{Raw: yp.Clip(yp.Clean(raw), maxShown), Value: yp.Clip(valueOf(f.Name, l), maxShown)}
	switch _, known := t.src.stateSet.Lookup(v.Value); {
	case v.Value == "":
		v.Why = t.why(f.Name)
	case f.Name == "state" && !known && len(t.src.stateSet.All()) > 0:
		v.Why = t.why(f.Name)
		fallthrough
	default:
		t.has(f.Name, l.ID)
	}
	if len(r.Values) < maxTraced && !slices.Contains(r.Values, v) {
		r.Values = append(r.Values, v)
	}
}

func (t *Trace) has(name, id string) {
	if t.given[name] == nil {
		t.given[name] = map[string]bool{}
	}
	t.given[name][id] = true
}

// rawOf is the text, as the page has it, of which the rule made one.
func (r *rule) rawOf(c *cardReader, text string) string {
	for _, raw := range r.raws(c) {
		if r.read(raw) == text || r.asID(raw) == text {
			return raw
		}
	}
	return text
}

// placeParts are the fields that an address in one line may give, fromLocality those of them that a locality may.
var (
	placeParts   = []string{"street", "city", "state", "postal_code"}
	fromLocality = placeParts[1:]
)

// place notes which parts of the place are from the locality, or from the address in one line.
func (t *Trace) place(c *cardReader, l *yp.Listing) {
	f := &t.src.fields
	for _, name := range placeParts {
		own := t.at[name]
		if own != nil && own.gave {
			continue
		}
		for _, from := range [...]struct {
			name  string
			rules field
		}{{"locality", f.locality}, {"address", f.address}} {
			text := from.rules.first(c)
			if text == "" || from.name == "locality" && !slices.Contains(fromLocality, name) {
				continue
			}
			if valueOf(name, l) != "" || name == "postal_code" { // which hardly any address lacks
				of := t.of(name)
				t.gives(of, of.other(from.name), l, text)
			}
			break
		}
	}
}

// other is the place in Rules of what gave the field, and is no rule of its own.
func (f *TracedField) other(name string) int {
	i := slices.IndexFunc(f.Rules, func(r TracedRule) bool { return r.Number == 0 && r.Rule == name })
	if i < 0 {
		i = len(f.Rules)
		f.Rules = append(f.Rules, TracedRule{Rule: name})
	}
	return i
}

// own notes what the rules of a listing's own page gave.
func (t *Trace) own(r *detailReader) {
	if t == nil {
		return
	}
	t.read++
	c := &r.page
	for _, name := range slices.Sorted(maps.Keys(r.rules)) {
		t.field(c, &r.Listing, tracedRules{name, r.rules[name], t.src.def.Detail.Fields[name], r.tracedText(name)})
	}
	for name := range r.under {
		if text := r.text(name); text != "" && valueOf(name, &r.Listing) != "" && (t.at[name] == nil || !t.at[name].gave) {
			f := t.of(name)
			t.gives(f, f.other("label"), &r.Listing, text)
		}
	}
}

// tracedText returns what finds the text of a rule: of what is told from other texts by its form, the first that has it.
func (r *detailReader) tracedText(name string) func(c *cardReader, rule field) string {
	fits := map[string]func(string) bool{
		"phone": func(s string) bool {
			shown, _ := yp.ShownPhone(strings.TrimPrefix(s, "tel:"), r.src.country)
			return shown != ""
		},
		"email":   func(s string) bool { return r.src.email(s) != "" },
		"website": func(s string) bool { var l yp.Listing; r.page.website(&l, s); return l.Website != "" },
	}[name]
	return func(c *cardReader, rule field) (text string) {
		switch {
		case name == "id":
			return rule.identifier(c)
		case isList(name):
			return firstOfList(c, rule)
		case fits == nil:
			return rule.first(c)
		}
		rule.each(c, func(s string) bool {
			if fits(s) {
				text = s
			}
			return text != ""
		})
		return text
	}
}

// why says why a listing does not have the text that was found for a field.
func (t *Trace) why(name string) string {
	country := t.src.country
	switch name {
	case "phone":
		return "not a phone number of " + country
	case "postal_code":
		if forms := yp.PostalForms(country); len(forms) > 0 {
			return fmt.Sprintf("not a postal code of %s (%s)", country, strings.Join(forms, " or "))
		}
		return country + " has no postal codes"
	case "state":
		return "not a state of " + country
	case "id", "name":
		return ""
	}
	return "not a value for this field"
}

// valueOf is a field of a listing as a trace shows it: of a phone number its normal form, of a list its items.
func valueOf(name string, l *yp.Listing) string {
	switch name {
	case "phone":
		return l.PhoneE164
	case "locality":
		var parts []string
		for _, part := range [...]string{l.City, l.State, l.PostalCode} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, ", ")
	case "address":
		if l.Address == "" { // it was taken apart
			return strings.TrimLeft(strings.Join([]string{l.Street, valueOf("locality", l)}, ", "), ", ")
		}
	}
	i := yp.ListingFieldAt(name)
	if i < 0 {
		return ""
	}
	f := &yp.ListingFields[i]
	if list, ok := f.At(l).(*[]string); ok {
		return strings.Join(*list, "; ")
	}
	return f.Text(l)
}

// Read is how many cards or items the page has, or own pages: 1.
func (t *Trace) Read() int { return t.read }

// Fields returns what gave the listings of the page their fields, in the order of these.
func (t *Trace) Fields(p *Page) (all []TracedField) {
	t.beside(p)
	order := []string{}
	for i := range yp.ListingFields {
		if yp.ListingFields[i].Name == "city" {
			order = append(order, "locality")
		}
		order = append(order, yp.ListingFields[i].Name)
	}
	for _, name := range order {
		f := t.at[name]
		if f == nil {
			continue
		}
		out := TracedField{Name: name, Rules: slices.Clone(f.Rules)}
		for i := range p.Listings {
			if name != "locality" && name != "address" && valueOf(name, &p.Listings[i]) != "" {
				out.Listings++
			}
		}
		for i := range out.Rules {
			r := &out.Rules[i]
			if name == "locality" || name == "address" { // of which other fields are made
				out.Listings += r.Cards
			}
			r.Needed = r.Cards > 0 || r.also == 0
			r.Values = append([]TracedValue{}, r.Values...)
		}
		all = append(all, out)
	}
	return all
}

// beside notes what listings have by no rule: it is from the structured data of the page.
func (t *Trace) beside(p *Page) {
	from := "JSON-LD"
	switch {
	case t.src.def.Structured.On:
		from = "structured data"
	case t.src.script != nil:
		from = "JSON-LD or the script"
	}
	for i := range p.Listings {
		l := &p.Listings[i]
		for k := range yp.ListingFields {
			f := &yp.ListingFields[k]
			if f.Uses == 0 || f.Name == "rank" || f.Name == "service_area" || f.Name == "address" || t.given[f.Name][l.ID] || valueOf(f.Name, l) == "" {
				continue
			}
			to := t.of(f.Name)
			at := to.other(from)
			if p.Own && f.Name == "id" && to.Rules[at].Cards == 0 {
				to.Rules[at].Rule = "the address"
			}
			t.gives(to, at, l, valueOf(f.Name, l))
		}
	}
}

// text is the rule as a definition has it, in one line.
func (r *ruleDef) text() string {
	if r.alone {
		return r.CSS
	}
	var parts []string
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+": "+flowText(value))
		}
	}
	add("css", r.CSS)
	add("attr", r.Attr)
	add("json", r.JSON)
	add("header", r.Head)
	add("match", r.Match)
	if r.Own {
		add("own_text", "true")
	}
	if r.Scale != 0 {
		add("scale", strconv.FormatFloat(r.Scale, 'g', -1, 64))
	}
	if r.All {
		add("all", "true")
	}
	var steps []string
	for i := range r.Steps {
		steps = append(steps, r.Steps[i].text())
	}
	if len(steps) > 0 {
		parts = append(parts, "steps: ["+strings.Join(steps, ", ")+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// text is the step as a definition has it.
func (d *stepDef) text() string {
	switch {
	case d.Decode != "":
		return "{decode: " + d.Decode + "}"
	case d.Match != "":
		return "{match: " + flowText(d.Match) + "}"
	case d.Scale != nil:
		return "{scale: " + strconv.FormatFloat(*d.Scale, 'g', -1, 64) + "}"
	}
	var of []string
	for _, part := range d.Replace {
		of = append(of, flowText(part))
	}
	return "{replace: [" + strings.Join(of, ", ") + "]}"
}

// flowText writes a text as one within brackets of YAML: in quotes where it must be.
func flowText(s string) string {
	if s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, "{}[],#&*!|>'\"%@`:?\\\n") && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// IndexAt returns the state whose index has a page at an address, "" = one of all states; ok is false where it is no page of
// an index, or of those of several states.
func (s *Source) IndexAt(u *url.URL) (state string, ok bool) {
	path, reason := s.below(u)
	if s.states == nil || reason != "" {
		return "", false
	}
	if s.target.matches(path) && !strings.Contains(s.target.path, "{") { // all requests have one address
		return "", false
	}
	state, ok = s.states.paths[indexPath(path)]
	return state, ok && state != someState
}
