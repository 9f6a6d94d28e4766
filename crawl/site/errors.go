package site

import (
	"errors"
	"fmt"

	"ypcrawl/crawl/site/region"
)

// ErrCut says that a page breaks off: it has no end tag of its body, or its list ends
// although the page itself counts more. Fetching the page again may help.
var ErrCut = errors.New("page is cut short")

// ErrNoSource says that no built-in source has the name asked for.
var ErrNoSource = errors.New("no such built-in source")

// ErrNoIndex says that a source has no index of a state: its definition names
// none, or there is no such state.
var ErrNoIndex = errors.New("the source has no index of this state: add urls.state_index to its definition")

// ErrNoDetails says that the definition of a source does not describe the
// pages of single listings.
var ErrNoDetails = errors.New("the source has no detail pages: add the section detail to its definition")

// DefinitionError is one fault in a source definition.
type DefinitionError struct {
	Name   string // of the definition, as given to Parse
	Line   int    // from 1; 0 when the fault has no place, such as a field that is missing
	Column int    // from 1; 0 = not known
	Field  string // dotted path: "fields.phone"
	Err    error
}

// Error returns "name:line:column: field: what is wrong".
func (e *DefinitionError) Error() string {
	s := e.Name
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if e.Column > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Column)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *DefinitionError) Unwrap() error { return e.Err }

// ParseError says that a page could not be parsed at all; it wraps region.ErrTooDeep,
// region.ErrTooBig or ErrCut.
type ParseError struct {
	Source string // name of the source
	URL    string // of the page
	Err    error
}

// Error returns a one-line description.
func (e *ParseError) Error() string {
	return fmt.Sprintf("parse page %s of %s: %v", e.URL, e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Permanent reports that another try at the same page ends the same way.
func (e *ParseError) Permanent() bool {
	return errors.Is(e.Err, region.ErrTooDeep) || errors.Is(e.Err, region.ErrTooBig)
}
