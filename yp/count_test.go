package yp_test

import (
	"strings"
	"testing"

	"ypcrawl/yp"
)

// TestShare: what is not all is never shown as all.
func TestShare(t *testing.T) {
	for share, want := range map[float64]string{0: "0.0%", 32: "32.0%", 58: "58.0%", 99.96: "99.9%", 66.66667: "66.7%", 100: "100.0%", 2.7745: "2.8%", 31.25: "31.3%"} {
		if got := yp.Share(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"one two":                "one two",
		"one two three":          "one two|  three",
		"one two three four":     "one two|  three|  four",
		"unbreakable-word two":   "unbreakable-word|  two",
		"größe größe größe":      "größe|  größe|  größe",
		"  spaces   between  it": "spaces|  between|  it",
	} {
		if got := strings.Join(yp.Wrap(text, 9, "  "), "|"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
