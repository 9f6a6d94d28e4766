//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
