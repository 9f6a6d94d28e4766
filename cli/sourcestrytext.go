package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ypcrawl/crawl/site"
)

// text tells what was read: the outcome and what is wrong first, then the page, a card in full, and the others.
func (row *triedPage) text(w *sections) {
	w.lines(codeText(string(row.Outcome), false) + ": " + row.Reason)
	row.hintLines(w)
	w.table(row.values("page", row.Around))
	w.table(row.values("field", row.Detail))
	if len(row.Cards) == 0 && len(row.Detail) == 0 {
		var signs []string
		for i := range row.Signs {
			signs = append(signs, "  "+row.rule(&row.Signs[i]))
		}
		w.lines("The page has these signs of the definition:")
		if w.more(signs...); len(signs) == 0 {
			w.more("  none: list under chrome what each page of the site has")
		}
	}
	first := max(0, slices.IndexFunc(row.Cards, func(c triedCard) bool { return c.Unread == "" && !c.Listing.Sponsored }))
	others := newTable("card", "id", "name", "phone", "city", "fields", "score", "").without("fields", "score")
	for i := range row.Cards {
		c := &row.Cards[i]
		if row.full || i == first {
			row.cardText(w, c)
			continue
		}
		others.row(c.Number, c.ID, c.Name, c.Listing.Phone, c.Listing.City, len(c.Values), c.Score, c.fate())
	}
	w.table(others)
}

// values is a table of values with what gave them.
func (row *triedPage) values(of string, values []site.Value) *table {
	t := newTable(of, "value", "rule")
	for _, v := range values {
		t.row(row.cells(v)...)
	}
	return t
}

// cardText shows a card in full.
func (row *triedPage) cardText(w *sections, c *triedCard) {
	head := fmt.Sprintf("Card %d of %d, score %d", c.Number, len(row.Cards), c.Score)
	if c.Rule != nil {
		head += ": " + row.rule(c.Rule)
	}
	w.lines(head)
	if fate := c.fate(); fate != "" {
		w.more("  " + fate)
	}
	w.begun = false // the table stands below its head
	w.table(row.values("field", c.Values))
	if len(c.Empty) > 0 && !slices.Equal(c.Empty, row.Never) {
		w.more("empty: " + strings.Join(c.Empty, ", "))
	}
}

// fate tells why a card is no listing, or is not kept, or is an ad.
func (c *triedCard) fate() string {
	switch {
	case c.Unread != "":
		return "unread: " + c.Unread
	case c.LeftOut != "":
		return "left out: " + c.LeftOut
	case len(c.Reasons) > 0:
		return "rejected: " + strings.Join(c.Reasons, "; ")
	case c.Listing.Sponsored:
		return "ad"
	}
	return ""
}

// hintLines names what no card has, and what its rules lack.
func (row *triedPage) hintLines(w *sections) {
	if len(row.Never) > 0 {
		w.lines("On no card: " + strings.Join(row.Never, ", "))
	} else if len(row.Hints) > 0 {
		w.lines("What the rules find:")
	}
	for i, h := range row.Hints {
		if i > 0 && siblings(row.Hints[i-1].Key, h.Key) && !row.full && !strings.Contains(h.Text, "did you mean") && !strings.Contains(h.Text, ";") {
			continue // the first rule of a field tells most
		}
		w.item("  ", row.rule(&h.Rule)+": "+h.Text)
	}
}

// siblings reports whether two rules are of one field.
func siblings(a, b string) bool {
	a, _, _ = strings.Cut(a, "[")
	b, _, _ = strings.Cut(b, "[")
	return a == b
}

// cells are the cells of a value: what it is of, the value, and what gave it.
func (row *triedPage) cells(v site.Value) []any {
	value := v.Text
	if value == "" {
		value = "rejected: " + v.Taken
	}
	rule := v.From
	if v.Rule != nil {
		rule = row.rule(v.Rule)
	}
	return []any{v.Field, value, rule}
}

// rule names a rule: its key, the line on which it stands, and what it says.
func (row *triedPage) rule(r *site.Rule) string {
	file := ""
	if r.File != row.own {
		file = " " + filepath.Base(r.File)
	}
	return fmt.Sprintf("%s%s:%d %s", r.Key, file, r.Line, r.Text)
}
