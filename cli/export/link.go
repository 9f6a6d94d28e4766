package export

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"ypcrawl/yp"
)

// maxFormulaText is how many UTF-16 units Excel takes in a text of a formula.
const maxFormulaText = 255

// linkColumns are those whose cells are links.
var linkColumns = []string{"website", "profile_url", "email"}

// hyperlink is the formula that makes a cell a link: HYPERLINK with the address, and with the text of the cell where that is another one. Nothing
// else writes a formula. It is "" for what stays text: an address that is none of http, https or a mail address, that is longer than Excel
// takes, or that has anything that a spreadsheet or its XML reads as something else.
func hyperlink(column, text string) string {
	if !slices.Contains(linkColumns, column) {
		return ""
	}
	target := text
	if column == "email" {
		target = "mailto:" + url.PathEscape(text) // a ? in an address would begin headers of the mail, such as bcc
	}
	quoted := strings.ReplaceAll(target, `"`, `""`)
	if !linkable(column, text) || len(utf16.Encode([]rune(quoted))) > maxFormulaText {
		return ""
	}
	if target == text {
		return `HYPERLINK("` + quoted + `")`
	}
	return `HYPERLINK("` + quoted + `","` + strings.ReplaceAll(text, `"`, `""`) + `")`
}

// linkable reports whether an address may be opened by a click.
func linkable(column, text string) bool {
	if yp.Printable(text) != text || hasEscape(text) || strings.ContainsRune(text, mark) { // the archive would make an underscore of it
		return false
	}
	if column == "email" {
		address, ok := yp.CanonicalEmail(text)
		return ok && address == text
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
