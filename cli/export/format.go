package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ypcrawl/store/report"
)

// Format is the kind of a file, by its name, which is the ending of such files, too.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	TSV     Format = "tsv"
	JSONL   Format = "jsonl"
	XLSX    Format = "xlsx"
	GeoJSON Format = "geojson"
)

// formats has all that there is to know of a format, in the order of the help. Another one is a row here, and its
// Writer in a file of its own.
var formats = [...]struct {
	name   Format
	binary bool     // no terminal can show it
	needs  []string // columns that it can't do without
	space  int64    // bytes of Options.Dir that a value takes
	open   func(io.Writer, Options) (Writer, error)
}{
	{CSV, false, nil, 0, newCSV},
	{TSV, false, nil, 0, newTSV},
	{JSONL, false, nil, 0, newJSONLines},
	{XLSX, true, nil, 70, newBook},
	{GeoJSON, false, []string{"lat", "lon"}, 0, newGeoJSON},
}

// row is the index of a format in formats, -1 for what is none.
func (f Format) row() int {
	for i := range formats {
		if strings.EqualFold(string(formats[i].name), string(f)) {
			return i
		}
	}
	return -1
}

// Formats lists them.
func Formats() []Format {
	all := make([]Format, len(formats))
	for i := range formats {
		all[i] = formats[i].name
	}
	return all
}

// Names are the formats, and the endings of their files, as texts.
func Names() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = string(formats[i].name)
	}
	return names
}

// ParseFormat reads the name of a format in any letter case.
func ParseFormat(s string) (Format, error) {
	if i := Format(s).row(); i >= 0 {
		return formats[i].name, nil
	}
	return "", fmt.Errorf("unknown format %q: %s", s, report.Meant(s, Names()))
}

// Binary reports whether no terminal can show files of a format that was parsed.
func (f Format) Binary() bool { return formats[f.row()].binary }

// Lacks returns what files of a format that was parsed can't do without and is not among some columns.
func (f Format) Lacks(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(formats[f.row()].needs), func(name string) bool { return slices.Contains(columns, name) })
}

// Space is how many bytes of Options.Dir rows take in a format that was parsed, the file itself included; 0 = it needs no
// folder.
func (f Format) Space(rows int64, columns int) int64 {
	return rows * int64(columns) * formats[f.row()].space
}

// Options say how rows are written.
type Options struct {
	Columns    []string
	BOM        bool              // CSV and TSV: a byte order mark, by which Excel knows UTF-8
	Raw        bool              // CSV and TSV: cells that begin like a formula are left as they are
	Dir        string            // XLSX: a folder for temporary files; "" = the system's
	About      func() About      // XLSX: asked when all rows are written; nil = no sheet says it
	MoreSheets func(name string) // XLSX: told of a further sheet that the rows go on in
	Cut        func()            // XLSX: told of each text that is cut because no cell holds it
}

// Writer writes the rows of a file, each with a value for every column: nil, string, int64 or
// float64, as report.ColumnKind says. Close ends the file's content; it does not close what
// the Writer writes to.
type Writer interface {
	Write(row []any) error
	Close() error
}

// New returns a Writer of format f over w. It is an error where a column is missing that the format needs.
func New(w io.Writer, f Format, opts Options) (Writer, error) {
	i := f.row()
	if i < 0 {
		return nil, fmt.Errorf("unknown format %q", f)
	}
	if lacking := f.Lacks(opts.Columns); len(lacking) > 0 {
		return nil, fmt.Errorf("%s needs the columns %s", f, strings.Join(lacking, ", "))
	}
	return formats[i].open(w, opts)
}
