package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
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

func newCells(w io.Writer, f Format, opts Options) (*cells, error) {
	c := &cells{to: w, out: csv.NewWriter(w), opts: opts, line: make([]string, len(opts.Columns))}
	if f == TSV {
		c.out.Comma = '\t'
	}
	if opts.BOM {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return nil, err
		}
	}
	copy(c.line, opts.Columns)
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
		default:
			c.line[i] = ""
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
	line    []byte
}

func (j *jsonLines) Write(row []any) (err error) {
	if j.line, err = appendObject(j.line[:0], j.columns, row); err == nil {
		_, err = j.w.Write(append(yp.EscapeJSON(j.line), '\n'))
	}
	return err
}

func (j *jsonLines) Close() error { return nil }

func appendObject(dst []byte, columns []string, row []any) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, c), ':')
		if dst, err = appendValue(dst, c, report.JSONOf(c, row[i])); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, c string, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
	case string:
		return appendText(dst, v)
	case bool:
		return strconv.AppendBool(dst, v), nil
	case json.Marshaler:
		text, err := json.Marshal(v) // it has no line breaks
		return append(dst, text...), err
	}
	return dst, fmt.Errorf("column %s holds a %T", c, value)
}

// appendText writes a JSON string. Most are plain ASCII and need no escapes.
func appendText(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			var text bytes.Buffer
			enc := json.NewEncoder(&text)
			enc.SetEscapeHTML(false)
			err := enc.Encode(s)
			return append(dst, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

// geoJSON writes a FeatureCollection. A listing whose place is not known has no geometry.
type geoJSON struct {
	w        io.Writer
	columns  []string // that become properties
	lat, lon int
	features int
	line     []byte
}

func newGeoJSON(w io.Writer, columns []string) (*geoJSON, error) {
	g := &geoJSON{w: w, columns: columns, lat: -1, lon: -1}
	for i, c := range columns {
		switch c {
		case "lat":
			g.lat = i
		case "lon":
			g.lon = i
		}
	}
	if g.lat < 0 || g.lon < 0 {
		return nil, fmt.Errorf("GeoJSON needs the columns lat and lon")
	}
	_, err := io.WriteString(w, `{"type":"FeatureCollection","features":[`)
	return g, err
}

func (g *geoJSON) Write(row []any) (err error) {
	g.line = g.line[:0]
	if g.features++; g.features > 1 {
		g.line = append(g.line, ',')
	}
	g.line = append(g.line, "\n"+`{"type":"Feature","geometry":`...)
	lat, hasLat := row[g.lat].(float64)
	lon, hasLon := row[g.lon].(float64)
	if hasLat && hasLon {
		g.line = append(g.line, `{"type":"Point","coordinates":[`...)
		g.line = append(strconv.AppendFloat(g.line, lon, 'f', -1, 64), ',')
		g.line = append(strconv.AppendFloat(g.line, lat, 'f', -1, 64), "]}"...)
	} else {
		g.line = append(g.line, "null"...)
	}
	g.line = append(g.line, `,"properties":`...)
	if g.line, err = appendObject(g.line, g.columns, row); err == nil {
		_, err = g.w.Write(append(yp.EscapeJSON(g.line), '}'))
	}
	return err
}

func (g *geoJSON) Close() error {
	_, err := io.WriteString(g.w, "\n]}\n")
	return err
}
