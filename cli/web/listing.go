package web

import (
	"net/url"
	"strings"

	"ypcrawl/yp"
)

// listingPath is the path of a listing's page, below the root: "/listings/demo/400110158". Any text is an id. One that clients and
// proxies change on their way goes behind the question mark, "/listings/demo?id=123%2Facme": they remove dots, however they are
// written, and many turn %2F into a slash.
func listingPath(source, id string) string {
	path := "/listings/" + url.PathEscape(source)
	if strings.Trim(id, ".") == "" || strings.ContainsAny(id, `/\`) || yp.Printable(id) != id {
		return path + "?" + url.Values{"id": {id}}.Encode()
	}
	return path + "/" + url.PathEscape(id)
}

// companyPath is the path of a company's page.
func companyPath(id string) string { return "/companies/" + url.PathEscape(id) }
