package export

import (
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"ypcrawl/store/report"
)

// About is what a file says of itself.
type About struct {
	At    time.Time // when the listings were read
	Facts []Fact
}

// Fact is a line of it.
type Fact struct{ Name, Text string }

const (
	aboutSheet = "About"
	factWidth  = 24
	textWidth  = 100
)

// inCells writes what a column means for cells, which show no value of a database as it is.
var inCells = strings.NewReplacer("NULL", "empty", "[] = always closed", `"closed" = always closed`)

// about writes the last sheet: the facts, then what the columns mean.
func (b *book) about(a About) (err error) {
	if err := b.file.SetDocProps(&excelize.DocProperties{
		Creator: "ypcrawl", LastModifiedBy: "ypcrawl", Title: "Listings",
		Created: a.At.UTC().Format(time.RFC3339), Modified: a.At.UTC().Format(time.RFC3339),
	}); err != nil {
		return err
	}
	if _, err := b.file.NewSheet(aboutSheet); err != nil {
		return err
	}
	if err := b.openSheet(aboutSheet, factWidth, textWidth); err != nil {
		return err
	}
	wrap, err := b.file.NewStyle(&excelize.Style{Alignment: &excelize.Alignment{Vertical: "top", WrapText: true}})
	if err != nil {
		return err
	}
	b.row = 0
	lines := append(a.Facts, Fact{}, Fact{"column", "what it means"})
	header := len(lines)
	for i := range b.columns {
		lines = append(lines, Fact{b.columns[i].name, inCells.Replace(report.Meaning(b.columns[i].name))})
	}
	for i, line := range lines {
		style := wrap
		if i+1 == header {
			style = b.header
		}
		if err := b.fact(line, style); err != nil {
			return err
		}
	}
	return b.sheet.Flush()
}

func (b *book) fact(f Fact, style int) error {
	if b.row++; f == (Fact{}) {
		return nil
	}
	text, _ := b.stored(plain("", f.Text))
	return b.sheet.SetRow("A"+strconv.Itoa(b.row), []any{
		excelize.Cell{StyleID: style, Value: b.literal(plain("", f.Name))},
		excelize.Cell{StyleID: style, Value: text},
	})
}
