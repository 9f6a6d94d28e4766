package demo

import (
	"fmt"
	"strings"
)

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
