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

// Cause returns why an attempt ends with such a page, CauseNone for one that holds
// listings. A redirect to the homepage is a soft block.
func (o Outcome) Cause() yp.Cause {
	switch o {
	case OK:
		return yp.CauseNone
	case NoListings:
		return yp.CauseEmpty
	case HTMLChanged:
		return yp.CauseLayout
	case Redirected:
		return yp.CauseBlocked
	case Unrecognised:
		return yp.CauseUnrecognised
	}
	return yp.CauseOther
}

// Code returns the error code of an attempt that ends with such a page.
func (o Outcome) Code() yp.ErrorCode {
	if o == OK {
		return yp.CodeSuccess
	}
	return o.Cause().Policy().Code
}
