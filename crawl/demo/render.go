package demo

import (
	"bytes"
	"embed"
	"fmt"
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
func (s *stock) render(to *bytes.Buffer, name string, v values) {
	t, size := s.templates[name], 0
	for _, p := range t {
		size += len(p.text) + len(v[p.field])
	}
	to.Grow(size)
	for i := 0; i < len(t); i++ {
		to.WriteString(t[i].text)
		switch value := v[t[i].field]; {
		case t[i].skip == 0:
			to.WriteString(value)
		case value == "":
			i = t[i].skip - 1
		}
	}
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

// chromeParts makes up what surrounds the cards on every page: style sheets,
// scripts, menus and dialogs, as bulky as on the real site. All of it is ASCII,
// so that it can stand in a page of any charset.
// The list is of marks in templates and what stands there.
func chromeParts() []string {
	return []string{
		"{{styles}}", styles(9 << 10), "{{script1}}", script("head", 28<<10), "{{script2}}", script("body", 24<<10),
		"{{nav}}", menu("nav", 10<<10), "{{footer}}", menu("foot", 12<<10), "{{modals}}", modals(12 << 10),
	}
}

func styles(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		d := newDice(1, uint64(i))
		fmt.Fprintf(&b, ".%s-%d>.%s{margin:%dpx %dpx;color:#%06x;background:url(/images/%s.svg) no-repeat}@media(max-width:%dpx){.%s-%d{display:none}}",
			d.word(1, identifiers), i, d.word(2, identifiers), d.pick(3, 40), d.pick(4, 40), d.pick(5, 1<<24), d.word(6, identifiers), 320+d.pick(7, 900), d.word(1, identifiers), i)
	}
	return b.String()
}

// script makes up minified code. It holds markup in strings and comparison
// signs, which a scanner that does not know scripts takes for tags.
func script(name string, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `window.YP=window.YP||{};YP.%s=function(e,t){"use strict";`, name)
	for i := 0; b.Len() < size; i++ {
		d := newDice(2, uint64(i), uint64(size))
		w1, w2 := d.word(1, identifiers), d.word(2, identifiers)
		switch d.pick(0, 4) {
		case 0:
			fmt.Fprintf(&b, `function %s%d(e,n){for(var r=0,i=e.length;r<i;r++)if(e[r].%s<%d&&n>r)return e[r].%s;return null}`, w1, i, w2, d.pick(3, 999), w1)
		case 1:
			fmt.Fprintf(&b, `t.%s%d={%s:"/ajax/%s?v=%x",ttl:%d,tpl:"<div class=\"search-results organic\"><div class=\"result %s\"><a class=\"business-name\" href=\"#\">{{name}}<\/a><\/div><\/div>"};`, w1, i, w2, w2, d.at(4), d.pick(5, 9999), w2)
		case 2:
			fmt.Fprintf(&b, `e.on("%s:%s",function(n){n.preventDefault(),t.%s&&t.%s.track({click_id:%d,act:%d,section:'%s'})});`, w1, w2, w1, w1, d.pick(6, 3000), d.pick(7, 4), w2)
		default:
			fmt.Fprintf(&b, `var %s%d="%016x%016x".split("").map(function(e){return parseInt(e,16)^%d});`, w1, i, d.at(8), d.at(9), d.pick(10, 16))
		}
	}
	b.WriteString("};")
	return b.String()
}

func menu(name string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		d := newDice(3, uint64(i), uint64(size))
		w1, w2 := d.word(1, identifiers), d.word(2, identifiers)
		fmt.Fprintf(&b, `<ul class="%s-menu %s"><li class="%s-item"><a href="/about/%s-%d" data-analytics='{"click_id":%d,"module":"%s","act":%d}'>%s %s</a></li><li><span class="icon icon-%s"></span><a href="/articles/%s/%s-%d" rel="nofollow">More about %s &amp; %s</a></li></ul>`,
			name, w1, name, w1, i, d.pick(3, 3000), name, d.pick(4, 4), w1, w2, w2, w1, w2, i, w2, w1)
	}
	return b.String()
}

func modals(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		d := newDice(4, uint64(i))
		w := d.word(1, identifiers)
		fmt.Fprintf(&b, `<div class="modal modal-%s" id="modal-%d" role="dialog"><div class="modal-dialog"><button type="button" class="close" data-dismiss="modal" aria-label="Close">&times;</button><form action="/%s/submit" method="post" data-token="%016x"><label for="f-%d">Your %s</label><input type="text" id="f-%d" name="%s" maxlength="%d"><select name="s-%d"><option value="">Choose&hellip;</option><option value="%s">%s</option><option value="other">Other</option></select><textarea name="t-%d" rows="3" cols="40"></textarea></form></div></div>`,
			w, i, w, d.at(2), i, w, i, w, 20+d.pick(3, 200), i, d.word(4, identifiers), d.word(4, identifiers), i)
	}
	return b.String()
}

var identifiers = []string{
	"account", "banner", "coupon", "dealer", "events", "filter", "gallery", "header", "insight", "journal", "keyword", "layout", "mybook",
	"notes", "offers", "photos", "quotes", "review", "search", "travel", "upload", "vendor", "widget", "yellow", "zipcode",
}
