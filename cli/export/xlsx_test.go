package export_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store/storetest"
)

// open opens a book.
func open(t testing.TB, data []byte) *excelize.File {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipXMLSizeLimit: 1 << 30})
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = book.Close() })
	return book
}

// A time is a number with the format of a time, an id, a phone number and a postal code are texts, and other numbers are numbers.
func TestXLSXTypes(t *testing.T) {
	book := open(t, write(t, export.XLSX, export.Options{
		Columns: []string{"last_seen_at", "company_id", "phone", "postal_code", "rating", "review_count", "dropped_at", "hours"},
	}, []any{"2026-11-28T09:28:49.488Z", int64(7), "2015550123", "02134", 4.5, int64(12), "soon", "[]"}))
	for cell, want := range map[string]struct {
		kind       excelize.CellType
		raw, shown string
	}{
		"A2": {excelize.CellTypeUnset, "46354.39501722", "2026-11-28 09:28:49"},
		"B2": {excelize.CellTypeInlineString, "7", "7"},
		"C2": {excelize.CellTypeInlineString, "2015550123", "2015550123"},
		"D2": {excelize.CellTypeInlineString, "02134", "02134"},
		"E2": {excelize.CellTypeUnset, "4.5", "4.5"},
		"F2": {excelize.CellTypeUnset, "12", "12"},
		"G2": {excelize.CellTypeInlineString, "soon", "soon"},
		"H2": {excelize.CellTypeInlineString, "closed", "closed"},
	} {
		kind, err := book.GetCellType("Listings", cell)
		storetest.NoError(t, err)
		shown, err := book.GetCellValue("Listings", cell)
		storetest.NoError(t, err)
		raw, err := book.GetCellValue("Listings", cell, excelize.Options{RawCellValue: true})
		storetest.NoError(t, err)
		if kind != want.kind || !strings.HasPrefix(raw, want.raw) || shown != want.shown {
			t.Errorf("%s is of type %v, %q, shown as %q; want %v", cell, kind, raw, shown, want)
		}
	}
	id, err := book.GetCellStyle("Listings", "H2")
	storetest.NoError(t, err)
	if style, err := book.GetStyle(id); err != nil || style.Alignment == nil || !style.Alignment.WrapText {
		t.Errorf("hours are not wrapped: %v, %v", style, err)
	}
}

// A time that spreadsheets number in different ways, or not at all, is a text.
func TestXLSXTimes(t *testing.T) {
	for text, want := range map[string]excelize.CellType{
		"0001-01-01T00:00:00.000Z": excelize.CellTypeInlineString, "1899-12-31T00:00:00.000Z": excelize.CellTypeInlineString,
		"1900-02-28T23:59:59.999Z": excelize.CellTypeInlineString, "2026-02-30T00:00:00.000Z": excelize.CellTypeInlineString,
		"1900-03-01T00:00:00.000Z": excelize.CellTypeUnset, "1970-01-01T00:00:00.000Z": excelize.CellTypeUnset,
		"9999-12-31T23:59:59.999Z": excelize.CellTypeUnset,
	} {
		book := open(t, write(t, export.XLSX, export.Options{Columns: []string{"last_seen_at"}}, []any{text}))
		kind, err := book.GetCellType("Listings", "A2")
		shown, wrong := book.GetCellValue("Listings", "A2")
		if err != nil || wrong != nil || kind != want || kind == excelize.CellTypeInlineString && shown != text {
			t.Errorf("%s is of type %v, shown as %q", text, kind, shown)
		}
	}
}

