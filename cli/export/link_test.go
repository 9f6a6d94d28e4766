package export

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"ypcrawl/yp"
)

// FuzzHyperlink: whatever an address is, its cell is a text, or the formula HYPERLINK of texts alone, of which the first is an address of http,
// https or mailto.
func FuzzHyperlink(f *testing.F) {
	for _, text := range []string{"https://a.example/", `http://a.example/"&CMD|x!A1&"`, "a@b.example", "a?bcc=x%40y.example@b.example", `"a"@b.example`, "javascript:x", "https://a/\u202e_x0022_", "https://a/\ufdd0x0022\ufdd0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, column := range []string{"website", "email", "name"} {
			formula := hyperlink(column, text)
			if formula == "" {
				continue
			}
			texts, ok := textsOf(formula)
			if !ok || len(texts) > 2 || texts[len(texts)-1] != text {
				t.Fatalf("%q is the formula %s", text, formula)
			}
			scheme, _, _ := strings.Cut(strings.ToLower(texts[0]), ":")
			if want := map[string][]string{"website": {"http", "https"}, "email": {"mailto"}}[column]; !slices.Contains(want, scheme) {
				t.Errorf("the %s %q leads to %q", column, text, texts[0])
			}
			if column == "email" && strings.ContainsAny(texts[0], "?#") {
				t.Errorf("the mail to %q has headers: %s", text, texts[0])
			}
			if yp.Printable(text) != text || hasEscape(strings.ReplaceAll(text, string(mark), "_")) || len(utf16.Encode([]rune(texts[0]))) > maxFormulaText {
				t.Errorf("%q is a link", text)
			}
		}
	})
}

// textsOf reads HYPERLINK("…","…") by the rules of formulas: a text ends at a quote that no other follows.
func textsOf(formula string) (texts []string, ok bool) {
	rest, ok := strings.CutPrefix(formula, "HYPERLINK(")
	for ok {
		if rest, ok = strings.CutPrefix(rest, `"`); !ok {
			break
		}
		text := ""
		for {
			part, after, found := strings.Cut(rest, `"`)
			if !found {
				return nil, false
			}
			text, rest = text+part, after
			if rest, found = strings.CutPrefix(rest, `"`); !found {
				break
			}
			text += `"`
		}
		if texts = append(texts, text); rest == ")" {
			return texts, true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return nil, false
}
