package site

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// FuzzAttrText compares what is made of an attribute's value with what the
// tokenizer makes of it.
func FuzzAttrText(f *testing.F) {
	for _, s := range []string{
		"", "a", "&amp;", "&", "&&", "a&", "&a", "&amp", "&amp=", "&lt;&gt;&quot;", "?a=1&b=2&copy=3&lt", "&copy", "&copy;", "&notit;", "&#38;",
		"&#x26", "&#", "&#x", "&;", "& amp;", "\r\n&\r", "{&quot;a&quot;:1}", "&nbsp;", "&Aacute", "&ampamp;", "&a;&b;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\"\x00") {
			return
		}
		z := html.NewTokenizer(strings.NewReader(`<a b="` + s + `">`))
		z.Next()
		z.TagName()
		_, want, _ := z.TagAttr()
		if got := attrText(s); got != string(want) {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}
