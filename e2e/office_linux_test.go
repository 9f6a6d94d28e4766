//go:build office

package e2e

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// eachSheet makes LibreOffice write a CSV of each sheet, as the cells are shown: FILE-SHEET.csv.
const eachSheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"

// TestOffice holds an XLSX, as LibreOffice reads it, to the CSV of the same listings.
func TestOffice(t *testing.T) {
	w := newWorld(t, 4)
	if out, err := command(w.dir, nil, w.crawlArgs("--details", "--linger", "0")...).CombinedOutput(); err != nil {
		t.Fatalf("crawl: %v: %s", err, out)
	}
	for _, args := range [][]string{{"-o", "all.csv", "--raw"}, {"-o", "all.xlsx"}} {
		if out, err := command(w.dir, nil, append([]string{"export"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("export %q: %v: %s", args, err, out)
		}
	}
	convert(t, w.dir, eachSheet)
	want, got := cellsOf(t, filepath.Join(w.dir, "all.csv")), cellsOf(t, filepath.Join(w.dir, "all-Listings.csv"))
	if len(want) < 10 {
		t.Fatalf("only %d rows", len(want))
	}
	for i := range want[1:] {
		for k, text := range want[i+1] {
			want[i+1][k] = asShown(text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LibreOffice reads other cells (-CSV +XLSX):\n%s", diff)
	}
	about := fmt.Sprint(cellsOf(t, filepath.Join(w.dir, "all-About.csv")))
	for _, says := range []string{"Selected all listings", "of the site's listings seen", "postal_code postal code as its country writes it"} {
		if !strings.Contains(about, says) {
			t.Errorf("About does not say %q: %s", says, about)
		}
	}
	if dir := os.Getenv("OFFICE_PICTURES"); dir != "" {
		convert(t, w.dir, "pdf")
		storetest.NoError(t, os.Rename(filepath.Join(w.dir, "all.pdf"), filepath.Join(dir, "listings.pdf")))
	}
}

// asShown is a cell of the CSV as a spreadsheet shows it.
func asShown(text string) string {
	if at, err := yp.ParseTime(text); err == nil {
		return at.Format("2006-01-02 15:04:05")
	}
	return text
}

// convert converts all.xlsx by LibreOffice, whose settings are in the folder, too.
func convert(t *testing.T, dir, to string) {
	t.Helper()
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Fatal("LibreOffice is missing: apt-get install --no-install-recommends libreoffice-calc")
	}
	cmd := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+filepath.Join(dir, "office"), "--headless", "--convert-to", to, "all.xlsx")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// cellsOf reads a CSV; numbers are written in one way.
func cellsOf(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	storetest.NoError(t, err)
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	storetest.NoError(t, err)
	for _, row := range rows {
		for i, text := range row {
			if n, err := strconv.ParseFloat(text, 64); err == nil && text != "" && text[0] != '0' {
				row[i] = strconv.FormatFloat(n, 'g', -1, 64)
			}
		}
	}
	return rows
}
