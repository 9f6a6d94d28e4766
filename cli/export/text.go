package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// cells writes CSV or TSV.
type cells struct {
	to   io.Writer
	out  *csv.Writer
	opts Options
	line []string
}

func newCSV(w io.Writer, opts Options) (Writer, error) { return newCells(w, ',', opts) }

func newTSV(w io.Writer, opts Options) (Writer, error) { return newCells(w, '\t', opts) }

func newCells(w io.Writer, comma rune, opts Options) (*cells, error) {
	c := &cells{to: w, out: csv.NewWriter(w), opts: opts, line: make([]string, len(opts.Columns))}
	c.out.Comma = comma
	if opts.BOM {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return nil, err
		}
	}
	for i, name := range opts.Columns { // of a question anything
		c.line[i] = Harmless(yp.Printable(name))
	}
	return c, c.out.Write(c.line)
}

func (c *cells) Write(row []any) error {
	for i, v := range row {
		switch v := v.(type) {
		case string:
			text := plain(c.opts.Columns[i], v)
			if !c.opts.Raw {
				text = Harmless(text)
			}
			c.line[i] = text
		case int64:
			c.line[i] = strconv.FormatInt(v, 10)
		case float64:
			c.line[i] = strconv.FormatFloat(v, 'f', -1, 64)
		case nil:
			c.line[i] = ""
		default:
			c.line[i] = yp.Printable(fmt.Sprint(v))
		}
	}
	if len(c.line) == 1 && c.line[0] == "" { // an empty line is no row to who reads it
		c.out.Flush()
		if _, err := io.WriteString(c.to, `""`+"\n"); err != nil {
			return err
		}
		return c.out.Error()
	}
	return c.out.Write(c.line)
}

func (c *cells) Close() error {
	c.out.Flush()
	return c.out.Error()
}

// plain is a text, or the items of a list in one, on one line without control characters.
func plain(column, value string) string {
	return yp.Printable(report.Plain(column, value))
}

// Harmless puts an apostrophe before a text that a spreadsheet would run as a formula.
func Harmless(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}

// jsonLines writes an object a line, its keys in the order of the columns. What acts on a terminal
// is escaped.
type jsonLines struct {
	w       io.Writer
	columns []string
}

func newJSONLines(w io.Writer, opts Options) (Writer, error) {
	return &jsonLines{w: w, columns: opts.Columns}, nil
}

func (j *jsonLines) Write(row []any) error {
	line, err := report.RowJSON(j.columns, row)
	if err == nil {
		_, err = j.w.Write(append(line, '\n'))
	}
	return err
}

func (j *jsonLines) Close() error { return nil }

// geoJSON writes a FeatureCollection. A listing whose place is not known has no geometry.
type geoJSON struct {
	w        io.Writer
	columns  []string // that become properties
	lat, lon int
	features int
}

func newGeoJSON(w io.Writer, opts Options) (Writer, error) {
	_, err := io.WriteString(w, `{"type":"FeatureCollection","features":[`)
	return &geoJSON{w: w, columns: opts.Columns, lat: slices.Index(opts.Columns, "lat"), lon: slices.Index(opts.Columns, "lon")}, err
}

func (g *geoJSON) Write(row []any) error {
	separator, geometry := "", "null"
	if g.features++; g.features > 1 {
		separator = ","
	}
	lat, hasLat := row[g.lat].(float64)
	lon, hasLon := row[g.lon].(float64)
	if hasLat && hasLon {
		geometry = `{"type":"Point","coordinates":[` + strconv.FormatFloat(lon, 'f', -1, 64) + "," + strconv.FormatFloat(lat, 'f', -1, 64) + "]}"
	}
	properties, err := report.RowJSON(g.columns, row)
	if err == nil {
		_, err = fmt.Fprintf(g.w, "%s\n"+`{"type":"Feature","geometry":%s,"properties":%s}`, separator, geometry, properties)
	}
	return err
}

func (g *geoJSON) Close() error {
	_, err := io.WriteString(g.w, "\n]}\n")
	return err
}
