package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ypcrawl/store/report"
)

// TestArrays walks over all views of a database with something in it: a JSON array is written as one, whatever its column.
// Which columns the schema calls lists, switches or numbers without thousands, e2e's TestColumnKinds holds to schema.sql.
func TestArrays(t *testing.T) {
	t.Parallel()
	k := town(t)
	found := 0
	for _, view := range table(t, k.db, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name") {
		got := arrays{t: t, view: view}
		noErr(t, k.Query(t.Context(), "SELECT * FROM "+view+" LIMIT 100", &got))
		found += got.found
	}
	if found == 0 {
		t.Error("no view has a list")
	}
}

// arrays looks for JSON arrays in the rows of a view.
type arrays struct {
	t       *testing.T
	view    string
	columns []string
	found   int
}

func (a *arrays) Head(columns []string) error {
	a.columns = columns
	return nil
}

func (a *arrays) Row(values []any) error {
	for i, v := range values {
		if n, number := v.(int64); number && n != 0 && n != 1 {
			if _, yesOrNo := report.JSONOf(a.columns[i], v).(bool); yesOrNo {
				a.t.Errorf("%s.%s is %d, and is written as yes or no", a.view, a.columns[i], n)
			}
		}
		if text, ok := v.(string); ok && strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
			a.found++
			if _, plain := report.JSONOf(a.columns[i], v).(string); plain {
				a.t.Errorf("%s.%s holds a list, and no comment or CHECK of schema.sql says so", a.view, a.columns[i])
			}
		}
	}
	return nil
}

// TestWritten is how values of some columns are written, by what the schema says of these columns.
func TestWritten(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		column string
		value  any
		cell   string
		json   any
		right  bool
	}{
		{"listings", int64(1234), "1,234", int64(1234), true},
		{"founded", int64(1987), "1987", int64(1987), false},
		{"run_id", int64(1234), "1234", int64(1234), false},
		{"city_id", int64(1234), "1234", int64(1234), false},
		{"company", int64(1234), "1234", int64(1234), false},
		{"page", int64(1234), "1,234", int64(1234), true},
		{"attempt", int64(1234), "1,234", int64(1234), true},
		{"others", int64(1), "yes", true, false},
		{"claimed", int64(0), "no", false, false},
		{"kept", int64(1), "yes", true, false},
		{"paused", int64(3), "3", int64(3), true},
		{"organic", `["1","2"]`, "1; 2", nil, false},
		{"name", `["1","2"]`, `["1","2"]`, `["1","2"]`, false},
		{"changed_fields", `["phone"]`, "phone", nil, false},
	} {
		if got := report.Cell(noon(0), x.column, x.value); got != x.cell {
			t.Errorf("Cell %s %v: %q, want %q", x.column, x.value, got, x.cell)
		}
		if got := report.IsNumber(x.column, x.value); got != x.right {
			t.Errorf("IsNumber %s: %v, want %v", x.column, got, x.right)
		}
		if got := report.JSONOf(x.column, x.value); x.json != nil && got != x.json {
			t.Errorf("JSONOf %s %v: %v, want %v", x.column, x.value, got, x.json)
		}
	}
}
