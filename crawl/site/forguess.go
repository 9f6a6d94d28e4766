package site

import (
	"strings"

	"ypcrawl/yp"
)

// What package guess asks of this one beside what a crawl does.

// ValidName reports whether a source may be called so.
func ValidName(name string) bool { return sourceName.MatchString(name) }

// StandsAlone reports whether a source's definition extends no other.
func (s *Source) StandsAlone() bool { return s.def.Extends == "" }

// TitleEnd returns what stands behind the last separator of a title, which is
// the site's name on most: "Plumbers in Springfield | Prairie Directory".
func TitleEnd(title string) string {
	for _, sep := range titleSeparators {
		if i := strings.LastIndex(title, sep); i > 0 {
			if end := strings.TrimSpace(title[i+len(sep):]); len(end) >= 4 {
				return end
			}
		}
	}
	return ""
}

// FillTemplate writes a place into a part of a URL template; nothing is escaped.
func FillTemplate(form string, p yp.Place) string {
	pieces, err := parsePieces(form)
	if err != nil {
		return form
	}
	return string(appendPieces(nil, pieces, p, 1, func(s string) string { return s }))
}

// IDsOfURLs reports whether each id is the one that is read from the listing's own URL.
func (s *Source) IDsOfURLs(profiles map[string]string) bool {
	r := businessReader{src: s, final: s.base, ownPage: true}
	for id, profile := range profiles {
		key, _ := r.ownKey(profile)
		if id != trailingID(key, "") && id != pathID(key) {
			return false
		}
	}
	return true
}
