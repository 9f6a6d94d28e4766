package demo

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed html/*.html
var markup embed.FS

// frame is what every page has around its content.
type frame struct{ Charset, Title, Kind, What, City, State, Where, Heading, Self string }

// plainFrame is the frame of a page that is about no target.
func plainFrame(title, kind string) frame {
	return frame{Charset: "utf-8", Title: title, Kind: kind, Heading: title, Self: "/"}
}

// page writes a template that is a whole page.
func (s *stock) page(name string, data any) []byte {
	var b bytes.Buffer
	b.Grow(256 << 10)
	if err := s.templates.ExecuteTemplate(&b, name+".html", data); err != nil {
		panic(fmt.Sprintf("demo: page %s: %v", name, err)) // the tests write every kind of page
	}
	return b.Bytes()
}

var analyticsPattern = regexp.MustCompile(`data-analytics='([^']*)'`)

// newTemplates reads the templates, by the names of their files. The cards of entities are the
// modern ones, their JSON attributes entity-encoded in double quotes: the site serves both.
func newTemplates() *template.Template {
	parts := chromeParts()
	all := template.Must(template.New("").Delims("[[", "]]").Funcs(template.FuncMap{
		"chrome": func(name string) template.HTML { return parts[name] }, "lower": strings.ToLower,
		"letters": func() []string { return strings.Split("abcdefghijklmnopqrstuvwxyz", "") },
	}).ParseFS(markup, "html/*.html"))
	modern, err := markup.ReadFile("html/card_modern.html")
	if err != nil {
		panic(err) // it is embedded
	}
	entities := analyticsPattern.ReplaceAllStringFunc(string(modern), func(s string) string {
		return `data-analytics="` + strings.ReplaceAll(s[len("data-analytics='"):len(s)-1], `"`, "&quot;") + `"`
	})
	template.Must(all.New("card_entity.html").Parse(entities))
	return all
}

// skin is the markup generation of a target's pages.
type skin uint8

const (
	skinModern skin = iota // data-analytics as raw JSON
	skinEntity             // data-analytics entity-encoded, absolute URLs in JSON-LD, numeric references
	skin2019               // itemprop spans, p.adr
	skin2013               // h3.n, li.phone, no data-ypid, ISO-8859-1
)

func (s skin) charset() string {
	if s == skin2013 {
		return "iso-8859-1"
	}
	return "utf-8"
}

// encode writes a page as its skin does: what is beyond ASCII as numeric references, in
// ISO-8859-1 only what that has no byte for. The JSON-LD, which comes last, stays as it is.
func (s skin) encode(page []byte) []byte {
	if s != skinEntity && s != skin2013 {
		return page
	}
	end := bytes.Index(page, []byte(`<script type="application/ld+json">[`))
	if end < 0 {
		end = len(page)
	}
	out := make([]byte, 0, len(page)+1<<10)
	from := 0
	for i := 0; i < end; {
		r, n := rune(page[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(page[i:])
			out = append(out, page[from:i]...)
			if from = i + n; s == skin2013 && r >= 0xa0 && r < 0x100 {
				out = append(out, byte(r))
			} else {
				out = append(strconv.AppendInt(append(out, "&#"...), int64(r), 10), ';')
			}
		}
		i += n
	}
	return append(out, page[from:]...)
}

// chromeParts makes up what surrounds the cards on every page: style sheets, scripts, menus and
// dialogs, as bulky as on the real site. The scripts hold markup in strings and comparison signs,
// which a scanner that does not know scripts takes for tags. All of it is ASCII, so that it can
// stand in a page of any charset. The arguments of the forms: a number, two words, two numbers.
func chromeParts() map[string]template.HTML {
	menu := `<ul class="menu %[2]s"><li class="menu-item"><a href="/about/%[2]s-%[1]d" data-analytics='{"click_id":%[4]d,"act":%[5]d}'>%[2]s %[3]s</a></li><li><span class="icon icon-%[3]s"></span><a href="/articles/%[3]s/%[2]s-%[1]d" rel="nofollow">More about %[3]s &amp; %[2]s</a></li></ul>`
	script := []string{
		`function %[2]s%[1]d(e,n){for(var r=0,i=e.length;r<i;r++)if(e[r].%[3]s<%[4]d&&n>r)return e[r].%[2]s;return null}`,
		`t.%[2]s%[1]d={%[3]s:"/ajax/%[3]s?v=%[5]x",ttl:%[4]d,tpl:"<div class=\"search-results organic\"><div class=\"result %[3]s\"><a class=\"business-name\" href=\"#\">{{name}}<\/a><\/div><\/div>"};`,
		`e.on("%[2]s:%[3]s",function(n){n.preventDefault(),t.%[2]s&&t.%[2]s.track({click_id:%[4]d,section:'%[3]s'})});`,
		`var %[2]s%[1]d="%016[5]x%016[4]x".split("").map(function(e){return parseInt(e,16)^%[4]d});`,
	}
	scripts := func(name string, size int) template.HTML {
		return `<script>window.YP=window.YP||{};YP.` + template.HTML(name) + `=function(e,t){"use strict";` + bulk(size, script...) + "};</script>" //nolint:gosec // our own text
	}
	return map[string]template.HTML{
		"comment": `<!-- the old markup, kept for reference: <div class="search-results organic"><div class="result" id="lid-0"><a class="business-name" href="/nowhere/mip/nothing-1">Nothing</a></div></div> -->`, // a template would lose it
		"styles":  "<style>" + bulk(9<<10, `.%[2]s-%[1]d>.%[3]s{margin:%[4]dpx;color:#%06[5]x;background:url(/images/%[3]s.svg) no-repeat}@media(max-width:%[4]dpx){.%[2]s-%[1]d{display:none}}`) + "</style>",
		"head":    scripts("head", 28<<10), "body": scripts("body", 24<<10), "nav": bulk(10<<10, menu), "foot": bulk(12<<10, menu),
		"modals": bulk(12<<10, `<div class="modal modal-%[2]s" id="modal-%[1]d" role="dialog"><div class="modal-dialog"><button type="button" class="close" data-dismiss="modal" aria-label="Close">&times;</button><form action="/%[2]s/submit" method="post" data-token="%016[5]x"><label for="f-%[1]d">Your %[2]s</label><input type="text" id="f-%[1]d" name="%[2]s" maxlength="%[4]d"><select name="s-%[1]d"><option value="">Choose&hellip;</option><option value="%[3]s">%[3]s</option><option value="other">Other</option></select><textarea name="t-%[1]d" rows="3" cols="40"></textarea></form></div></div>`),
	}
}

// bulk writes forms with made-up arguments until they have a size.
func bulk(size int, forms ...string) template.HTML {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		d := newDice(1, uint64(i), uint64(size))
		form := forms[d.pick(0, len(forms))]
		fmt.Fprintf(&b, form+"%.0[6]s", i, d.word(1, identifiers), d.word(2, identifiers), d.pick(3, 999), d.at(4)>>8, "")
	}
	return template.HTML(b.String()) //nolint:gosec // our own text
}

var identifiers = []string{
	"account", "banner", "coupon", "dealer", "events", "filter", "gallery", "header", "insight", "journal", "keyword", "layout", "mybook",
	"notes", "offers", "photos", "quotes", "review", "search", "travel", "upload", "vendor", "widget", "yellow", "zipcode",
}
