package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Secrets are texts that a request holds by name: a header, an address or a body has ${TOKEN} where one goes. It
// is put there as the request goes out, to the scheme, host and port of its origin alone, and taken out of the answer before
// anything reads it. Whatever is stored, logged or returned has the name. Safe for concurrent use.
type Secrets struct {
	origin *url.URL
	values map[string]string
	forms  []secretForm
	begin  [256][]int // numbers of the forms that may begin with a byte
}

// Bounds of a secret: a shorter one would be found in what is none.
const (
	minSecret = 6
	maxSecret = 4096
)

// Errors of a secret's value, which they do not hold.
var (
	errSecretShort = fmt.Errorf("it has fewer than %d characters, which other texts may contain by chance", minSecret)
	errSecretLong  = fmt.Errorf("it has more than %d characters", maxSecret)
	errSecretBytes = errors.New("it has characters that are not printable ASCII, or blanks at its ends")
	errSecretName  = errors.New("it holds ${")
)

// NewSecrets returns secrets by their names, which are capitals and digits, for the scheme, host and port of an address.
func NewSecrets(origin *url.URL, values map[string]string) (*Secrets, error) {
	s := &Secrets{origin: origin, values: maps.Clone(values)}
	for name, value := range values {
		if err := checkSecret(value); err != nil {
			return nil, fmt.Errorf("the secret %s: %w", name, err)
		}
		s.forms = append(s.forms, formsOf(name, value)...)
	}
	slices.SortStableFunc(s.forms, func(a, b secretForm) int { return len(b.text) - len(a.text) })
	for i, f := range s.forms {
		escapes := `%\&`
		if f.text[0] == ' ' {
			escapes += "+"
		}
		for _, c := range []byte(escapes) {
			s.begin[c] = append(s.begin[c], i)
		}
		if !strings.Contains(escapes, f.text[:1]) {
			s.begin[f.text[0]] = append(s.begin[f.text[0]], i)
		}
	}
	return s, nil
}

func checkSecret(value string) error {
	switch {
	case len(value) < minSecret:
		return errSecretShort
	case len(value) > maxSecret:
		return errSecretLong
	case strings.Trim(value, " ") != value, strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return errSecretBytes
	case strings.Contains(value, "${"):
		return errSecretName
	}
	return nil
}

// admits reports whether the secrets may be sent to u by a session: to their origin alone, and so that nobody in between reads
// them.
func (s *Secrets) admits(u *url.URL, by *Session) bool {
	if !strings.EqualFold(u.Scheme, s.origin.Scheme) || hostname(u) != hostname(s.origin) || place(u) != place(s.origin) {
		return false
	}
	return TakesSecrets(u) && (u.Scheme == "https" || by.gateway == nil)
}

// TakesSecrets reports whether secrets may be sent to an address at all: by https, or to this machine.
func TakesSecrets(u *url.URL) bool {
	host := hostname(u)
	a, err := netip.ParseAddr(host)
	return u.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && a.Unmap().IsLoopback()
}

// put returns a request as it goes out: with the secrets where they may be sent, else without the headers that hold one. What
// it is given is not changed. What has led elsewhere once goes without them from then on: an address back is another's word.
func (a *ask) put(u *url.URL, h http.Header, body []byte, by *Session) (*url.URL, http.Header, []byte) {
	s := a.secrets
	if s == nil {
		return u, h, body
	}
	a.abroad = a.abroad || !s.admits(u, by)
	admitted := !a.abroad
	out := make(http.Header, len(h))
	for name, all := range h {
		for _, value := range all {
			if !admitted && named.MatchString(value) {
				continue
			}
			out[name] = append(out[name], s.fill(value, func(v string) string { return v }))
		}
	}
	if !admitted {
		return u, out, body
	}
	if body != nil {
		body = []byte(s.fill(string(body), escapeIn(h.Get("Content-Type"))))
	}
	return s.inAddress(u), out, body
}

// named finds the name of a secret, in an address also as one that was written anew.
var named = regexp.MustCompile(`(?:\$|%24)(?:\{|%7[Bb])([A-Z0-9]+)(?:\}|%7[Dd])`)

// fill puts the secrets into a text.
func (s *Secrets) fill(text string, escape func(string) string) string {
	return named.ReplaceAllStringFunc(text, func(whole string) string {
		value, ok := s.values[named.FindStringSubmatch(whole)[1]]
		if !ok {
			return whole
		}
		return escape(value)
	})
}

