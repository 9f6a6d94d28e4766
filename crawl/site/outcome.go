package site

import "ypcrawl/yp"

// Outcome says what a page turned out to be. Network errors, 5xx and block
// pages never get here: they are told apart before.
type Outcome uint8

// The outcomes, in the order of the rules that decide them (see decide.go).
const (
	// Unrecognised is a page without the site's chrome: try again, then treat
	// it as a block. It is the zero value, so that nothing passes unseen.
	Unrecognised Outcome = iota
	// Redirected is a page of another kind than was asked for: the homepage,
	// another host. It never means "empty".
	Redirected
	// OK is a page with at least one listing.
	OK
	// NoListings is a page on which the site itself says that there is nothing.
	NoListings
	// HTMLChanged is a page of the site whose layout the source does not know.
	HTMLChanged
)

var outcomeNames = [...]string{"unrecognised", "redirected", "ok", "no_listings", "html_changed"}

// String returns the outcome's name as it stands in logs.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Code returns the error code of an attempt that ends with such a page. A
// redirect to the homepage and a page without chrome are soft blocks.
func (o Outcome) Code() yp.ErrorCode {
	switch o {
	case OK:
		return yp.CodeSuccess
	case NoListings:
		return yp.CodeNoListings
	case HTMLChanged:
		return yp.CodeHTMLChanged
	case Redirected, Unrecognised:
		return yp.CodeBlockedProxy
	}
	return yp.CodeUnknown
}
