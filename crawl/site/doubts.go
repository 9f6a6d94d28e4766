package site

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// What may be wrong with a definition that reads pages, for whoever writes one.

// EndsUnsaid says that nothing in the definition can prove that a short list is at its end, "" = something can: the pagination of
// HTML does so by itself, of any other list a rule has to.
func (s *Source) EndsUnsaid() string {
	switch {
	case !s.isJSON() && s.paging == nil, len(s.total) > 0, !s.last.none(), s.OnePage():
		return ""
	case !s.empty.none() && s.paging != nil && !s.paging.named: // pages are asked for until one is empty
		return ""
	}
	return "no rule recognises the end of a list: lists of fewer than four pages never count as fully read, so their closed listings go unnoticed; " +
		"add total, last or empty (or next: none, if each list has one page)"
}

// NoChrome says what an answer of 404 without anything of chrome means, see Missing.
const NoChrome = "the site's own 404 page has none of the signs under chrome, so a missing page looks the same as a wrong address"

// WrittenFields returns the fields of cards that the definition itself has rules of, sorted: not those that it takes over from one that it
// extends, nor those that are not read (see Ignored). A built-in definition has none: nobody is to mend it.
func (s *Source) WrittenFields() (names []string) {
	if text, err := builtinYAML(s.Name()); s.def.Structured.On || err == nil && bytes.Equal(text, s.yaml) {
		return nil
	}
	var written struct {
		Fields map[string]yaml.Node `yaml:"fields"`
	}
	if yaml.Unmarshal(s.yaml, &written) != nil {
		return nil
	}
	for name := range written.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Found reports whether a listing has what the rules of a field are for: of a locality or an address in one line a part of the place.
func Found(field string, l *yp.Listing) bool {
	switch field {
	case "phone":
		return l.Phone != ""
	case "address":
		return valueOf("address", l) != "" || l.ServiceArea != ""
	}
	return valueOf(field, l) != ""
}
