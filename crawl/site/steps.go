package site

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// A step makes another text of the one that a rule has found; "" when it can't.
type step func(string) string

// Bounds on steps.
const (
	maxSteps    = 20
	maxStepped  = 64 << 10 // bytes of a text before and after a step; a longer one is none
	maxReplaced = 200      // bytes of what replaces a text
)

// stepped returns the text that the rule's steps make of one that is as it is written. What is cut off a text would make it another one, so
// one that is too long is none.
func (r *rule) stepped(s string) string {
	if len(s) > maxStepped || r.attr == "" && !r.data && len(s) >= maxText {
		return ""
	}
	if r.link {
		s = weburl.Tidy(s)
	}
	folded := yp.Fold(s)
	if s = r.pick(folded); s == "" && r.match != nil {
		s = r.pick(yp.Clean(folded))
	}
	for _, do := range r.steps {
		if s == "" || len(s) > maxStepped {
			return ""
		}
		s = do(s)
	}
	return s
}

// tidy makes a text that steps have made fit to keep, as one that no step has touched.
func (r *rule) tidy(s string) string {
	if r.address {
		return weburl.Tidy(s)
	}
	return r.clean(s)
}

var errStep = errors.New("a step has exactly one of decode, match, replace and scale, such as `{decode: base64}`")

// compileSteps makes steps ready; at is the path of their list. Texts of a count are picked as wholes, see yp.WholeCount.
func compileSteps(list []stepDef, at string, count bool, f *faults) (out []step) {
	if len(list) > maxSteps {
		f.add(at, fmt.Errorf("%d steps: want %d at most", len(list), maxSteps))
	}
	for i := range list {
		do, err := list[i].compile(count)
		f.add(itemPath(at, i), err)
		out = append(out, do)
	}
	return out
}

// compile makes a step ready.
func (d *stepDef) compile(count bool) (step, error) {
	given := 0
	for _, is := range [...]bool{d.Decode != "", d.Match != "", d.Replace != nil, d.Scale != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, errStep
	case d.Decode != "":
		return decoding(d.Decode)
	case d.Match != "":
		return matching(d.Match, count)
	case d.Replace != nil:
		return replacing(d.Replace)
	}
	return scaling(*d.Scale)
}

// The codes of the step decode.
const (
	codeBase64  = "base64"  // with or without padding, in the standard or the URL alphabet
	codePercent = "percent" // such as %C3%A9; a + is not changed
	codeJSON    = "json"    // a JSON string or number, or the inside of a JSON string without its quotes
	codeHTML    = "html"    // entities are decoded and tags are removed, once
)

func decoding(code string) (step, error) {
	switch code {
	case codeBase64:
		return fromBase64, nil
	case codePercent:
		return fromPercent, nil
	case codeJSON:
		return fromJSON, nil
	case codeHTML:
		return yp.FromHTML, nil
	}
	return nil, fmt.Errorf("decode: %w", unknown("code", code, []string{codeBase64, codeHTML, codeJSON, codePercent}))
}

// base64Forms writes the URL alphabet of base64 as the other one (RFC 4648), and drops line breaks.
var base64Forms = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\r", "", "\n", "")

// fromBase64 decodes base64 of either alphabet, with or without its padding.
func fromBase64(s string) string {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(base64Forms.Replace(s), "="))
	if err != nil {
		return ""
	}
	return legible(string(b))
}

// fromPercent decodes %C3%A9. A + is one.
func fromPercent(s string) string {
	s, err := url.PathUnescape(s)
	if err != nil {
		return ""
	}
	return legible(s)
}

// fromJSON reads a JSON text of one string, number or boolean, or what is between the quotes of a string:
// https:\/\/acme.example.
func fromJSON(s string) string {
	v, err := jsondoc.Parse([]byte(s))
	if err != nil {
		v, err = jsondoc.Parse([]byte(`"` + s + `"`))
	}
	if err != nil {
		return ""
	}
	return v.Text()
}

// legible returns a text, or "" for bytes that are none: a word that only looks like base64 decodes to such.
func legible(s string) string {
	control := func(c rune) bool { return c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, control) {
		return ""
	}
	return s
}

func matching(text string, count bool) (step, error) {
	match, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	return func(s string) string { return pick(match, s, count) }, nil
}

// replacing replaces each occurrence of a text.
func replacing(pair []string) (step, error) {
	if len(pair) != 2 || pair[0] == "" {
		return nil, errors.New("replace: want two texts, the old and the new one, such as `[',', '.']`")
	}
	from, to := pair[0], pair[1]
	if len(to) > maxReplaced {
		return nil, fmt.Errorf("replace: the new text may have at most %d bytes", maxReplaced)
	}
	return func(s string) string {
		if len(s)+strings.Count(s, from)*(len(to)-len(from)) > maxStepped {
			return ""
		}
		return strings.TrimSpace(strings.ReplaceAll(s, from, to))
	}, nil
}

// decimal is a number as JSON and most machines write it.
var decimal = regexp.MustCompile(`^[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?$`)

// scaleDigits is how many digits behind the point are kept of a number that was scaled.
const scaleDigits = 12

// scaling multiplies a number. A text that is anything else is none.
func scaling(by float64) (step, error) {
	if !(by >= 1e-9 && by <= 1e9) {
		return nil, fmt.Errorf("scale %v: want a positive number to multiply by, such as 0.05", by)
	}
	factor, _ := new(big.Rat).SetString(strconv.FormatFloat(by, 'f', -1, 64)) // as it is written, not its nearest float
	return func(s string) string {
		s = strings.TrimSpace(s)
		if !decimal.MatchString(s) {
			return ""
		}
		n, ok := new(big.Rat).SetString(s)
		if !ok {
			return ""
		}
		s = n.Mul(n, factor).FloatString(scaleDigits)
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}, nil
}
