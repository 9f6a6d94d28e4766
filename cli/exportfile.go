package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// makeTempDir makes a folder for the temporary files of a format that has some, beside the file, where there is room for them. done removes what
// the file does not take with it.
func (d *delivery) makeTempDir() (done func(), err error) {
	done = func() {}
	if d.format.Space(1, 1) == 0 {
		return done, nil
	}
	beside := d.file
	if beside == nil { // stdout
		if beside, err = export.Create(filepath.Join(os.TempDir(), "stdout."+string(d.format)), true); err != nil {
			return done, err
		}
		done = beside.Abort
	}
	if err := d.hasSpace(filepath.Dir(beside.Path())); err != nil {
		done()
		return func() {}, err
	}
	if d.opts.Dir, err = beside.TempDir(); err != nil {
		done()
		return func() {}, err
	}
	d.opts.About = d.about
	d.opts.MoreSheets = func(name string) { d.sheets = append(d.sheets, name) }
	d.opts.Cut = func() { d.cut++ }
	return done, nil
}

// untilStopped writes until the command is stopped: an XLSX is written once all rows are read, which takes a while.
type untilStopped struct {
	ctx context.Context
	to  io.Writer
}

// Write implements io.Writer.
func (w untilStopped) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}

// cutText counts the cells that were cut: "1 cell was cut to 32,767 characters, the most that Excel allows".
func (d *delivery) cutText() string {
	return wereOf(d.cut, "cell", "was", "were") + " cut to 32,767 characters, the most that Excel allows"
}

// hasSpace looks whether the rows fit into a folder. They are counted only where all listings of the database would not fit.
func (d *delivery) hasSpace(dir string) error {
	ask := freeSpace
	if d.p.FreeSpace != nil {
		ask = d.p.FreeSpace
	}
	free, err := ask(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := d.k.Overall(d.c.Context, store.Scope{})
	if err != nil || d.format.Space(all.Listings, len(d.opts.Columns)) <= free {
		return err
	}
	rows := int64(0)
	_, err = d.k.EachListing(d.c.Context, d.selected(), func([]any) error {
		rows++
		return nil
	})
	if need := d.format.Space(rows, len(d.opts.Columns)); err == nil && need > free {
		err = fmt.Errorf("%s of %s take up to %s while they are written, and %s has %s free: make room, name fewer --columns, or write a .csv",
			plural(rows, "listing"), plural(int64(len(d.opts.Columns)), "column"), bytesText(need), dir, bytesText(free))
	}
	return err
}

// selected is the query without what was told before.
func (d *delivery) selected() report.ListingQuery {
	q := report.ListingQuery{Values: d.query.Values, Scope: d.query.Scope, Dropped: d.query.Dropped, Columns: []string{"listing_id"}}
	if q.Dropped == report.DroppedSince {
		q.Dropped = report.DroppedYes
	}
	return q
}

// about is what the file says of itself.
func (d *delivery) about() export.About {
	a := export.About{At: d.mark.At}
	add := func(name, text string) { a.Facts = append(a.Facts, export.Fact{Name: name, Text: text}) }
	add("Listings", plural(d.rows, "listing"))
	if len(d.sheets) > 0 {
		add("Sheets", "Listings, "+strings.Join(d.sheets, ", "))
	}
	if d.cut > 0 {
		add("Cut", d.cutText()+"; CSV and JSON lines have the whole text")
	}
	add("Read at", d.mark.At.UTC().Format("2006-01-02 15:04:05")+" UTC. All times in this file are UTC")
	asked := d.filters()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		words = append(words, "--"+name+" "+asked[name])
	}
	if len(words) == 0 {
		words = []string{"all listings that their sources show"}
	}
	add("Selected", strings.Join(words, "; "))
	if words := d.c.StringSlice("only"); len(words) > 0 {
		add("Only", strings.Join(words, ", "))
	}
	add("Changes since", d.since.text)
	for _, line := range d.passLines() {
		add("Pass", line)
	}
	add("Seen", d.seen.Line(d.of))
	return a
}