// inAddress puts the secrets into the path and the query of an address.
func (s *Secrets) inAddress(u *url.URL) *url.URL {
	out := *u
	out.RawQuery = s.fill(u.RawQuery, url.QueryEscape)
	escaped := s.fill(u.EscapedPath(), url.PathEscape)
	if path, err := url.PathUnescape(escaped); err == nil {
		out.Path, out.RawPath = path, escaped
	}
	return &out
}

// escapeIn returns how a text is escaped in a body of a type.
func escapeIn(contentType string) func(string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case kind == "application/x-www-form-urlencoded":
		return url.QueryEscape
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return func(v string) string {
			quoted, _ := json.Marshal(v) // of a text there is no error
			return string(quoted[1 : len(quoted)-1])
		}
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return xmlText.Replace
	}
	return func(v string) string { return v }
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// secretForm is a text by which a secret is found in an answer: itself, or a part of its base64.
type secretForm struct {
	text string
	name string // ${TOKEN}
	tail string // what may follow: the end of a base64
}

// formsOf returns the forms of a secret. Its base64 depends on where in a group of three bytes it begins, at its ends on what
// is beside it.
func formsOf(name, value string) []secretForm {
	name = "${" + name + "}"
	forms := []secretForm{{text: value, name: name}}
	for _, text := range []string{value, url.QueryEscape(value), url.PathEscape(value)} { // a position in a list is often the base64 of a query
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			for before := range 3 {
				whole := alphabet.EncodeToString(append(make([]byte, before), text...))
				from, to := (before*8+5)/6, (before+len(text))*8/6
				f := secretForm{text: whole[from:to], name: name, tail: whole[to:]}
				if !slices.Contains(forms, f) {
					forms = append(forms, f)
				}
			}
		}
	}
	return forms
}

