package site

import (
	"fmt"
	"strings"
	"testing"
)

const structuredDir = pagesDir + "/structured"

// prairieDef is a source without selectors.
const prairieDef = `name: prairie
base_url: https://dir.example.com
structured: true
urls:
  target: /{city_slug}/{category_slug}?page={page}
chrome:
  selectors: ["#pd-header"]
empty:
  texts: [no results found]
`

func prairie(t testing.TB) *Source {
	t.Helper()
	s, err := Parse("prairie.yaml", []byte(prairieDef))
	noError(t, err)
	return s
}

// listPage writes a page with n businesses in JSON-LD: of those the first
// phones have a phone number.
func listPage(n, phones int, more string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><title>Plumbers | Prairie Directory</title><script type="application/ld+json">[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"@type":"Plumber","name":"Business %[1]d","url":"/biz/business-%[1]d-%[2]d"`, i, 400000+i)
		if i < phones {
			fmt.Fprintf(&b, `,"telephone":"(217) 555-%04d"`, 100+i)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]</script></head><body><header id="pd-header"></header><main id="content">` + more + `</main></body></html>`)
	return b.String()
}

const prairieList = "https://dir.example.com/springfield-il/plumbers"