// A sheet is a table with a filter, its header stays in view, and columns are as wide as the first thousand rows and their names want, within bounds.
func TestXLSXTable(t *testing.T) {
	given := [][]any{{"four", strings.Repeat("é", 30), strings.Repeat("x", 300), nil}}
	for len(given) < 1200 { // more than are looked at
		given = append(given, []any{"x", "y", "z", nil})
	}
	given[1100][0] = strings.Repeat("late", 10)
	book := open(t, write(t, export.XLSX, export.Options{Columns: []string{"city", "name", "about", "changed_fields"}}, given...))
	for column, want := range map[string]float64{"A": 8, "B": 31, "C": 60, "D": 18} {
		if width, err := book.GetColWidth("Listings", column); err != nil || width != want {
			t.Errorf("column %s is %v wide, want %v, %v", column, width, want, err)
		}
	}
	panes, err := book.GetPanes("Listings")
	if err != nil || !panes.Freeze || panes.YSplit != 1 || panes.XSplit != 0 {
		t.Errorf("panes %+v, %v", panes, err)
	}
	tables, err := book.GetTables("Listings")
	if err != nil || len(tables) != 1 || tables[0].Range != "A1:D1201" || tables[0].Name != "Listings" {
		t.Errorf("tables %+v, %v", tables, err)
	}
	if rows, err := book.GetRows("Listings"); err != nil || len(rows) != 1201 || rows[1101][0] != given[1100][0] {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	empty := open(t, write(t, export.XLSX, export.Options{Columns: columns}, [][]any{}...))
	if tables, err := empty.GetTables("Listings"); err != nil || len(tables) != 1 {
		t.Errorf("without a row: tables %+v, %v", tables, err)
	}
}

// What comes before the rows: columns in their order, and no size of the sheet, for that is not known yet.
func TestXLSXHead(t *testing.T) {
	data := write(t, export.XLSX, export.Options{Columns: columns, About: func() export.About { return export.About{} }})
	book, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	storetest.NoError(t, err)
	for _, name := range []string{"xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"} {
		sheet, err := fs.ReadFile(book, name)
		storetest.NoError(t, err)
		var order []string
		for _, col := range regexp.MustCompile(`<col min="(\d+)"`).FindAllSubmatch(sheet, -1) {
			order = append(order, fmt.Sprintf("%3s", col[1]))
		}
		if len(order) < 2 || !slices.IsSorted(order) {
			t.Errorf("columns of %s in the order %q", name, order)
		}
		if bytes.Contains(sheet, []byte("<dimension")) {
			t.Errorf("%s has a size", name)
		}
	}
}

// Websites, profiles and mail addresses are links; what is none, or could be read as more, is text.
func TestXLSXLinks(t *testing.T) {
	long := "https://a.example/" + strings.Repeat("x", 237)
	for _, tt := range []struct{ column, text, formula string }{
		{"website", "https://acme.example/?a=1&b=2", `HYPERLINK("https://acme.example/?a=1&b=2")`},
		{"profile_url", "http://yp.example/mip/1", `HYPERLINK("http://yp.example/mip/1")`},
		{"email", "info@acme.example", `HYPERLINK("mailto:info@acme.example","info@acme.example")`},
		{"email", "a?bcc=x%40y.example@b.example", `HYPERLINK("mailto:a%3Fbcc=x%2540y.example@b.example","a?bcc=x%40y.example@b.example")`},
		{"website", `https://acme.example/"),WEBSERVICE("x`, `HYPERLINK("https://acme.example/""),WEBSERVICE(""x")`},
		{"website", long, `HYPERLINK("` + long + `")`},
		{"website", long + "x", ""},
		{"website", "https://acme.example/_x0041_", ""},
		{"website", "https://acme.example/\ufdd0x0022\ufdd0,1", ""},
		{"website", "https://acme.example/\x01", ""},
		{"website", "javascript:alert(1)", ""},
		{"website", "ftp://acme.example/", ""},
		{"website", "file:///etc/passwd", ""},
		{"website", "//acme.example", ""},
		{"website", "=1+1", ""},
		{"email", "a@acme.example?subject=x", ""},
		{"email", "info", ""},
		{"name", "https://acme.example/", ""},
	} {
		book := open(t, write(t, export.XLSX, export.Options{Columns: []string{tt.column}}, []any{tt.text}))
		formula, err := book.GetCellFormula("Listings", "A2")
		if err != nil || formula != tt.formula {
			t.Errorf("%s %q is the formula %q, want %q, %v", tt.column, tt.text, formula, tt.formula, err)
		}
		if shown, err := book.GetCellValue("Listings", "A2"); err != nil || shown != strings.NewReplacer("\x01", `\x01`, "\ufdd0", "\ufffd").Replace(tt.text) {
			t.Errorf("%s %q is shown as %q, %v", tt.column, tt.text, shown, err)
		}
	}
}

// A text that no cell holds is cut, never within a character, and told.
func TestXLSXCut(t *testing.T) {
	long := strings.Repeat("a", 32_766)
	for _, tt := range []struct {
		text string
		left int // bytes of it
	}{
		{long + "b", 32_767},
		{long + "bc", 32_767},
		{long + "é", 32_768},
		{long + "🍕", 32_766},                // has two units
		{"_x0041_" + long[:32_754], 32_761}, // has six more in the file
		{"_x0041_" + long[:32_755], 32_761},
		{strings.Repeat("_x0041_", 6000), 2520*7 + 1},
	} {
		told := 0
		data := write(t, export.XLSX, export.Options{Columns: []string{"about"}, Cut: func() { told++ }}, []any{tt.text})
		if got := sheetText(t, data); got != tt.text[:tt.left] {
			t.Errorf("%d bytes are shown as %d, ending in %q, want %d", len(tt.text), len(got), got[len(got)-3:], tt.left)
		}
		if (told == 1) != (tt.left < len(tt.text)) {
			t.Errorf("a cut to %d of %d bytes was told %d times", tt.left, len(tt.text), told)
		}
	}
}

// The last sheet says what the file has.
func TestXLSXAbout(t *testing.T) {
	book := open(t, write(t, export.XLSX, export.Options{
		Columns: []string{"change", "dropped_at", "hours"},
		About: func() export.About {
			return export.About{
				At:    time.Date(2026, 11, 28, 9, 28, 49, 0, time.UTC),
				Facts: []export.Fact{{Name: "Selected", Text: "--search =1+1\x1b"}},
			}
		},
	}, []any{"new", nil, nil}))
	if diff := cmp.Diff([]string{"Listings", "About"}, book.GetSheetList()); diff != "" {
		t.Error(diff)
	}
	rows, err := book.GetRows("About")
	storetest.NoError(t, err)
	if len(rows) != 6 || fmt.Sprint(rows[0]) != `[Selected --search =1+1\x1b]` || rows[3][0] != "change" || len(rows[4]) != 2 || !strings.HasSuffix(rows[5][1], `"closed" = always closed`) {
		t.Errorf("it says %q", rows)
	}
	if props, err := book.GetDocProps(); err != nil || props.Creator != "ypcrawl" || props.Created != "2026-11-28T09:28:49Z" {
		t.Errorf("properties %+v, %v", props, err)
	}
}

// TestTempDir: a folder for temporary files goes with its part, when the file gets its name, and after a kill; that of an export
// which lives is left alone, and so is what others made.
func TestTempDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed := filepath.Join(dir, ".week-1.xlsx.ypcrawl-AAAAAAAA.part")
	storetest.NoError(t, os.WriteFile(killed, nil, 0o600))
	for _, folder := range []string{killed + ".tmp", filepath.Join(dir, ".a.xlsx.ypcrawl-BBBBBBBB.part.tmp"), filepath.Join(dir, "other.tmp"), filepath.Join(dir, ".x.part.tmp")} {
		storetest.NoError(t, os.Mkdir(folder, 0o700))
		storetest.NoError(t, os.WriteFile(filepath.Join(folder, "excelize-1"), []byte("rows"), 0o600))
	}
	storetest.NoError(t, os.Symlink("other.tmp", filepath.Join(dir, ".b.xlsx.ypcrawl-CCCCCCCC.part.tmp")))
	living, err := export.Create(filepath.Join(dir, "week-2.xlsx"), false)
	storetest.NoError(t, err)
	temp, err := living.TempDir()
	storetest.NoError(t, err)
	storetest.NoError(t, os.WriteFile(filepath.Join(temp, "excelize-2"), nil, 0o600))
	other, err := export.Create(filepath.Join(dir, "week-3.xlsx"), false)
	storetest.NoError(t, err)
	_, err = other.TempDir()
	storetest.NoError(t, err)
	if _, err := os.Stat(filepath.Join(temp, "excelize-2")); err != nil {
		t.Errorf("another export took the files of one that lives: %v", err)
	}
	other.Abort()
	if _, err := living.Publish(); err != nil {
		t.Fatal(err)
	}
	want := []string{".b.xlsx.ypcrawl-CCCCCCCC.part.tmp", ".x.part.tmp", "other.tmp", "week-2.xlsx"}
	if diff := cmp.Diff(want, namesIn(t, dir)); diff != "" {
		t.Error(diff)
	}
	if left := namesIn(t, filepath.Join(dir, "other.tmp")); len(left) != 1 {
		t.Errorf("a link led out: %q", left)
	}
}
