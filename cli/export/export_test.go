package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// columns are of every kind, with the two that GeoJSON needs.
var columns = []string{"name", "categories", "review_count", "rating", "lat", "lon"}

// rows holds what the web may bring: formulas, control characters, quotes, absent values.
func rows() [][]any {
	return [][]any{
		{"Acme & Sons", `["Plumbers","Heating & Air"]`, int64(12), 4.5, 30.26715, -97.74306},
		{"=cmd|' /C calc'!A0", `["=1+1"]`, int64(0), nil, nil, nil},
		{"+1 \"quoted\", <b>", nil, nil, 5.0, nil, nil},
		{"a\x1b[31mred\u202e\nline", `[]`, int64(-3), 0.5, -0.5, 0.0},
		{"Café 漢字 🍕", `["Ünï"]`, nil, nil, nil, nil},
	}
}

// write writes rows, or those that are given.
func write(t testing.TB, f export.Format, opts export.Options, given ...[]any) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := export.New(&buf, f, opts)
	storetest.NoError(t, err)
	if given == nil {
		given = rows()
	}
	for _, row := range given {
		storetest.NoError(t, w.Write(row))
	}
	storetest.NoError(t, w.Close())
	return buf.Bytes()
}

var plainTable = [][]string{
	{"name", "categories", "review_count", "rating", "lat", "lon"},
	{"Acme & Sons", "Plumbers; Heating & Air", "12", "4.5", "30.26715", "-97.74306"},
	{"=cmd|' /C calc'!A0", "=1+1", "0", "", "", ""},
	{`+1 "quoted", <b>`, "", "", "5", "", ""},
	{`a\x1b[31mred\u202e\nline`, "", "-3", "0.5", "-0.5", "0"},
	{"Café 漢字 🍕", "Ünï", "", "", "", ""},
}

// TestFormats: each has a writer.
func TestFormats(t *testing.T) {
	for _, f := range export.Formats() {
		if len(write(t, f, export.Options{Columns: plainTable[0]})) == 0 {
			t.Errorf("%s: nothing was written", f)
		}
	}
}

