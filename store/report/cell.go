package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/yp"
)

// How the values of a list are written follows from the name of their column: a name means one thing everywhere. What the schema
// says of them is in columns.go, the unit in the end of the name.

// Columns that no table or view has: a list that exports make, whether a search kept a listing, as ad or by a filter, the fields of
// a listing that are of one page, and the number of its company.
const (
	changedFields = "changed_fields"
	kept          = "kept"
	fieldNames    = "fields"
	companyNumber = "company"
)

// isSwitch reports whether the numbers of a column are 0 or 1 for no or yes.
func isSwitch(column string) bool { return column == kept || slices.Contains(switches, column) }

// isName reports whether the numbers of a column name something, and count nothing.
func isName(column string) bool { return column == companyNumber || slices.Contains(names, column) }

// isList reports whether the texts of a column are JSON arrays.
func isList(column string) bool {
	return column == changedFields || column == fieldNames || slices.Contains(lists, column)
}

// Meaning is what a column of ListingColumns means.
func Meaning(column string) string {
	switch column {
	case "change":
		return "what became of the listing: new, changed, dropped, restored or left; empty = nothing"
	case changedFields:
		return "which of its fields changed"
	}
	for _, m := range meanings {
		if m[0] == column {
			return m[1]
		}
	}
	return ""
}

// IsTime reports whether a column holds times.
func IsTime(column string) bool {
	return column == "at" || column == "until" || column == "last_seen" || strings.HasSuffix(column, "_at") ||
		strings.HasSuffix(column, "_until")
}

// IsWhole reports whether a value must not be broken into lines: a phone, a code, a time, or how long something took.
func IsWhole(column string) bool {
	return IsTime(column) || slices.Contains([]string{"phone", "phone_e164", "postal_code", "status", "state", "took_seconds"}, column) ||
		strings.HasSuffix(column, "_ms") || strings.HasSuffix(column, "_seconds")
}

// IsNumber reports whether a value is aligned to the right.
func IsNumber(column string, v any) bool {
	switch v.(type) {
	case int64:
		return !isName(column) && !isSwitch(column)
	case float64:
		return true
	}
	return false
}

// JSONOf is a value as JSON has it: a switch is true or false, a list a list; JSON has no infinity.
func JSONOf(column string, v any) any {
	switch x := v.(type) {
	case int64:
		if isSwitch(column) {
			return x != 0
		}
	case float64:
		if math.IsInf(x, 0) {
			return nil
		}
	case string:
		if isList(column) && strings.HasPrefix(x, "[") {
			return rawJSON(x)
		}
	}
	return v
}

type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// Plain is a text as it is in a cell: of a list of texts "A; B". Hours of a business that is always closed are "closed",
// so that they differ from those that nobody knows.
func Plain(column, text string) string {
	if column == "hours" && text == "[]" {
		return "closed"
	}
	if strings.HasPrefix(text, "[") && isList(column) {
		if items, ok := Texts(text); ok {
			return strings.Join(items, "; ")
		}
	}
	return text
}

// Texts reads a list of texts.
func Texts(text string) (items []string, ok bool) {
	plain := strings.ReplaceAll(text, `\u0026`, "&")                                      // nearly the only escape there is
	if plain, ok := strings.CutPrefix(plain, `["`); ok && !strings.Contains(plain, `\`) { // most are, and this takes a tenth of the time
		return strings.Split(strings.TrimSuffix(plain, `"]`), `","`), true
	}
	return items, json.Unmarshal([]byte(text), &items) == nil
}

// Cell is a value as people read it; what is not known is "–".
func Cell(now time.Time, column string, v any) string {
	switch x := v.(type) {
	case nil:
		return "–"
	case int64:
		switch {
		case isSwitch(column):
			return map[bool]string{true: "yes", false: "no"}[x != 0]
		case isName(column):
			return strconv.FormatInt(x, 10)
		case strings.HasSuffix(column, "_ms"):
			return yp.Millis(x)
		case strings.HasSuffix(column, "_bytes"):
			return fmt.Sprintf("%d MB", (x+500_000)/1_000_000)
		case strings.HasSuffix(column, "_seconds"):
			return yp.Lasting(time.Duration(x) * time.Second)
		}
		return yp.Thousands(x)
	case float64:
		switch {
		case strings.HasSuffix(column, "_seconds"):
			return yp.Millis(int64(1000 * x))
		case strings.HasSuffix(column, "percent"):
			return yp.Share(x)
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	case string:
		if at, err := yp.ParseTime(x); err == nil && IsTime(column) {
			if at.After(now) {
				return "in " + yp.Lasting(at.Sub(now))
			}
			return yp.Ago(now, at)
		}
		if column == "message" {
			x = Cause(x)
		}
		x = Plain(column, x)
		return yp.Printable(x)
	case []byte:
		return fmt.Sprintf("%X", x)
	case Next:
		return yp.Printable(x.Text(now))
	}
	return yp.Printable(fmt.Sprint(v))
}

// units are the ends of names that Cell has turned into text.
var units = strings.NewReplacer("_", " ")

// Title is a column's name as the head of a table has it.
func Title(column string) string {
	for _, unit := range []string{"_at", "_ms", "_seconds", "_bytes", "_percent"} {
		if head, ok := strings.CutSuffix(column, unit); ok {
			column = head
		}
	}
	return yp.Printable(units.Replace(column))
}