// clean takes the secrets out of a text: each is its name then. The text itself comes back where it has none.
func (s *Secrets) clean(text []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(text); i++ {
		if s.begin[text[i]] == nil {
			continue
		}
		if f, n := s.at(text[i:]); n > 0 {
			out = append(append(out, text[from:i]...), f.name...)
			from = i + n
			i = from - 1
		}
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

// at returns the form with which a text begins, and its length there; 0 = none.
func (s *Secrets) at(text []byte) (*secretForm, int) {
	for _, i := range s.begin[text[0]] {
		f := &s.forms[i]
		if !mayBe(text, f.text) {
			continue
		}
		n := escapedLen(text, f.text)
		if n == 0 {
			continue
		}
		if tail := escapedLen(text[n:], f.tail); tail > 0 {
			n += tail
		} else if bare := strings.TrimRight(f.tail, "="); bare != "" {
			n += escapedLen(text[n:], bare)
		}
		return f, n
	}
	return nil, 0
}

// mayBe reports whether the first two characters of a text are those of another, or begin an escape: most texts are told apart so.
func mayBe(in []byte, text string) bool {
	for i := range min(2, len(text), len(in)) {
		switch c := in[i]; {
		case c == '%', c == '\\', c == '&':
			return true
		case c != text[i] && (c != '+' || text[i] != ' '):
			return false
		}
	}
	return true
}

// mostEnds bounds in how many ways a beginning of a secret is followed: each character may be escaped in a few.
const mostEnds = 32

// escapedLen returns the length of a text that something begins with, however its characters are escaped there: 0 = it does not
// begin with it. Of several lengths it is the longest.
func escapedLen(in []byte, text string) int {
	var room, more [mostEnds]int
	ends, free := room[:1], more[:0]
	for i := range len(text) {
		next := free[:0]
		for _, at := range ends {
			if at < len(in) {
				next = escapeEnds(next, in, at, text[i])
			}
		}
		if len(next) == 0 {
			return 0
		}
		ends, free = next, ends
	}
	return slices.Max(ends)
}

// escapeEnds adds where a character ends that begins at a place of a text: as it is, or escaped for an address, for JSON or
// for HTML, also twice.
func escapeEnds(ends []int, in []byte, at int, c byte) []int {
	add := func(end int) {
		if len(ends) < mostEnds && !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	if in[at] == c || in[at] == '+' && c == ' ' {
		add(at + 1)
	}
	switch in[at] {
	case '%':
		for n := at + 1; ; n += 2 {
			if code, end := hexAt(in, n, 2); end > 0 && (code == c || code == '+' && c == ' ') {
				add(end)
			}
			if !bytes.HasPrefix(in[n:], []byte("25")) {
				break
			}
		}
	case '\\':
		n := at + 1
		for ; n < len(in) && in[n] == '\\' && n < at+8; n++ {
		}
		for run := 2; c == '\\' && run <= n-at; run *= 2 {
			add(at + run)
		}
		if end, ok := escapedAt(in, n, c); ok {
			add(end)
		}
	case '&':
		if code, n := entity(in[at:]); n > 0 && code == c {
			add(at + n)
		}
	}
	return ends
}

// escapedAt returns where an escape ends whose backslash is before a place of a text, if it is that of a character.
func escapedAt(in []byte, at int, c byte) (end int, ok bool) {
	if at >= len(in) {
		return 0, false
	}
	code := in[at]
	switch end = at + 1; code {
	case 'u':
		code, end = hexAt(in, at+1, 4)
	case 'x':
		code, end = hexAt(in, at+1, 2)
	case '/', '"', '\'':
	default:
		return 0, false
	}
	return end, end > 0 && code == c
}

// hexAt returns the character whose number is somewhere in a text, in so many hexadecimal digits, and where they end.
func hexAt(in []byte, at, digits int) (c byte, end int) {
	if len(in) < at+digits {
		return 0, 0
	}
	number := 0
	for _, d := range in[at : at+digits] {
		v := hexDigit(d)
		if v < 0 {
			return 0, 0
		}
		number = number<<4 | v
	}
	if number > '~' {
		return 0, 0
	}
	return byte(number), at + digits
}

func hexDigit(d byte) int {
	switch {
	case d >= '0' && d <= '9':
		return int(d - '0')
	case d|' ' >= 'a' && d|' ' <= 'f':
		return int(d|' ') - 'a' + 10
	}
	return -1
}

// entities are the characters of HTML that have names.
var entities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity returns the character whose entity a text begins with, and the length of that.
func entity(in []byte) (c byte, n int) {
	end := bytes.IndexByte(in[:min(len(in), 10)], ';')
	if end < 2 {
		return 0, 0
	}
	body := string(in[1:end])
	if c, ok := entities[body]; ok {
		return c, end + 1
	}
	digits, base := strings.TrimPrefix(body, "#"), 10
	if digits == body {
		return 0, 0
	}
	if hex := strings.TrimLeft(digits, "xX"); hex != digits {
		digits, base = hex, 16
	}
	number := 0
	for i := range len(digits) {
		v := hexDigit(digits[i])
		if v < 0 || v >= base {
			return 0, 0
		}
		number = number*base + v
	}
	if digits == "" || number > '~' {
		return 0, 0
	}
	return byte(number), end + 1
}

// cleanAnswer takes the secrets out of the status line and the header of an answer.
func (s *Secrets) cleanAnswer(r *http.Response) {
	if s == nil {
		return
	}
	r.Status = string(s.clean([]byte(r.Status)))
	for name, all := range r.Header {
		clean := string(s.clean([]byte(name)))
		for i := range all {
			all[i] = string(s.clean([]byte(all[i])))
		}
		if clean != name {
			delete(r.Header, name)
			r.Header[clean] = all
		}
	}
}

// cleanError is an error without secrets in its text; what it is stays.
func (s *Secrets) cleanError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Err != nil {
			e.Err = s.cleanCause(e.Err)
		}
		e.URL, e.Says, e.Instead = s.cleanText(e.URL), s.cleanText(e.Says), s.cleanText(e.Instead)
	}
	return s.cleanCause(err)
}

func (s *Secrets) cleanText(text string) string { return string(s.clean([]byte(text))) }

func (s *Secrets) cleanCause(err error) error {
	text := err.Error()
	clean := s.cleanText(text)
	if clean == text {
		return err
	}
	return &cleanedError{text: clean, err: err}
}

// cleanedError is an error whose text held a secret.
type cleanedError struct {
	text string
	err  error
}

func (e *cleanedError) Error() string { return e.text }

// Is and As look at what the error is; nobody gets hold of its text by unwrapping it.
func (e *cleanedError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *cleanedError) As(target any) bool { return errors.As(e.err, target) }
