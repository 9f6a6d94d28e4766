package export

import (
	"archive/zip"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const (
	maxSheetRows  = 1_048_576 // of Excel, with the header; what is more goes on the next sheet
	maxSheetBytes = 3 << 30   // of XML: Excel refuses a part of 4 GB, whose header excelize can't mark in a file that is written once
	maxCellText   = 32_767    // UTF-16 units that Excel takes in a cell
	cellBytes     = 80        // XML of a cell beside its text

	widthRows = 1000 // by which the widths of columns are chosen: a sheet has these before its rows
	minWidth  = 8
	maxWidth  = 60
	timeWidth = len("2006-01-02 15:04:05")
	buttons   = 4 // characters of a header that the button of its filter covers

	family   = "Calibri" // as excelize's own style has it
	fontSize = 11
)

// book writes XLSX: a table of listings, on as many sheets as it takes, and a sheet "About". Rows go to a temporary file of
// excelize's; close makes the archive of it. Every text is in its own cell as text: only hyperlink writes formulas.
type book struct {
	opts    Options
	to      io.Writer
	file    *excelize.File
	columns []sheetColumn
	header  int // style

	first  [][]any // rows that are kept until widths are known; nil = they are
	sheet  *excelize.StreamWriter
	name   string // of it
	sheets int
	row    int   // the last one of the sheet
	size   int64 // of its XML, at most
	cells  []excelize.Cell
	line   []any // pointers into cells

	marked bool // a text has mark
}

// sheetColumn is how the cells of a column are written.
type sheetColumn struct {
	name  string
	kind  cellKind
	style int
	link  int // style of a link
	width int
}

// cellKind is what the cells of a column are.
type cellKind int

const (
	asIs    cellKind = iota // numbers and texts
	code                    // a text that may look like a number: an id, a phone number, a postal code
	moment                  // a time
	wrapped                 // a long text on several lines
)

func kindOf(column string) cellKind {
	switch {
	case report.IsTime(column):
		return moment
	case column == "phone", column == "phone_e164", column == "postal_code", strings.HasSuffix(column, "_id"):
		return code
	case column == "hours":
		return wrapped
	}
	return asIs
}

// bookWriter is a book as a Writer. It has functions, and no book: were a type of excelize in what becomes an interface, the linker would keep all
// methods of excelize, charts and formulas among them, which are 3.5 MB (docs/decisions/0086).
type bookWriter struct {
	write func(row []any) error
	close func() error
}

func (w bookWriter) Write(row []any) error { return w.write(row) }

func (w bookWriter) Close() error { return w.close() }

func newBook(w io.Writer, opts Options) (Writer, error) {
	b := book{
		opts: opts, to: w, file: excelize.NewFile(excelize.Options{TmpDir: opts.Dir}), first: [][]any{},
		cells: make([]excelize.Cell, len(opts.Columns)), line: make([]any, len(opts.Columns)),
	}
	b.file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return b.archive() }) // what it is given is memory
	err := b.makeStyles()
	if err != nil {
		_ = b.file.Close()
	}
	return bookWriter{b.write, b.close}, err
}

// makeStyles makes the styles of all cells. They are at the top of their rows, which wrapped ones make high.
func (b *book) makeStyles() (err error) {
	top := &excelize.Alignment{Vertical: "top"}
	format := "yyyy-mm-dd hh:mm:ss"
	styles := [...]excelize.Style{
		asIs:    {Alignment: top},
		code:    {Alignment: top, NumFmt: 49}, // text
		moment:  {Alignment: top, CustomNumFmt: &format},
		wrapped: {Alignment: &excelize.Alignment{Vertical: "top", WrapText: true}},
	}
	var ids [len(styles)]int
	for i := range styles {
		if ids[i], err = b.file.NewStyle(&styles[i]); err != nil {
			return err
		}
	}
	link, err := b.file.NewStyle(&excelize.Style{Alignment: top, Font: &excelize.Font{Family: family, Size: fontSize, Color: "0563C1", Underline: "single"}})
	if err != nil {
		return err
	}
	b.header, err = b.file.NewStyle(&excelize.Style{
		Alignment: top, Font: &excelize.Font{Family: family, Size: fontSize, Bold: true}, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"D9E1F2"}},
	})
	for _, name := range b.opts.Columns {
		kind := kindOf(name)
		b.columns = append(b.columns, sheetColumn{
			name: name, kind: kind, style: ids[kind], link: link, width: max(minWidth, utf8.RuneCountInString(name)+buttons),
		})
	}
	return err
}

