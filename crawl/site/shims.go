package site

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
)

// The names under which the readers of structured data know what region holds.

type pageEnd = region.End

const endOpen = region.EndOpen

func parseTree(body []byte) (*html.Node, region.End, error) { return region.Parse(body) }

func attrOf(n *html.Node, key string) string { return region.Attr(n, key) }

func hasClass(attr, class string) bool { return region.HasClass(attr, class) }

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func isJSONLD(typ string) bool {
	return strings.EqualFold(strings.TrimSpace(typ), "application/ld+json")
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || !letter(byte(r)) && !digit(byte(r)) && r != '-' && r != '_' })
}
