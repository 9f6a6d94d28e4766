package export

import (
	"fmt"
	"io"
	"strings"

	"ypcrawl/store/report"
)

// Format is the kind of a file.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	TSV     Format = "tsv"
	JSONL   Format = "jsonl"
	XLSX    Format = "xlsx"
	GeoJSON Format = "geojson"
)

// Formats lists them.
func Formats() []Format { return []Format{CSV, TSV, JSONL, XLSX, GeoJSON} }

// ParseFormat reads the name of a format in any letter case.
func ParseFormat(s string) (Format, error) {
	names := make([]string, len(Formats()))
	for i, f := range Formats() {
		if names[i] = string(f); strings.EqualFold(s, names[i]) {
			return f, nil
		}
	}
	return "", fmt.Errorf("unknown format %q: %s", s, report.Meant(s, names))
}

// Options say how rows are written.
type Options struct {
	Columns []string
	BOM     bool // CSV and TSV: a byte order mark, by which Excel knows UTF-8
	Raw     bool // CSV and TSV: cells that begin like a formula are left as they are
}

// Writer writes the rows of a file, each with a value for every column: nil, string, int64 or
// float64, as report.ColumnKind says. Close ends the file's content; it does not close what
// the Writer writes to.
type Writer interface {
	Write(row []any) error
	Close() error
}

// New returns a Writer of format f over w.
func New(w io.Writer, f Format, opts Options) (Writer, error) {
	switch f {
	case CSV, TSV:
		return newCells(w, f, opts)
	case JSONL:
		return &jsonLines{w: w, columns: opts.Columns}, nil
	case GeoJSON:
		return newGeoJSON(w, opts.Columns)
	case XLSX:
		return newSheets(w, opts)
	}
	return nil, fmt.Errorf("unknown format %q", f)
}
