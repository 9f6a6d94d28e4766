package yp

import (
	"fmt"
	"slices"
	"strings"
)

// ErrorCode says how an attempt at a target ended. It is never mixed with
// ErrorClass, which speaks of one request (health rules, section 2).
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

// blocked is how people are told of a block that no proxy met.
const blocked = "BLOCKED"

// Text is the code as people are told it. The enumeration has one code for all blocks,
// BLOCKED_PROXY, also for those of an attempt that used no proxy: to these it would say
// that there was one.
func (c ErrorCode) Text(byProxy bool) string {
	if c == CodeBlockedProxy && !byProxy {
		return blocked
	}
	return string(c)
}

// ParseErrorCode returns the error code named s, in any letter case, or an
// error that lists the valid ones. BLOCKED, as people are told it, is BLOCKED_PROXY.
func ParseErrorCode(s string) (ErrorCode, error) {
	c := ErrorCode(strings.ToUpper(s))
	if c == blocked {
		c = CodeBlockedProxy
	}
	if slices.Contains(ErrorCodes(), c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown error code %q: want one of %v", s, ErrorCodes())
}

// ErrorClass says why one request failed (health rules, section 1).
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

func equalFold(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", "_"), b)
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
