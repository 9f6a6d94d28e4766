package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// columns are of every kind, with the two that GeoJSON needs.
func columns(t testing.TB) (all []report.Column) {
	t.Helper()
	for _, name := range []string{"name", "categories", "review_count", "rating", "lat", "lon"} {
		c, err := report.ListingColumn(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

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

func write(t testing.TB, f export.Format, opts export.Options) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := export.New(&buf, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows() {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestCSV(t *testing.T) {
	for _, f := range []export.Format{export.CSV, export.TSV} {
		t.Run(string(f), func(t *testing.T) {
			read := func(data []byte) [][]string {
				r := csv.NewReader(bytes.NewReader(data))
				if f == export.TSV {
					r.Comma = '\t'
				}
				all, err := r.ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			safe := make([][]string, len(plainTable))
			for i, row := range plainTable {
				safe[i] = append([]string(nil), row...)
			}
			safe[2][0], safe[2][1], safe[3][0] = "'"+safe[2][0], "'"+safe[2][1], "'"+safe[3][0]
			if diff := cmp.Diff(safe, read(write(t, f, export.Options{Columns: columns(t)}))); diff != "" {
				t.Error(diff)
			}
			raw := write(t, f, export.Options{Columns: columns(t), Raw: true, BOM: true, NoHeader: true, Separator: "|"})
			raw, ok := bytes.CutPrefix(raw, []byte("\ufeff"))
			if !ok {
				t.Error("no byte order mark")
			}
			want := append([][]string(nil), plainTable[1:]...)
			want[0] = append([]string(nil), want[0]...)
			want[0][1] = "Plumbers|Heating & Air"
			if diff := cmp.Diff(want, read(raw)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCSVEmptyCell: a reader passes over an empty line; an only cell that is empty is a row all the same.
func TestCSVEmptyCell(t *testing.T) {
	var out bytes.Buffer
	w, err := export.New(&out, export.CSV, export.Options{Columns: columns(t)[:1], NoHeader: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{nil}, {"a"}, {""}} {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&out).ReadAll()
	if diff := cmp.Diff([][]string{{""}, {"a"}, {""}}, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestXLSX(t *testing.T) {
	book, err := excelize.OpenReader(bytes.NewReader(write(t, export.XLSX, export.Options{Columns: columns(t)})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	got, err := book.GetRows("Listings")
	if err != nil {
		t.Fatal(err)
	}
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

// A sheet of Excel has an end: what is more goes on the next one.
func TestXLSXManySheets(t *testing.T) {
	if testing.Short() {
		t.Log("a short run writes one sheet only")
		return
	}
	name, err := report.ListingColumn("company_id")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := export.New(&buf, export.XLSX, export.Options{Columns: []report.Column{name}})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1_048_577
	for i := range rows {
		if err := w.Write([]any{int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(bytes.NewReader(buf.Bytes()), excelize.Options{UnzipXMLSizeLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	if diff := cmp.Diff([]string{"Listings", "Listings 2"}, book.GetSheetList()); diff != "" {
		t.Error(diff)
	}
	second, err := book.GetRows("Listings 2")
	if err != nil || !reflect.DeepEqual(second, [][]string{{"company_id"}, {"1048575"}, {"1048576"}}) {
		t.Errorf("the second sheet has %v, %v", second, err)
	}
}

func TestJSONL(t *testing.T) {
	var got []map[string]any
	dec := json.NewDecoder(bytes.NewReader(write(t, export.JSONL, export.Options{Columns: columns(t)})))
	for {
		var row map[string]any
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
	}
	var want []map[string]any
	for _, row := range rows() {
		m := map[string]any{}
		for i, c := range columns(t) {
			m[c.Name] = row[i]
			if n, ok := row[i].(int64); ok {
				m[c.Name] = float64(n)
			}
			if c.Kind == report.ListColumn && row[i] != nil {
				list := []any{}
				for _, item := range report.Texts(row[i]) {
					list = append(list, item)
				}
				m[c.Name] = list
			}
		}
		want = append(want, m)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGeoJSON(t *testing.T) {
	var got struct {
		Type     string
		Features []struct {
			Type     string
			Geometry *struct {
				Type        string
				Coordinates []float64
			}
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(write(t, export.GeoJSON, export.Options{Columns: columns(t)}), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "FeatureCollection" || len(got.Features) != len(rows()) {
		t.Fatalf("%s of %d features", got.Type, len(got.Features))
	}
	if g := got.Features[0].Geometry; g == nil || g.Type != "Point" || !reflect.DeepEqual(g.Coordinates, []float64{-97.74306, 30.26715}) {
		t.Errorf("geometry %+v", g)
	}
	if got.Features[1].Geometry != nil || got.Features[1].Properties["name"] != "=cmd|' /C calc'!A0" {
		t.Errorf("feature %+v", got.Features[1])
	}
	if _, err := export.New(io.Discard, export.GeoJSON, export.Options{Columns: columns(t)[:2]}); err == nil {
		t.Error("GeoJSON without coordinates was begun")
	}
}

func TestParquet(t *testing.T) {
	type listing struct {
		Name       *string  `parquet:"name,optional"`
		Categories []string `parquet:"categories"`
		Reviews    *int64   `parquet:"review_count,optional"`
		Rating     *float64 `parquet:"rating,optional"`
		Lat        *float64 `parquet:"lat,optional"`
		Lon        *float64 `parquet:"lon,optional"`
	}
	data := write(t, export.Parquet, export.Options{Columns: columns(t)})
	got, err := parquet.Read[listing](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(rows()) {
		t.Fatalf("%d rows, want %d", len(got), len(rows()))
	}
	for i, row := range rows() {
		g := got[i]
		cells := []any{g.Name, g.Categories, g.Reviews, g.Rating, g.Lat, g.Lon}
		for j, want := range row {
			var have any
			if list, ok := cells[j].([]string); ok {
				if want = any(report.Texts(want)); len(list) == 0 && len(want.([]string)) == 0 {
					continue
				}
				have = list
			} else if v := reflect.ValueOf(cells[j]); !v.IsNil() {
				have = v.Elem().Interface()
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("row %d column %d: %v, want %v", i, j, have, want)
			}
		}
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range file.Schema().Fields() {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff(plainTable[0], names); diff != "" {
		t.Error("order of the columns:", diff)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.csv": "csv  true", "b.tar/c.JSONL.GZ": "jsonl .gz true", "x.parquet": "parquet  true", "x.csv.zst": "csv .zst true",
		"x.txt": "  false", "x.gz": " .gz false", "x": "  false", "csv": "  false",
	} {
		f, c, ok := export.FormatOf(name)
		if got := fmt.Sprint(f, " ", c, " ", ok); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	for _, c := range []export.Compression{"", export.Gzip, export.Zstd} {
		t.Run("compression"+string(c), func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "out")
			f, err := export.Create(name, c, false)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(name); err == nil {
				t.Error("the file is there before it is published")
			}
			if err := export.Publish([]*export.File{f}); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(name)
			if err != nil || int64(len(data)) != f.Size() {
				t.Errorf("%d bytes, want %d, %v", len(data), f.Size(), err)
			}
			if got := inflate(t, data, c); got != "hello" {
				t.Errorf("it holds %q", got)
			}
			if _, err := export.Create(name, c, false); !errors.Is(err, export.ErrExists) {
				t.Errorf("begun over a file that is there: %v", err)
			}
			again, err := export.Create(name, "", true)
			if err != nil {
				t.Fatal(err)
			}
			again.Abort()
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("left in the folder: %v, %v", left, err)
			}
		})
	}
}

// TestRemoveParts: the next export of a pattern removes what killed ones left, and nothing else.
func TestRemoveParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	yesterday := time.Now().Add(-24 * time.Hour)
	for name, age := range map[string]time.Time{
		".week-2026-11-16.csv.AAAAAAAA.part": yesterday, ".week-2026-11-17.csv.AAAAAAAA.part": time.Now(), ".week-of-fun.csv.AAAAAAAA.part": yesterday,
		".week-2026-11-16.csv.part": yesterday, "week-2026-11-16.csv": yesterday, ".all-TX[1].csv.BBBBBBBB.part": yesterday,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, age, age)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := export.Create(filepath.Join(dir, "week-2026-11-18.csv"), "", false)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob(filepath.Join(dir, ".week-2026-11-18.csv.*.part"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	if err := os.Chtimes(parts[0], yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	export.RemoveParts(filepath.Join(dir, "week-{date}.csv"))
	export.RemoveParts(filepath.Join(dir, "all-{group}[1].csv"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{".week-2026-11-16.csv.part", ".week-2026-11-17.csv.AAAAAAAA.part", filepath.Base(parts[0]), ".week-of-fun.csv.AAAAAAAA.part", "week-2026-11-16.csv"}
	if !slices.Equal(left, want) {
		t.Errorf("left:\n%q, want\n%q", left, want)
	}
	if err := held.Finish(); err != nil {
		t.Fatal(err)
	}
	held.Abort()
}

// Whoever takes the name meanwhile keeps it.
func TestFileTaken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	f, err := export.Create(name, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if err := errors.Join(f.Finish(), os.WriteFile(name, []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := export.Publish([]*export.File{f}); !errors.Is(err, export.ErrExists) {
		t.Errorf("published over it: %v", err)
	}
	if data, _ := os.ReadFile(name); string(data) != "other" {
		t.Errorf("it holds %q", data)
	}
}

func inflate(t *testing.T, data []byte, c export.Compression) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(data)
	var err error
	switch c {
	case export.Gzip:
		r, err = gzip.NewReader(r)
	case export.Zstd:
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func FuzzCells(f *testing.F) {
	for _, row := range rows() {
		f.Add(row[0].(string), "x")
	}
	f.Add("'=1", "\t=1")
	f.Fuzz(func(t *testing.T, name, about string) {
		cols := columns(t)[:1]
		c, err := report.ListingColumn("about")
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, c)
		for _, format := range []export.Format{export.CSV, export.TSV, export.JSONL, export.XLSX} {
			var buf bytes.Buffer
			w, err := export.New(&buf, format, export.Options{Columns: cols, NoHeader: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write([]any{name, about}), w.Close()); err != nil {
				t.Fatal(err)
			}
			switch format {
			case export.CSV, export.TSV:
				r := csv.NewReader(&buf)
				if format == export.TSV {
					r.Comma = '\t'
				}
				row, err := r.Read()
				if err != nil || len(row) != 2 {
					t.Fatalf("%v, %v", row, err)
				}
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
				book, err := excelize.OpenReader(&buf)
				if err != nil {
					t.Fatal(err)
				}
				_ = book.Close()
			}
		}
	})
}

// Files of one export get their names together or not at all, as far as that can be.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	made := func(name string) *export.File {
		t.Helper()
		f, err := export.Create(filepath.Join(dir, name), "", true)
		if err == nil {
			_, err = f.Write([]byte("new " + name))
		}
		if err = errors.Join(err, f.Finish()); err != nil {
			t.Fatal(err)
		}
		return f
	}
	holds := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, name := range []string{"a", "b", "c"} {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				got[name] = string(data)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b")
	// The second of three can't be renamed: what it was written into is away.
	a, b, c := made("a"), made("b"), made("c")
	b.Abort()
	if err := export.Publish([]*export.File{a, b, c}); err == nil || strings.Contains(err.Error(), "replaced") {
		t.Errorf("published: %v", err)
	}
	holds(map[string]string{"b": "old b"})
	c.Abort()
	// The third can't, and the second has replaced another one by then.
	a, b, c = made("a"), made("b"), made("c")
	c.Abort()
	if err := export.Publish([]*export.File{a, b, c}); err == nil || !strings.Contains(err.Error(), "replaced before the error: "+filepath.Join(dir, "b")+"; all other files are unchanged") {
		t.Errorf("published: %v", err)
	}
	holds(map[string]string{"b": "new b"})
	// The name of one is taken by a folder: nothing is renamed.
	a, b, c = made("a"), made("b"), made("c")
	if err := os.Mkdir(filepath.Join(dir, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("b")
	if err := export.Publish([]*export.File{a, b, c}); err == nil {
		t.Error("published over a folder")
	}
	holds(map[string]string{"b": "old b"})
	if err := os.Remove(filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if err := export.Publish([]*export.File{a, b, c}); err != nil {
		t.Error(err)
	}
	holds(map[string]string{"a": "new a", "b": "new b", "c": "new c"})
}
