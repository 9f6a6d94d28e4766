package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed html/*.html
var markup embed.FS

// values are what a template may name, escaped already: how a text is escaped
// follows from the charset of its page.
type values map[string]string

// A template is markup with [[field]] where a value goes and [[?field]]…[[/]]
// around what stands only when the value is not empty. text/template takes five
// times as long, and every test that crawls would pay for it.
type template []part

// part is a stretch of markup and what follows it: the value of a field, or
// with skip a condition and the part to go on with when the field is empty.
type part struct {
	text, field string
	skip        int
}

func parse(text string) template {
	var t template
	var open []int // the conditions that wait for their [[/]]
	for more := true; more; {
		var p part
		p.text, text, more = strings.Cut(text, "[[")
		p.field, text, _ = strings.Cut(text, "]]")
		if field, ok := strings.CutPrefix(p.field, "?"); ok {
			p.field = field
			open = append(open, len(t))
		} else if p.field == "/" {
			t[open[len(open)-1]].skip = len(t) + 1
			open = open[:len(open)-1]
		}
		t = append(t, p)
	}
	return t
}

// page writes a template that is a whole page with the values v.
func (s *stock) page(name string, v values) []byte {
	var b bytes.Buffer
	s.render(&b, name, v)
	return b.Bytes()
}

// render appends a template with the values v.
func (s *stock) render(to builder, name string, v values) {
	t, size := s.templates[name], 0
	for _, p := range t {
		size += len(p.text) + len(v[p.field])
	}
	to.Grow(size)
	for i := 0; i < len(t); i++ {
		_, _ = to.WriteString(t[i].text)
		switch value := v[t[i].field]; {
		case t[i].skip == 0:
			_, _ = to.WriteString(value)
		case value == "":
			i = t[i].skip - 1
		}
	}
}

// builder is a strings.Builder or a bytes.Buffer, which take all that is written.
type builder interface {
	Grow(n int)
	io.StringWriter
}

// newTemplates reads the templates, by the names of their files. {{top}} and
// {{bottom}} stand for the frame of the site. The cards of entities are the
// modern ones with other attributes.
func newTemplates() (map[string]template, error) {
	files, err := markup.ReadDir("html")
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	texts := make(map[string]string)
	for _, f := range files {
		text, err := markup.ReadFile("html/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		texts[strings.TrimSuffix(f.Name(), ".html")] = string(text)
	}
	texts["card_entity"] = entityQuoted(texts["card_modern"])
	frame, chrome := strings.NewReplacer("{{top}}", texts["top"], "{{bottom}}", texts["bottom"]), strings.NewReplacer(chromeParts()...)
	all := make(map[string]template)
	for name, text := range texts {
		all[name] = parse(chrome.Replace(frame.Replace(text)))
	}
	return all, nil
}

var analyticsPattern = regexp.MustCompile(`data-analytics='([^']*)'`)

// entityQuoted rewrites raw JSON attributes in single quotes into the
// entity-encoded form in double quotes: the site serves both.
func entityQuoted(text string) string {
	return analyticsPattern.ReplaceAllStringFunc(text, func(s string) string {
		inner := analyticsPattern.FindStringSubmatch(s)[1]
		return `data-analytics="` + strings.ReplaceAll(inner, `"`, "&quot;") + `"`
	})
}

// skin is the markup generation of a target's pages.
type skin uint8

const (
	skinModern skin = iota // data-analytics as raw JSON
	skinEntity             // data-analytics entity-encoded, absolute URLs in JSON-LD, numeric references
	skin2019               // itemprop spans, p.adr
	skin2013               // h3.n, li.phone, no data-ypid, ISO-8859-1
)

func (s skin) card() string {
	return [...]string{"card_modern", "card_entity", "card_2019", "card_2013"}[s]
}

func (s skin) charset() string {
	if s == skin2013 {
		return "iso-8859-1"
	}
	return "utf-8"
}

var markupEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escape makes text fit for markup and quoted attributes of a page in UTF-8.
func escape(text string) string { return markupEscaper.Replace(text) }

// escape makes text fit for markup and quoted attributes in the skin's charset.
func (s skin) escape(text string) string {
	text = escape(text)
	if s != skinEntity && s != skin2013 {
		return text
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf, s == skin2013 && r >= 0xa0 && r < 0x100:
			b = append(b, byte(r))
		default:
			b = append(strconv.AppendInt(append(b, "&#"...), int64(r), 10), ';')
		}
	}
	return string(b)
}

var jsonEscaper = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "<", `\u003c`, "\n", `\u000a`, "\x1b", `\u001b`)

// quoted writes a JSON string that may stand in a script element; "" for nothing.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + jsonEscaper.Replace(text) + `"`
}

// jsonList writes a JSON list of texts that need no escaping; "" for nothing.
func jsonList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return `["` + strings.Join(list, `","`) + `"]`
}

// grouped writes n with commas: 1,108.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