// write writes a row; the first ones when the widths of columns are known.
func (b *book) write(row []any) error {
	if b.first == nil {
		return b.add(row)
	}
	b.first = append(b.first, slices.Clone(row))
	for i := range row {
		c := &b.columns[i]
		c.width = min(max(c.width, c.widthOf(row[i])+1), maxWidth)
	}
	if len(b.first) < widthRows {
		return nil
	}
	return b.begin()
}

// widthOf is how many characters a cell shows.
func (c *sheetColumn) widthOf(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		if c.kind == moment {
			return timeWidth
		}
		return utf8.RuneCountInString(plain(c.name, v))
	default:
		return len(fmt.Sprint(v))
	}
}

// begin begins the first sheet with the rows that were kept.
func (b *book) begin() error {
	rows := b.first
	b.first = nil
	if err := b.nextSheet(); err != nil {
		return err
	}
	for _, row := range rows {
		if err := b.add(row); err != nil {
			return err
		}
	}
	return nil
}

// nextSheet ends the sheet in hand and begins another one of the table.
func (b *book) nextSheet() (err error) {
	if err := b.endSheet(); err != nil {
		return err
	}
	b.sheets++
	if b.name = "Listings"; b.sheets == 1 {
		err = b.file.SetSheetName(b.file.GetSheetName(0), b.name)
	} else {
		b.name += " " + strconv.Itoa(b.sheets)
		_, err = b.file.NewSheet(b.name)
	}
	if err != nil {
		return err
	}
	if b.sheets > 1 && b.opts.MoreSheets != nil {
		b.opts.MoreSheets(b.name)
	}
	widths := make([]int, len(b.columns))
	for i := range b.columns {
		widths[i] = b.columns[i].width
		b.cells[i] = excelize.Cell{StyleID: b.header, Value: b.literal(b.columns[i].name)}
		b.line[i] = &b.cells[i]
	}
	if err := b.openSheet(b.name, widths...); err != nil {
		return err
	}
	if err := b.sheet.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	b.row, b.size = 1, 0
	return b.sheet.SetRow("A1", b.line)
}

// openSheet begins to write a sheet with columns of these widths. Its cells are written before it is known how many there are: excelize would say that A1
// is all, which some readers believe. The width that is set last is written first, so that these begin with the last column: Excel wants the order
// of the columns.
func (b *book) openSheet(name string, widths ...int) error {
	err := b.file.SetSheetDimension(name, "")
	if err == nil {
		b.sheet, err = b.file.NewStreamWriter(name)
	}
	for i, width := range slices.Backward(widths) {
		if err == nil {
			err = b.sheet.SetColWidth(i+1, i+1, float64(width))
		}
	}
	return err
}

// endSheet makes a table of the rows of the sheet, with a filter for each column.
func (b *book) endSheet() error {
	if b.sheet == nil {
		return nil
	}
	corner, err := excelize.CoordinatesToCellName(len(b.columns), max(b.row, 2)) // a table has a row
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(b.name, " ", "_")
	if err := b.sheet.AddTable(&excelize.Table{Range: "A1:" + corner, Name: name, StyleName: "TableStyleLight1"}); err != nil {
		return err
	}
	return b.sheet.Flush()
}

// add writes a row to the sheet in hand, or to the next one where that is full.
func (b *book) add(row []any) error {
	if b.row == maxSheetRows || b.size > maxSheetBytes {
		if err := b.nextSheet(); err != nil {
			return err
		}
	}
	b.row++
	for i, v := range row {
		b.line[i] = nil
		if v != nil {
			b.cells[i] = b.cell(&b.columns[i], v)
			b.line[i] = &b.cells[i]
		}
	}
	return b.sheet.SetRow("A"+strconv.Itoa(b.row), b.line)
}

// cell is a value as its cell has it.
func (b *book) cell(c *sheetColumn, v any) excelize.Cell {
	b.size += cellBytes
	cell := excelize.Cell{StyleID: c.style, Value: v}
	switch v := v.(type) {
	case int64:
		if c.kind == code {
			cell.Value = strconv.FormatInt(v, 10)
		}
		return cell
	case float64:
		return cell
	}
	raw, ok := v.(string)
	if !ok {
		raw = fmt.Sprint(v)
	}
	if c.kind == moment {
		if at, err := yp.ParseTime(raw); err == nil && !at.Before(firstDay) {
			cell.Value = serial(at)
			return cell
		}
	}
	text := plain(c.name, raw)
	if cell.Formula = hyperlink(c.name, raw); cell.Formula != "" {
		b.size += xmlSize(text) + xmlSize(cell.Formula)
		cell.StyleID, cell.Value = c.link, text
		return cell
	}
	stored, cut := b.stored(text)
	if cut && b.opts.Cut != nil {
		b.opts.Cut()
	}
	b.size += xmlSize(stored)
	cell.Value = stored
	return cell
}