func TestCSV(t *testing.T) {
	for _, f := range []export.Format{export.CSV, export.TSV} {
		t.Run(string(f), func(t *testing.T) {
			read := func(data []byte) [][]string {
				r := csv.NewReader(bytes.NewReader(data))
				if f == export.TSV {
					r.Comma = '\t'
				}
				all, err := r.ReadAll()
				storetest.NoError(t, err)
				return all
			}
			safe := make([][]string, len(plainTable))
			for i, row := range plainTable {
				safe[i] = slices.Clone(row)
			}
			safe[2][0], safe[2][1], safe[3][0] = "'"+safe[2][0], "'"+safe[2][1], "'"+safe[3][0]
			if diff := cmp.Diff(safe, read(write(t, f, export.Options{Columns: columns}))); diff != "" {
				t.Error(diff)
			}
			raw := write(t, f, export.Options{Columns: columns, Raw: true, BOM: true})
			raw, ok := bytes.CutPrefix(raw, []byte("\ufeff"))
			if !ok {
				t.Error("no byte order mark")
			}
			if diff := cmp.Diff(plainTable, read(raw)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCSVEmptyCell: a reader passes over an empty line; an only cell that is empty is a row all the same.
func TestCSVEmptyCell(t *testing.T) {
	data := write(t, export.CSV, export.Options{Columns: columns[:1]}, []any{nil}, []any{"a"}, []any{""})
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if diff := cmp.Diff([][]string{columns[:1], {""}, {"a"}, {""}}, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestXLSX(t *testing.T) {
	book, err := excelize.OpenReader(bytes.NewReader(write(t, export.XLSX, export.Options{Columns: columns})))
	storetest.NoError(t, err)
	defer func() { _ = book.Close() }()
	got, err := book.GetRows("Listings")
	storetest.NoError(t, err)
	for i := range got { // the library leaves empty cells at the end out
		for len(got[i]) < len(plainTable[0]) {
			got[i] = append(got[i], "")
		}
	}
	if diff := cmp.Diff(plainTable, got); diff != "" {
		t.Error(diff)
	}
	if kind, err := book.GetCellType("Listings", "C2"); err != nil || kind == excelize.CellTypeInlineString {
		t.Errorf("a number is of type %v, %v", kind, err)
	}
	for _, cell := range []string{"A3", "B3", "A4"} {
		if formula, err := book.GetCellFormula("Listings", cell); formula != "" || err != nil {
			t.Errorf("%s is the formula %q, %v", cell, formula, err)
		}
	}
}

// sheetText is the first cell below the header of a book, as a spreadsheet shows it.
func sheetText(t *testing.T, data []byte) string {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(data))
	storetest.NoError(t, err)
	defer func() { _ = book.Close() }()
	text, err := book.GetCellValue("Listings", "A2")
	storetest.NoError(t, err)
	return text
}

// A text that looks like Excel's escape of a character is shown as it is.
func TestXLSXEscapes(t *testing.T) {
	for _, tt := range []struct{ text, stored string }{
		{"Unit_x0041_ Plumbing", "Unit_x005F_x0041_ Plumbing"},
		{"_x000D_ Spa", "_x005F_x000D_ Spa"},
		{"_x000d_", "_x005F_x000d_"},
		{"_x005F_", "_x005F_x005F_"},
		{"_x005F_x0041_", "_x005F_x005F_x005F_x0041_"},
		{"_x0041_x0042_", "_x005F_x0041_x005F_x0042_"},
		{"__x0041__", "__x005F_x0041__"},
		{"_x_x0041_", "_x_x005F_x0041_"},
		{"_xD83D__xDE00_", "_x005F_xD83D__x005F_xDE00_"},
		{"_x0041", "_x0041"},
		{"_x004_", "_x004_"},
		{"_x00G1_", "_x00G1_"},
		{"_x00é_", "_x00é_"},
		{"_X0041_", "_X0041_"},
		{"x0041_", "x0041_"},
		{"_x", "_x"},
	} {
		data := write(t, export.XLSX, export.Options{Columns: columns[:1]}, []any{tt.text})
		if got := sheetText(t, data); got != tt.text {
			t.Errorf("%q is shown as %q", tt.text, got)
		}
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		storetest.NoError(t, err)
		sheet, err := fs.ReadFile(archive, "xl/worksheets/sheet1.xml")
		storetest.NoError(t, err)
		if !strings.Contains(string(sheet), ">"+tt.stored+"<") {
			t.Errorf("%q is not stored as %q: %s", tt.text, tt.stored, sheet)
		}
	}
}

// A sheet of Excel has an end: what is more goes on the next one.
func TestXLSXManySheets(t *testing.T) {
	if testing.Short() {
		t.Log("a short run writes one sheet only")
		return
	}
	ids := make([][]any, 1_048_577)
	for i := range ids {
		ids[i] = []any{int64(i)}
	}
	var more []string
	data := write(t, export.XLSX, export.Options{Columns: []string{"company_id"}, Dir: t.TempDir(), MoreSheets: func(name string) { more = append(more, name) }}, ids...)
	if !slices.Equal(more, []string{"Listings 2"}) {
		t.Errorf("further sheets %q were told", more)
	}
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipXMLSizeLimit: 1 << 30})
	storetest.NoError(t, err)
	defer func() { _ = book.Close() }()
	if diff := cmp.Diff([]string{"Listings", "Listings 2"}, book.GetSheetList()); diff != "" {
		t.Error(diff)
	}
	second, err := book.GetRows("Listings 2")
	if err != nil || !reflect.DeepEqual(second, [][]string{{"company_id"}, {"1048575"}, {"1048576"}}) {
		t.Errorf("the second sheet has %v, %v", second, err)
	}
	for sheet, want := range map[string]excelize.Table{"Listings": {Name: "Listings", Range: "A1:A1048576"}, "Listings 2": {Name: "Listings_2", Range: "A1:A3"}} {
		if tables, err := book.GetTables(sheet); err != nil || len(tables) != 1 || tables[0].Name != want.Name || tables[0].Range != want.Range {
			t.Errorf("%s has the tables %+v, %v", sheet, tables, err)
		}
	}
}

func TestJSONL(t *testing.T) {
	want := `{"name":"Acme & Sons","categories":["Plumbers","Heating & Air"],"review_count":12,"rating":4.5,"lat":30.26715,"lon":-97.74306}
{"name":"=cmd|' /C calc'!A0","categories":["=1+1"],"review_count":0,"rating":null,"lat":null,"lon":null}
{"name":"+1 \"quoted\", <b>","categories":null,"review_count":null,"rating":5,"lat":null,"lon":null}
{"name":"a\u001b[31mred\u202e\nline","categories":[],"review_count":-3,"rating":0.5,"lat":-0.5,"lon":0}
{"name":"Café 漢字 🍕","categories":["Ünï"],"review_count":null,"rating":null,"lat":null,"lon":null}
`
	if diff := cmp.Diff(want, string(write(t, export.JSONL, export.Options{Columns: columns}))); diff != "" {
		t.Error(diff)
	}
}

func TestGeoJSON(t *testing.T) {
	data := write(t, export.GeoJSON, export.Options{Columns: columns})
	if !json.Valid(data) {
		t.Errorf("no JSON: %s", data)
	}
	for _, want := range []string{
		`"type":"FeatureCollection"`, `"geometry":{"type":"Point","coordinates":[-97.74306,30.26715]},"properties":{"name":"Acme & Sons",`,
		`"geometry":null,"properties":{"name":"=cmd|' /C calc'!A0",`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	if _, err := export.New(io.Discard, export.GeoJSON, export.Options{Columns: columns[:2]}); err == nil {
		t.Error("GeoJSON without coordinates was begun")
	}
}

func FuzzCells(f *testing.F) {
	for _, row := range rows() {
		f.Add(row[0].(string), "x")
	}
	f.Add("'=1", "\t=1")
	f.Add("_x0041_x005F_x0042_", "_x_x0041_")
	f.Fuzz(func(t *testing.T, name, about string) {
		cols := []string{"name", "about"}
		for _, format := range []export.Format{export.CSV, export.TSV, export.JSONL, export.XLSX} {
			buf := bytes.NewBuffer(write(t, format, export.Options{Columns: cols}, []any{name, about}))
			switch format {
			case export.CSV, export.TSV:
				r := csv.NewReader(buf)
				if format == export.TSV {
					r.Comma = '\t'
				}
				all, err := r.ReadAll()
				if err != nil || len(all) != 2 || len(all[1]) != 2 {
					t.Fatalf("%v, %v", all, err)
				}
				row := all[1] // below the header
				for _, cell := range row {
					if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") || strings.ContainsAny(cell, "\x00\x1b\n") {
						t.Errorf("%s has the cell %q", format, cell)
					}
				}
			case export.JSONL:
				if !json.Valid(buf.Bytes()) || yp.Printable(strings.TrimSuffix(buf.String(), "\n")) != strings.TrimSuffix(buf.String(), "\n") {
					t.Errorf("no JSON: %q", buf.Bytes())
				}
			case export.XLSX:
				if got := sheetText(t, buf.Bytes()); got != yp.Printable(name) && len(name) < 1000 {
					t.Errorf("%q is shown as %q", name, got)
				}
			}
		}
	})
}

// published begins a file, writes a text to it and gives it its name.
func published(name, text string, overwrite bool) error {
	f, err := export.Create(name, overwrite)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Publish()
	}
	return err
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	f, err := export.Create(name, false)
	storetest.NoError(t, err)
	if _, err := f.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("the file is there before it is published")
	}
	if size, err := f.Publish(); err != nil || size != 5 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if _, err := export.Create(name, false); !errors.Is(err, export.ErrExists) {
		t.Errorf("begun over a file that is there: %v", err)
	}
	again, err := export.Create(name, true)
	storetest.NoError(t, err)
	again.Abort()
	storetest.NoError(t, errors.Join(os.Chmod(name, 0o640), published(name, "bye", true)))
	data, _ := os.ReadFile(name)
	info, err := os.Stat(name)
	if err != nil || string(data) != "bye" || info.Mode().Perm() != 0o640 {
		t.Errorf("it holds %q, mode %v, %v", data, info.Mode(), err)
	}
	// A folder has the name, or another file has taken it meanwhile.
	other, err := export.Create(filepath.Join(dir, "other"), false)
	storetest.NoError(t, err)
	storetest.NoError(t, errors.Join(os.WriteFile(filepath.Join(dir, "other"), []byte("theirs"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700)))
	if _, err := other.Publish(); !errors.Is(err, export.ErrExists) {
		t.Errorf("published over another one: %v", err)
	}
	other.Abort()
	if err := published(filepath.Join(dir, "folder"), "x", true); err == nil {
		t.Error("published over a folder")
	}
	if err := published(filepath.Join(dir, "none", "x"), "x", true); err == nil || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("in a folder that is not there: %v", err)
	}
	if left, want := namesIn(t, dir), []string{"folder", "other", "out"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	storetest.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRemoveParts: the next export into a folder removes at once what killed ones left, whatever their files
// were to be called, and nothing else.
func TestRemoveParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		".week-1.csv.ypcrawl-AAAAAAAA.part", ".all-TX[1].csv.ypcrawl-BBBBBBBB.part", // killed
		".week-1.csv.part", "week-1.csv", ".other.CCCCCCCC.part", "x.ypcrawl-DDDDDDDD.part",
	} {
		storetest.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	held, err := export.Create(filepath.Join(dir, "week-2.csv"), false)
	storetest.NoError(t, err)
	export.RemoveParts(dir)
	if _, err := held.Publish(); err != nil {
		t.Fatal(err)
	}
	if left, want := namesIn(t, dir), []string{".other.CCCCCCCC.part", ".week-1.csv.part", "week-1.csv", "week-2.csv", "x.ypcrawl-DDDDDDDD.part"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}
