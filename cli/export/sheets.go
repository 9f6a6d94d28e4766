package export

import (
	"archive/zip"
	"bufio"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/klauspost/compress/flate"
)

const (
	maxSheetRows = 1_048_576 // of Excel; what is more goes on the next sheet
	maxCellText  = 32_767    // UTF-16 units that Excel takes in a cell
)

// sheets writes XLSX: an archive of XML parts, each sheet a stream of rows. Texts are in
// their cells, so that nothing has to be kept; a text is never run, only a formula's own cell is.
type sheets struct {
	opts    Options
	archive *zip.Writer
	sheet   *bufio.Writer
	count   int // sheets
	row     int // of the sheet
	refs    []string
}

const (
	// The header stays in view.
	sheetHead = xml.Header + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		`<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`
	sheetTail     = `</sheetData></worksheet>`
	bookRelations = xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`
	// Style 1 is bold: the header.
	styles = xml.Header + `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>` +
		`<cellXfs count="2"><xf/><xf fontId="1" applyFont="1"/></cellXfs></styleSheet>`
)

func newSheets(w io.Writer, opts Options) (Writer, error) {
	s := &sheets{opts: opts, archive: zip.NewWriter(w)}
	s.archive.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	for i := range opts.Columns {
		s.refs = append(s.refs, columnLetters(i))
	}
	return s, s.next()
}

// columnLetters is the name of a column: A, B ... Z, AA.
func columnLetters(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return columnLetters(i/26-1) + string(rune('A'+i%26))
}

// next begins a sheet.
func (s *sheets) next() error {
	if err := s.end(); err != nil {
		return err
	}
	s.count++
	part, err := s.archive.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", s.count))
	if err != nil {
		return err
	}
	s.sheet, s.row = bufio.NewWriterSize(part, 1<<16), 0
	_, _ = s.sheet.WriteString(sheetHead) // what fails here fails in the flush
	header := make([]any, len(s.opts.Columns))
	for i, c := range s.opts.Columns {
		header[i] = c
	}
	return s.line(header, ` s="1"`)
}

// end ends the sheet in hand.
func (s *sheets) end() error {
	if s.sheet == nil {
		return nil
	}
	_, _ = s.sheet.WriteString(sheetTail)
	return s.sheet.Flush()
}

func (s *sheets) Write(row []any) error {
	if s.row == maxSheetRows {
		if err := s.next(); err != nil {
			return err
		}
	}
	return s.line(row, "")
}

func (s *sheets) line(row []any, style string) error {
	s.row++
	n := strconv.Itoa(s.row)
	_, _ = s.sheet.WriteString(`<row r="` + n + `">`)
	for i, v := range row {
		ref := `<c r="` + s.refs[i] + n + `"` + style
		switch v := v.(type) {
		case string:
			text := v
			if style == "" {
				text = shorten(plain(s.opts.Columns[i], v))
			}
			_, _ = s.sheet.WriteString(ref + ` t="inlineStr"><is><t xml:space="preserve">`)
			if err := xml.EscapeText(s.sheet, []byte(literal(text))); err != nil {
				return err
			}
			_, _ = s.sheet.WriteString("</t></is></c>")
		case int64:
			_, _ = s.sheet.WriteString(ref + "><v>" + strconv.FormatInt(v, 10) + "</v></c>")
		case float64:
			_, _ = s.sheet.WriteString(ref + "><v>" + strconv.FormatFloat(v, 'f', -1, 64) + "</v></c>")
		}
	}
	_, err := s.sheet.WriteString("</row>")
	return err
}

// literal keeps a text as it is: in a cell, "_x0041_" is the letter A (ISO/IEC 29500-1, 22.9.2.19,
// ST_Xstring), so an underscore that begins such a form is written as "_x005F_". Forms may share one:
// "_x0041_x0042_" has two.
func literal(text string) string {
	at := strings.Index(text, "_x")
	if at < 0 {
		return text
	}
	var b strings.Builder
	for done := 0; ; {
		if isEscape(text[at:]) {
			b.WriteString(text[done:at] + "_x005F")
			done = at
		}
		next := strings.Index(text[at+1:], "_x")
		if next < 0 {
			b.WriteString(text[done:])
			break
		}
		at += 1 + next
	}
	return b.String()
}

// isEscape reports whether a text begins with _xHHHH_.
func isEscape(text string) bool {
	if len(text) < len("_xHHHH_") || text[6] != '_' {
		return false
	}
	_, err := hex.DecodeString(text[2:6])
	return err == nil
}

func shorten(text string) string {
	if len(text) <= maxCellText {
		return text
	}
	units := utf16.Encode([]rune(text))
	return string(utf16.Decode(units[:min(len(units), maxCellText)]))
}

// Close ends the book with the parts that name its sheets.
func (s *sheets) Close() error {
	if err := s.end(); err != nil {
		return err
	}
	var book, relations, types strings.Builder
	for i := 1; i <= s.count; i++ {
		fmt.Fprintf(&book, `<sheet name="Listings%s" sheetId="%d" r:id="rId%d"/>`, numberOf(i), i, i)
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet%d.xml"/>`, i, i)
		fmt.Fprintf(&types, `<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>`, i)
	}
	for _, part := range [][2]string{
		{"xl/styles.xml", styles},
		{"xl/workbook.xml", xml.Header + `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
			`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` + book.String() + `</sheets></workbook>`},
		{
			"xl/_rels/workbook.xml.rels",
			xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + relations.String() +
				`<Relationship Id="rId0" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`,
		},
		{"_rels/.rels", bookRelations},
		{"[Content_Types].xml", xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
			`<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>` +
			types.String() + `</Types>`},
	} {
		w, err := s.archive.Create(part[0])
		if err == nil {
			_, err = io.WriteString(w, part[1])
		}
		if err != nil {
			return err
		}
	}
	return s.archive.Close()
}

// numberOf tells sheets apart; the first needs no number.
func numberOf(i int) string {
	if i == 1 {
		return ""
	}
	return " " + strconv.Itoa(i)
}