// firstDay is the first day that all spreadsheets number alike: Excel has none before 1900, and in that year a 29th of February. A time
// before it, of a clock that was wrong, is text.
var firstDay = time.Date(1900, time.March, 1, 0, 0, 0, 0, time.UTC)

// serial is a time as a number of days, as spreadsheets have it: 25,569 is 1970-01-01. It is UTC. The number may be a little smaller than
// the time, and LibreOffice would then show the second before: so it is a tenth of a millisecond more.
func serial(at time.Time) float64 {
	at = at.Add(100 * time.Microsecond)
	return float64(at.UnixMicro())/float64(24*time.Hour/time.Microsecond) + 25_569
}

// xmlSize is the size of a text in XML, at most.
func xmlSize(text string) int64 {
	size := len(text)
	for i := range len(text) {
		if strings.IndexByte(`&<>"'`, text[i]) >= 0 {
			size += len("&quot;")
		}
	}
	return int64(size)
}

// stored is a text as its cell has it, and whether it had to be cut.
func (b *book) stored(text string) (literal string, cut bool) {
	short := text
	if len(text)*len(literalUnderscore) > maxCellText {
		short = fitting(text)
	}
	return b.literal(short), short != text
}

const literalUnderscore = "_x005F_" // as literal writes one, and as excelize counts it

// fitting is as much of a text as a cell holds, in UTF-16 units, with what literal adds. It does not end within a character.
func fitting(text string) string {
	left := maxCellText
	for at, r := range text {
		left -= utf16.RuneLen(r)
		if isEscape(text[at:]) {
			left -= len(literalUnderscore) - 1
		}
		if left < 0 {
			return text[:at]
		}
	}
	return text
}

// mark takes the place of underscores that excelize would read: it is no character of any text (Unicode, 23.7: noncharacters).
const mark = '\ufdd0'

// literal keeps a text as it is. In a cell "_x0041_" is the letter A (ISO/IEC 29500-1, 22.9.2.19, ST_Xstring), so an underscore that begins
// such a form is written as "_x005F_". Forms may share one: "_x0041_x0042_" has two; of them excelize writes the first alone, and none of
// surrogates. So it is given mark in their place, and the archive has underscores for that.
func (b *book) literal(text string) string {
	text = strings.ReplaceAll(text, string(mark), "\ufffd")
	if !hasEscape(text) {
		return text
	}
	b.marked = true
	var out strings.Builder
	for i := range len(text) {
		if isEscape(text[i:]) {
			out.WriteString(string(mark) + "x005F" + string(mark))
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// hasEscape reports whether a text has the form _xHHHH_.
func hasEscape(text string) bool {
	for {
		at := strings.Index(text, "_x")
		if at < 0 {
			return false
		}
		if text = text[at:]; isEscape(text) {
			return true
		}
		text = text[1:]
	}
}

// isEscape reports whether a text begins with _xHHHH_.
func isEscape(text string) bool {
	if len(text) < len("_xHHHH_") || text[:2] != "_x" || text[6] != '_' {
		return false
	}
	_, err := hex.DecodeString(text[2:6])
	return err == nil
}

// archive is where excelize writes the book: straight to the file, for the whole of it would take too much memory.
type archive struct {
	*zip.Writer
	marked bool
}

func (b *book) archive() archive {
	a := archive{Writer: zip.NewWriter(b.to), marked: b.marked}
	var one *flate.Writer // of 1.2 MB: for all parts, which follow each other
	a.RegisterCompressor(zip.Deflate, func(w io.Writer) (out io.WriteCloser, err error) {
		if one == nil {
			one, err = flate.NewWriter(w, flate.DefaultCompression)
			return one, err
		}
		one.Reset(w)
		return one, nil
	})
	return a
}

// Create begins a part.
func (a archive) Create(name string) (io.Writer, error) {
	part, err := a.Writer.Create(name)
	if err != nil || !a.marked {
		return part, err
	}
	return transform.NewWriter(part, runes.Map(func(r rune) rune { // no part ends within a character, so it needs no Close
		if r == mark {
			return '_'
		}
		return r
	})), nil
}

// close ends the book and writes it.
func (b *book) close() error {
	defer func() { _ = b.file.Close() }() // removes temporary files
	if b.first != nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	if err := b.endSheet(); err != nil {
		return err
	}
	if b.opts.About != nil {
		if err := b.about(b.opts.About()); err != nil {
			return err
		}
	}
	return b.file.Write(io.Discard)
}
