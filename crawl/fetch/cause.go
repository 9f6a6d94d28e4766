package fetch

import (
	"errors"

	"ypcrawl/yp"
)

// Cause is what stopped the page, in the words of the policy table (yp.Policy). A
// proxy's failure is no fault of the source; a redirect off its domain is how many
// sites turn a crawler away.
func (e *Error) Cause() yp.Cause {
	switch {
	case e.Proxy:
		return yp.CauseProxy
	case errors.Is(e.Err, ErrDisallowed):
		return yp.CauseDisallowed
	case errors.Is(e.Err, ErrRedirectedAway) && e.Status != 0:
		return yp.CauseBlocked
	case errors.Is(e.Err, errTransport), errors.Is(e.Err, ErrRobotsUnavailable) && e.Class == yp.ClassUnknown:
		return yp.CauseNetwork
	}
	return e.Class.Cause()
}
