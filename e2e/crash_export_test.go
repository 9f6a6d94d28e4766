//go:build unix

package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/xuri/excelize/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store/storetest"
)

// exportWorld is a world that was crawled.
func exportWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, 4)
	if out, err := command(w.dir, nil, w.crawlArgs("--linger", "0")...).CombinedOutput(); err != nil {
		t.Fatalf("crawl: %v: %s", err, out)
	}
	return w
}

// partsIn are the names of what exports leave when they are killed.
func partsIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".*.ypcrawl-*"))
	storetest.NoError(t, err)
	return names
}

// TestCrashXLSX: what an export has in its temporary folder when it is killed is removed by the next one, of any format.
func TestCrashXLSX(t *testing.T) {
	t.Parallel()
	w := exportWorld(t)
	out, err := command(w.dir, []string{killAt + "=export_finished:1"}, "export", "-o", "a.xlsx", "--as", "boss").CombinedOutput()
	if !killed(err) {
		t.Fatalf("%v: %s", err, out)
	}
	if left := partsIn(t, w.dir); len(left) != 2 {
		t.Fatalf("a killed export left %q, want a part and its folder", left)
	}
	if out, err := command(w.dir, nil, "export", "-o", "b.csv").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left := partsIn(t, w.dir); len(left) != 0 {
		t.Errorf("the next export left %q", left)
	}
}

// TestCrashStdout: what an XLSX to stdout has in the system's temporary folder when it is killed is removed by the next command that
// opens a database. That of one which lives is left alone, and a link in a folder of all users is not followed.
func TestCrashStdout(t *testing.T) {
	t.Parallel()
	w := exportWorld(t)
	temp := t.TempDir()
	living, err := export.Create(filepath.Join(temp, "stdout.xlsx"), false)
	storetest.NoError(t, err)
	defer living.Abort()
	_, err = living.TempDir()
	storetest.NoError(t, err)
	link := filepath.Join(temp, ".a.xlsx.ypcrawl-AAAAAAAA.part")
	storetest.NoError(t, errors.Join(os.Mkdir(link+".tmp", 0o700), os.Symlink(filepath.Join(w.dir, "ypcrawl.db"), link)))
	want := []string{link, link + ".tmp", living.Part(), living.Part() + ".tmp"}
	there := []string{"TMPDIR=" + temp}
	if err := command(w.dir, append(there, killAt+"=export_written:1"), "export", "--format", "xlsx").Run(); !killed(err) {
		t.Fatal(err)
	}
	if left := partsIn(t, temp); len(left) != len(want)+2 {
		t.Fatalf("a killed export left %q, want a part and its folder", left)
	}
	if out, err := command(w.dir, there, "progress").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(want, partsIn(t, temp), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
}

// TestExportClosedPipe: an XLSX into a pipe that nobody reads ends by SIGPIPE, as other commands do, and leaves nothing.
func TestExportClosedPipe(t *testing.T) {
	t.Parallel()
	w := exportWorld(t)
	temp := t.TempDir()
	for _, format := range []string{"xlsx", "csv"} {
		reader, writer, err := os.Pipe()
		storetest.NoError(t, err)
		storetest.NoError(t, reader.Close())
		var said bytes.Buffer
		cmd := command(w.dir, []string{"TMPDIR=" + temp}, "export", "--format", format)
		cmd.Stdout, cmd.Stderr = writer, &said
		err = cmd.Run()
		storetest.NoError(t, writer.Close())
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE || said.Len() > 0 {
			t.Errorf("%s: %v: %s", format, err, &said)
		}
		if left := partsIn(t, temp); len(left) > 0 {
			t.Errorf("%s left %q", format, left)
		}
	}
}

// TestExportCut: the file and the command say how many texts no cell of Excel could hold.
func TestExportCut(t *testing.T) {
	t.Parallel()
	w := exportWorld(t)
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "ypcrawl.db"))
	storetest.NoError(t, err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(t.Context(), "UPDATE listings SET snippet = printf('%.*c', 32768, 'x') WHERE id IN (SELECT id FROM listings LIMIT 2)")
	storetest.NoError(t, err)
	const want = "2 cells were cut to 32,767 characters, the most that Excel allows"
	out, err := command(w.dir, nil, "export", "-o", "a.xlsx", "--columns", "name,snippet").CombinedOutput()
	if err != nil || !strings.Contains(string(out), want+". Other formats have the whole text.\n") {
		t.Errorf("%v: %s", err, out)
	}
	book, err := excelize.OpenFile(filepath.Join(w.dir, "a.xlsx"))
	storetest.NoError(t, err)
	defer func() { _ = book.Close() }()
	if said, err := book.GetCellValue("About", "B2"); err != nil || !strings.HasPrefix(said, want) {
		t.Errorf("About says %q, %v", said, err)
	}
	out, err = command(w.dir, nil, "export", "-o", "b.csv", "--columns", "snippet").CombinedOutput()
	if data, _ := os.ReadFile(filepath.Join(w.dir, "b.csv")); err != nil || strings.Contains(string(out), "cut") || !strings.Contains(string(data), strings.Repeat("x", 32768)) {
		t.Errorf("CSV: %v: %s", err, out)
	}
}

// TestExportSpace: where an XLSX would not fit, nothing is begun, and the error says what it needs; one of fewer cells fits.
func TestExportSpace(t *testing.T) {
	t.Parallel()
	w := exportWorld(t)
	room := []string{killAt + "=" + freeSpace + ":70000"}
	out, err := command(w.dir, room, "export", "-o", "a.xlsx").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "while they are written, and "+".") || !strings.Contains(string(out), "has 70.0 KB free: make room") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "a.xlsx")); err == nil || len(partsIn(t, w.dir)) > 0 {
		t.Error("something was written")
	}
	for _, args := range [][]string{{"-o", "b.xlsx", "--columns", "name", "--search", "nobody-has-this-name"}, {"-o", "c.csv"}} {
		if out, err := command(w.dir, room, append([]string{"export"}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("export %q: %v: %s", args, err, out)
		}
	}
}
