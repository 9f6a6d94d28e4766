package fetch

import (
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Refused reports whether the site says no by the answer's status alone: 403, or one of yp.Refusal.
func (e *Error) Refused() bool {
	return !e.Proxy && (e.Class == yp.ClassHTTP403 || e.Class == yp.ClassUnknown && yp.Refusal(e.Status))
}

// ForAll reports whether it is a refusal that is meant for whoever asks, with 402 Payment Required or 451 Unavailable For
// Legal Reasons: by another proxy, as somebody else, or a moment later the page would be refused again.
func (e *Error) ForAll() bool {
	return e.Refused() && (e.Status == http.StatusPaymentRequired || e.Status == http.StatusUnavailableForLegalReasons)
}

// reasonOf is what an answer of 402 or 451 says of its reason beside the status; nil = nothing.
func reasonOf(u *url.URL, status int, h http.Header) error {
	said := ""
	switch status {
	case http.StatusPaymentRequired:
		said = priceOf(h)
	case http.StatusUnavailableForLegalReasons:
		said = blockedBy(u, h)
	}
	if said == "" {
		return nil
	}
	return errors.New(said)
}

// mostReason is how much of a header's value is told, in bytes.
const mostReason = 120

// priceOf is what a site asks for a page, as Cloudflare's pay per crawl tells it: "crawler-price USD 0.01"; "" = it
// does not say.
func priceOf(h http.Header) string {
	price := strings.Join(strings.Fields(h.Get("Crawler-Price")), " ")
	if price == "" {
		return ""
	}
	return "crawler-price " + yp.Printable(yp.Clip(price, mostReason))
}

// blockedBy is who has a page blocked, by its address (RFC 7725, 4): "blocked by https://authority.example/";
// "" = the answer does not say, or by no web address.
func blockedBy(u *url.URL, h http.Header) string {
	for _, line := range h.Values("Link") {
		for target := range linksOf(line, "blocked-by") {
			at, err := u.Parse(target)
			if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" {
				continue
			}
			at.User = nil
			return "blocked by " + yp.Printable(yp.Clip(at.String(), mostReason))
		}
	}
	return ""
}

// mostLinks is how long a line of links may be that is read, in bytes.
const mostLinks = 8 << 10

// linksOf yields the addresses of a Link header (RFC 8288, 3) that have the relation; a line that can't be
// read to its end yields those before.
func linksOf(line, relation string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(line) > mostLinks {
			return
		}
		for rest := line; ; {
			var target, params string
			var ok bool
			if _, rest, ok = strings.Cut(rest, "<"); !ok {
				return
			}
			if target, rest, ok = strings.Cut(rest, ">"); !ok {
				return
			}
			if params, rest, ok = cutParams(rest); !ok {
				return
			}
			if hasRelation(params, relation) && !yield(strings.TrimSpace(target)) {
				return
			}
		}
	}
}

// cutParams cuts the parameters of a link off, up to the comma behind them, which no quotes are around; false = quotes
// do not end.
func cutParams(s string) (params, rest string, ok bool) {
	quotes := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quotes = !quotes
		case c == '\\' && quotes:
			i++
		case c == ',' && !quotes:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", !quotes
}

// hasRelation reports whether the first rel of a link's parameters names the relation.
func hasRelation(params, relation string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") {
			kinds := strings.Fields(strings.Trim(strings.TrimSpace(value), `"'`))
			return slices.ContainsFunc(kinds, func(kind string) bool { return strings.EqualFold(kind, relation) })
		}
	}
	return false
}
