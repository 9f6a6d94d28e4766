package yp

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrorCode says how an attempt at a target ended. It is never mixed with
// ErrorClass, which speaks of one request (docs/health.md, section 2).
type ErrorCode string

// The error codes of attempts.
const (
	CodeSuccess      ErrorCode = "SUCCESS"
	CodeRateLimited  ErrorCode = "RATE_LIMITED"
	CodeBlockedProxy ErrorCode = "BLOCKED_PROXY"
	CodeHTMLChanged  ErrorCode = "HTML_CHANGED"
	CodeTimeout      ErrorCode = "TIMEOUT"
	CodeAuthFailed   ErrorCode = "AUTH_FAILED"
	CodeNetworkError ErrorCode = "NETWORK_ERROR"
	CodeParseError   ErrorCode = "PARSE_ERROR"
	CodeNoListings   ErrorCode = "NO_LISTINGS"
	CodeUnknown      ErrorCode = "UNKNOWN_ERROR"
)

// ErrorCodes lists every error code.
func ErrorCodes() []ErrorCode {
	return []ErrorCode{
		CodeSuccess, CodeRateLimited, CodeBlockedProxy, CodeHTMLChanged, CodeTimeout,
		CodeAuthFailed, CodeNetworkError, CodeParseError, CodeNoListings, CodeUnknown,
	}
}

// ParseErrorCode returns the error code named s, in any letter case, or an
// error that lists the valid ones.
func ParseErrorCode(s string) (ErrorCode, error) {
	return ParseName("error code", s, ErrorCode(strings.ToUpper(s)), ErrorCodes())
}

// ParseName returns name if it is one of all, or else an error that quotes what was typed and
// lists the valid ones.
func ParseName[T ~string](what, typed string, name T, all []T) (T, error) {
	if slices.Contains(all, name) {
		return name, nil
	}
	return "", fmt.Errorf("unknown %s %q: want one of %v", what, typed, all)
}

// ErrorClass says why one request failed (docs/health.md, section 1).
type ErrorClass string

// The error classes of requests.
const (
	ClassDNS               ErrorClass = "dns"
	ClassTLS               ErrorClass = "tls"
	ClassTimeout           ErrorClass = "timeout"
	ClassConnectionRefused ErrorClass = "connection_refused"
	ClassHTTP403           ErrorClass = "http_403"
	ClassHTTP429           ErrorClass = "http_429"
	ClassHTTP5xx           ErrorClass = "http_5xx"
	ClassParseError        ErrorClass = "parse_error"
	ClassAuthError         ErrorClass = "auth_error"
	ClassChallenge         ErrorClass = "cf_challenge"
	ClassRateLimited       ErrorClass = "rate_limited" // our own deferral, never counted
	ClassUnknown           ErrorClass = "unknown"
)

// ErrorClasses lists every error class.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{
		ClassDNS, ClassTLS, ClassTimeout, ClassConnectionRefused, ClassHTTP403, ClassHTTP429,
		ClassHTTP5xx, ClassParseError, ClassAuthError, ClassChallenge, ClassRateLimited, ClassUnknown,
	}
}

// RequestType says what a request was for.
type RequestType string

// The types of requests.
const (
	RequestListing    RequestType = "listing"
	RequestDetail     RequestType = "detail"
	RequestStateIndex RequestType = "state_index"
	RequestCityIndex  RequestType = "city_index"
	RequestRobots     RequestType = "robots"
	RequestProbe      RequestType = "probe" // one page, to see whether a quarantined source answers again
)

// RequestTypes lists every type of request.
func RequestTypes() []RequestType {
	return []RequestType{RequestListing, RequestDetail, RequestStateIndex, RequestCityIndex, RequestRobots, RequestProbe}
}

// Cause is what happened to an attempt at a page, as finely as the rules tell
// causes apart: a line of the table in docs/health.md, section 2.
type Cause string

// The causes, in the order of that table.
const (
	CauseNone          Cause = ""
	CauseRateLimited   Cause = "rate_limited"      // 429
	CauseBlocked       Cause = "blocked"           // 403 (or a status of Refusal), a challenge, a page that is the site's "no"
	CauseProxy         Cause = "proxy"             // the proxy itself failed: no fault of the source, nor of the target
	CauseUnrecognised  Cause = "unrecognised"      // a page without the site's chrome: asked for once more, then a block
	CauseAuth          Cause = "auth"              // 401, 407
	CauseTimeout       Cause = "timeout"           //
	CauseNetwork       Cause = "network"           // DNS, TLS, refused, cut short, 5xx, 52x
	CauseLayout        Cause = "layout"            // a page of the site whose layout is not known
	CauseBroken        Cause = "broken"            // broken HTML, a body that does not decode
	CauseEmpty         Cause = "empty"             // the site says: nothing here
	CauseMissing       Cause = "missing"           // 404 at both addresses: permanent
	CauseDisallowed    Cause = "robots_disallowed" // robots.txt forbids it: permanent
	CauseOther         Cause = "other"             // anything else, such as a 404 of which the site says nothing
	CauseInternalError Cause = "internal_error"    // a bug of ours, a page that the database refuses
)

// Refusal reports whether an answer with this status is a "no" of the site, as a 403 is: nothing else has 402, 406, 412, 418,
// 428 or 451 as the answer to a GET of a page that accepts anything and makes no conditions. Requests that failed so are of
// ClassUnknown.
func Refusal(status int) bool {
	switch status {
	case 402, 406, 412, 418, 428, 451:
		return true
	}
	return false
}

// Effect is what a cause does to the source beside ending or delaying an attempt.
type Effect string

