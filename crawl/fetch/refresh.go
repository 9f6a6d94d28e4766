package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"ypcrawl/yp/weburl"
)

// refreshReach is how much of a page is searched for its refresh, in bytes: pages that only lead on are small. Of
// more than smallHead the body is left out, which starts at the first word of one, be it in a script.
const (
	refreshReach = 64 << 10
	smallHead    = 16 << 10
)

// Refresh is what a page says of where it leads by itself: in a Refresh header, or in its head by
// <meta http-equiv=refresh>.
type Refresh struct {
	After time.Duration // whole seconds; 0 = at once
	To    *url.URL      // absolute, without a fragment; it may be the page itself
}

// refresh returns the refresh of a page, as a browser without scripts would act on it; false = there is none, or it
// leads to no web address, or to where a challenge is passed. What an answer of 404 or 410 leads to is not what was
// asked for.
func (r *Response) refresh() (Refresh, bool) {
	if r.Status < 200 || r.Status >= 300 {
		return Refresh{}, false
	}
	found, ok := findRefresh(r.Header, r.Body)
	if !ok || found.challenge() != "" {
		return Refresh{}, false
	}
	if found.to == "" {
		return Refresh{After: found.after, To: r.URL}, true
	}
	base := weburl.NewBase(r.URL, found.charset(r))
	base = base.Within(found.base)
	to, reason := base.Resolve(found.to)
	if reason != "" {
		return Refresh{}, false
	}
	return Refresh{After: found.after, To: to.URL()}, true
}

// written is a refresh as it is written.
type written struct {
	after  time.Duration
	to     string // a reference; "" = the page itself
	base   string // the page's <base href> before it
	inPage bool   // in a meta element
}

// charset is the one in which the queries of its reference are written.
func (w written) charset(r *Response) string {
	if w.inPage {
		return r.Charset
	}
	return ""
}

// challenge names the vendor whose challenge is passed at the address, "" = it is an ordinary one.
func (w written) challenge() string { return find(inRefresh, []byte(strings.ToLower(w.to))) }

// findRefresh looks in the header first, which browsers read before the page, and then in the page. The first that
// is well formed counts.
func findRefresh(h http.Header, page []byte) (written, bool) {
	if w, ok := parseRefresh(escapeBytes(h.Get("Refresh"))); ok {
		return w, true
	}
	page = page[:min(len(page), refreshReach)]
	if !mayBeHTML(h) || !namesRefresh(page) {
		return written{}, false
	}
	return metaRefresh(page)
}

func mayBeHTML(h http.Header) bool {
	kind := strings.ToLower(h.Get("Content-Type"))
	return kind == "" || strings.Contains(kind, "html") || strings.Contains(kind, "xml")
}

// namesRefresh reports, quickly, whether one of the meta elements of a page may be a refresh.
func namesRefresh(page []byte) bool {
	if body := bytes.Index(page, []byte("<body")); body > 0 && len(page) > smallHead {
		page = page[:body]
	}
	for {
		start := bytes.IndexByte(page, '<')
		if start < 0 {
			return false
		}
		page = page[start+1:]
		if len(page) < len("meta") || page[0]|0x20 != 'm' || !bytes.EqualFold(page[:len("meta")], []byte("meta")) {
			continue
		}
		tag := page
		if end := bytes.IndexByte(page, '<'); end >= 0 {
			tag = page[:end]
		}
		if containsFold(tag, "refresh") {
			return true
		}
	}
}

func containsFold(text []byte, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i]|0x20 == word[0] && strings.EqualFold(string(text[i:i+len(word)]), word) {
			return true
		}
	}
	return false
}

// metaRefresh looks through the head of a page, outside of noscript and template. What would end the head in a
// browser (text, an element of the body) ends it here.
func metaRefresh(page []byte) (written, bool) {
	z := html.NewTokenizer(bytes.NewReader(trimBOM(page)))
	base, templates := "", 0
	for raw := false; ; { // raw: the text that follows is that of a script or the like
		kind := z.Next()
		if kind == html.TextToken {
			if !raw && templates == 0 && len(bytes.Trim(z.Raw(), whiteSpace)) > 0 {
				return written{}, false
			}
			continue
		}
		if kind == html.ErrorToken {
			return written{}, false
		}
		if kind == html.CommentToken || kind == html.DoctypeToken {
			continue
		}
		name, some := z.TagName()
		tag, opens := string(name), kind != html.EndTagToken
		raw = false
		switch {
		case tag == "template" && opens:
			templates++
		case tag == "template":
			templates = max(templates-1, 0)
		case !opens:
		case tag == "script", tag == "style", tag == "title", tag == "noscript", tag == "noframes":
			raw = true
		case templates > 0:
		case tag == "base":
			if a := attributes(z, some); base == "" {
				base = a["href"]
			}
		case tag == "meta":
			a := attributes(z, some)
			if !strings.EqualFold(a["http-equiv"], "refresh") {
				continue
			}
			if w, ok := parseRefresh(a["content"]); ok {
				w.base, w.inPage = base, true
				return w, true
			}
		case tag != "html" && tag != "head" && tag != "link" && tag != "basefont" && tag != "bgsound":
			return written{}, false
		}
	}
}

// attributes are those of the tag that was read last; of two of a name the first counts.
func attributes(z *html.Tokenizer, some bool) map[string]string {
	all := map[string]string{}
	for some {
		var key, value []byte
		key, value, some = z.TagAttr()
		if _, known := all[string(key)]; !known {
			all[string(key)] = string(value)
		}
	}
	return all
}

// whiteSpace is ASCII whitespace as HTML has it.
const whiteSpace = "\t\n\f\r "

// maxRefresh bounds the seconds of a refresh that are told apart.
const maxRefresh = 24 * 60 * 60

// parseRefresh reads the value of a Refresh header or of a meta element: the steps of
// https://html.spec.whatwg.org/#shared-declarative-refresh-steps, but for the resolving of the address.
func parseRefresh(value string) (w written, ok bool) {
	value = strings.TrimLeft(value, whiteSpace)
	rest := strings.TrimLeft(value, "0123456789")
	digits := value[:len(value)-len(rest)]
	if digits == "" && !strings.HasPrefix(rest, ".") {
		return w, false
	}
	if seconds, err := strconv.Atoi(digits); err == nil {
		w.after = time.Duration(min(seconds, maxRefresh)) * time.Second
	} else if digits != "" { // more of them than fit
		w.after = maxRefresh * time.Second
	}
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest == "" {
		return w, true
	}
	if !strings.ContainsAny(rest[:1], ";,"+whiteSpace) {
		return w, false
	}
	rest = strings.TrimLeft(rest, whiteSpace)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = rest[1:]
	}
	w.to = strings.Trim(refreshAddress(strings.TrimLeft(rest, whiteSpace)), whiteSpace)
	return w, true
}

// refreshAddress takes the address out of what follows the time: "url = '/a'", "'/a'" or "/a".
func refreshAddress(text string) string {
	address, named := text, false
	if len(text) >= 3 && strings.EqualFold(text[:3], "url") {
		if address, named = strings.CutPrefix(strings.TrimLeft(text[3:], whiteSpace), "="); !named {
			return text
		}
		address = strings.TrimLeft(address, whiteSpace)
	} else if len(text) > 0 && (text[0] == 'u' || text[0] == 'U') {
		return text
	}
	if address == "" || address[0] != '"' && address[0] != '\'' {
		return address
	}
	quoted, _, _ := strings.Cut(address[1:], address[:1])
	return quoted
}

// refresh returns where a page that is a refresh leads. Only one at once, to another address, is followed, as a
// redirect is; the error of any other is ErrRefresh.
func (c *chain) refresh(from *url.URL, r Refresh) (next *url.URL, err error) {
	when := "at once"
	if r.After > 0 {
		when = "after " + r.After.String()
	}
	switch {
	case isSame(from, r.To):
		return nil, fmt.Errorf("%w: %s, to itself", ErrRefresh, when)
	case r.After == 0:
		if next, err = c.step(from, r.To, func() bool { return false }); err == nil {
			return next, nil
		}
		return nil, fmt.Errorf("%w: %s, to %s: %w", ErrRefresh, when, r.To.Redacted(), err)
	}
	return nil, fmt.Errorf("%w: %s, to %s", ErrRefresh, when, r.To.Redacted())
}

// isSame reports whether two URLs are one address as the URL Standard writes it.
func isSame(a, b *url.URL) bool {
	x, y := weburl.NewBase(a, ""), weburl.NewBase(b, "")
	return x.Address().Text == y.Address().Text
}