// The effects.
const (
	EffectNone    Effect = ""
	EffectSlow    Effect = "slow"    // the host must be left alone for a while as it asked, and asked more slowly
	EffectPenalty Effect = "penalty" // the host rests, longer with every block in a row
	EffectPause   Effect = "pause"   // the source pauses
	EffectAlarm   Effect = "alarm"   // the page is kept as a sample; three running pause the source
)

// Wait is how the time before a retry is found.
type Wait string

// The waits.
const (
	WaitNone        Wait = ""
	WaitTold        Wait = "told"        // the host's Retry-After, else DefaultRetryAfter
	WaitExponential Wait = "exponential" // doubled each time, with jitter
)

// DefaultRetryAfter is what a 429 without a usable Retry-After costs.
const DefaultRetryAfter = 30 * time.Second

// Bounds of a Retry-After that is honoured.
const (
	MinRetryAfter = time.Second
	MaxRetryAfter = time.Hour
)

// When a proxy of the operator's rests.
const (
	ProxyFailures = 10               // in a row, and it rests
	ProxyRest     = 60 * time.Minute // for so long
	ProxySpread   = 30 * time.Second // if they were spread over so long at least
	ProxyPause    = 5 * time.Second  // else for so long only: perhaps it starts anew, and fails often at once
)

// NoRetryAfter is why a host is held for DefaultRetryAfter, as it is shown to people.
const NoRetryAfter = "429 without Retry-After"

// ThrottledReason is the same of an answer that says in its body that the site is asked too often.
const ThrottledReason = "an answer that says there were too many requests"

// Trait is a set of what else holds of a cause.
type Trait uint8

// The traits.
const (
	Rotates     Trait = 1 << iota // a retry needs another proxy and identity: none left, no retry
	BlamesProxy                   // it counts against the proxy that the request went through
	SaysNo                        // the site does not want to be asked now
)

// Policy says what follows a cause: a row of docs/health.md, section 2.
type Policy struct {
	Cause   Cause
	Code    ErrorCode    // of the attempt
	Classes []ErrorClass // of a request that failed so; the classes of all rows are all classes but our own deferral
	Retries int          // of one page within the attempt, at most
	Wait    Wait         // before each of them
	Traits  Trait        // a set
	Effect  Effect       // on the source
	Final   Event        // when the retries are used up
}

// policies is the one table that drives classification, action, delay and final
// status.
var policies = [...]Policy{
	{CauseRateLimited, CodeRateLimited, []ErrorClass{ClassHTTP429}, 5, WaitTold, SaysNo, EffectSlow, EventFail},
	{CauseBlocked, CodeBlockedProxy, []ErrorClass{ClassHTTP403, ClassChallenge}, 3, WaitNone, Rotates | BlamesProxy | SaysNo, EffectPenalty, EventFail},
	{CauseProxy, CodeNetworkError, nil, 3, WaitNone, Rotates | BlamesProxy, EffectNone, EventRelease}, // until the proxy rests: the target is not to blame
	{CauseUnrecognised, CodeBlockedProxy, nil, 1, WaitExponential, SaysNo, EffectPenalty, EventFail},
	{CauseAuth, CodeAuthFailed, []ErrorClass{ClassAuthError}, 0, WaitNone, 0, EffectPause, EventFail},
	{CauseTimeout, CodeTimeout, []ErrorClass{ClassTimeout}, 3, WaitExponential, 0, EffectNone, EventFail},
	{CauseNetwork, CodeNetworkError, []ErrorClass{ClassDNS, ClassTLS, ClassConnectionRefused, ClassHTTP5xx}, 3, WaitExponential, 0, EffectNone, EventFail},
	{CauseLayout, CodeHTMLChanged, nil, 0, WaitNone, 0, EffectAlarm, EventFail},
	{CauseBroken, CodeParseError, []ErrorClass{ClassParseError}, 1, WaitExponential, 0, EffectNone, EventFail},
	{CauseEmpty, CodeNoListings, nil, 0, WaitNone, 0, EffectNone, EventLastPage},
	{CauseMissing, CodeNoListings, nil, 0, WaitNone, 0, EffectNone, EventPark},
	{CauseDisallowed, CodeUnknown, nil, 0, WaitNone, 0, EffectNone, EventPark},
	{CauseOther, CodeUnknown, []ErrorClass{ClassUnknown}, 1, WaitExponential, 0, EffectNone, EventFail},
	{CauseInternalError, CodeUnknown, nil, 0, WaitNone, 0, EffectNone, EventFail},
}

// Is reports whether the cause has a trait.
func (p Policy) Is(t Trait) bool { return p.Traits&t != 0 }

// Policies returns the table.
func Policies() []Policy { return slices.Clone(policies[:]) }

// Policy returns the row of the cause; an unknown one is CauseOther.
func (c Cause) Policy() Policy {
	for i := range policies {
		if policies[i].Cause == c {
			return policies[i]
		}
	}
	return CauseOther.Policy()
}

// SaysNo reports whether an attempt with this code ended because the site does not want to be asked now.
func (c ErrorCode) SaysNo() bool {
	return slices.ContainsFunc(policies[:], func(p Policy) bool { return p.Code == c && p.Is(SaysNo) })
}

// Cause returns why an attempt fails whose request failed with class.
func (class ErrorClass) Cause() Cause {
	for i := range policies {
		if slices.Contains(policies[i].Classes, class) {
			return policies[i].Cause
		}
	}
	if class == ClassRateLimited {
		return CauseRateLimited
	}
	return CauseOther
}

// RetryDelay is the wait before the n-th retry (from 1) of a page: base doubled
// each time, jittered by half so that workers do not come back together. unit is
// a random number in [0, 1).
func RetryDelay(base time.Duration, n int, unit float64) time.Duration {
	d := base << min(max(n, 1)-1, 16)
	return d/2 + time.Duration(unit*float64(d))
}
