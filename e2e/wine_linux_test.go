//go:build wine

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// The program for Windows under Wine (tag wine: `make windows`). Wine is no Windows, but has its rules about files that are open, locks,
// handles of folders, names and Ctrl-C.

// wineProgram is where Debian's package wine64 has it; its /usr/bin is empty.
const wineProgram = "/usr/lib/wine/wine64"

// wine is a Wine of its own, with the program for Windows and what it needs there.
type wine struct {
	dir    string // anything of it lies here
	exe    string
	ctrlC  string // testdata/windows/ctrlc.c
	loader string // what starts a program of Windows
}

// newWine makes it in some 15 s; more where the program was never built.
func newWine(t *testing.T) *wine {
	t.Helper()
	dir, err := os.MkdirTemp("", "wine-")
	storetest.NoError(t, err)
	w := &wine{dir: dir, exe: filepath.Join(dir, "ypcrawl.exe"), ctrlC: filepath.Join(dir, "ctrlc.exe"), loader: wineProgram}
	if path, err := exec.LookPath("wine64"); err == nil {
		w.loader = path
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		kill := exec.CommandContext(ctx, w.server(), "-k", "-w")
		kill.Env = w.env()
		_ = kill.Run() // it says 1 where none runs
		storetest.NoError(t, os.RemoveAll(dir))
	})
	storetest.NoError(t, os.Mkdir(filepath.Join(dir, "prefix"), 0o700))
	server := exec.CommandContext(t.Context(), w.server(), "-p") // it lives on between two programs, so it gets no pipe of ours
	server.Env = append(os.Environ(), w.env()...)
	storetest.NoError(t, server.Run())
	boot := w.start(dir, nil, "wineboot", "--init")
	storetest.NoError(t, boot.Start())
	const gcc = "x86_64-w64-mingw32-gcc"
	library := filepath.Join(dir, "bcryptprimitives.dll")
	runs(t, nil, gcc, "-Wall", "-Werror", "-s", "-shared", "-o", library, "testdata/windows/bcryptprimitives.c", "-ladvapi32")
	runs(t, nil, gcc, "-Wall", "-Werror", "-s", "-o", w.ctrlC, "testdata/windows/ctrlc.c")
	runs(t, []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.exe, ".")
	storetest.NoError(t, boot.Wait())
	stub, err := os.ReadFile(library)
	storetest.NoError(t, err)
	system := filepath.Join(dir, "prefix", "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(system); err != nil { // a newer Wine has it
		storetest.NoError(t, os.WriteFile(system, stub, 0o600))
	}
	return w
}

// server is Wine's kernel.
func (w *wine) server() string {
	if path := filepath.Join(filepath.Dir(w.loader), "wineserver"); exists(path) {
		return path
	}
	return "wineserver"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (w *wine) env() []string {
	return []string{"WINEPREFIX=" + filepath.Join(w.dir, "prefix"), "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", "DISPLAY="}
}

// start is a program of Windows. Its process is one of Linux: SIGKILL ends it as TerminateProcess does, without a last word.
func (w *wine) start(dir string, env []string, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(w.loader, append([]string{program}, args...)...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), w.env(), env)
	return cmd
}

// command starts ypcrawl.exe, as world.program.
func (w *wine) command(dir string, env []string, args ...string) *exec.Cmd {
	return w.start(dir, env, w.exe, args...)
}

// runs runs a program that has to succeed.
func runs(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// TestWine runs the program for Windows, and the tests of those packages that deal with its files.
func TestWine(t *testing.T) {
	w := newWine(t)
	t.Run("parts", func(t *testing.T) { // all together: each waits for the disk most of its time
		for name, part := range map[string]func(*testing.T, *wine){
			"a crawl": testWineCrawl, "two at a time": testWineTwo, "Ctrl-C": testWineCtrlC, "selftest": testWineSelftest,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				part(t, w)
			})
		}
		for _, name := range []string{"wal", "store", "checkpoint"} {
			t.Run("tests of "+name, func(t *testing.T) {
				t.Parallel()
				testWinePackage(t, w, name)
			})
		}
	})
}

// testWinePackage runs the tests of a package. What Wine lacks is in store/storetest/wine_windows.go: any failure is one.
func testWinePackage(t *testing.T, w *wine, name string) {
	out := runs(t, slices.Concat(w.env(), []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "TEST_YPCRAWL_SCHEMA="}),
		"go", "test", "-short", "-tags", "wine", "-ldflags=-checklinkname=0", "-count", "1", "-timeout", "5m", "-exec", w.loader, "./"+name)
	if !strings.HasPrefix(out, "ok ") {
		t.Error(out)
	}
}

func wineWorld(t *testing.T, w *wine) *world {
	t.Helper()
	site := siteWorld(t, demo.Config{Places: 1})
	site.only("Plumbers", "Dentists")
	site.program = w.command
	return site
}

// testWineCrawl kills a crawl of indexes, searches and details three times, and does with the file what people do.
func testWineCrawl(t *testing.T, wine *wine) {
	w := wineWorld(t, wine)
	w.chain = true
	for i, requests := range []int{5, 12, 60} { // among the searches, and twice among the details
		if !w.killAfter(requests) {
			t.Fatalf("the crawl came to its end before kill %d", i+1)
		}
		if i == 1 && !regexp.MustCompile(`(?m)^[1-9]\d* targets? recovered\r?$`).MatchString(w.must("recover")) {
			t.Error("no target of the killed run was recovered")
		}
	}
	w.finish()
	w.checkTruth()
	w.checkRecords()
	w.checkRefetched(3)
	w.likeOnLinux()
	w.must("reset", "--yes", "--from-page-1", "1")
	w.finish()
	w.checkTruth()
	w.packed()
	w.checkReplay()
	w.copied()
	w.page(wine)
}

// likeOnLinux compares the listings with those of a crawl on Linux, and the exports of one database in each format.
func (w *world) likeOnLinux() {
	w.t.Helper()
	linux := *w
	linux.program, linux.dir = nil, w.t.TempDir()
	linux.finish()
	listings := func(dir string) []string {
		out, err := command(dir, nil, "export", "--columns", "listing_id,name,phone,street,city,state,website,email,hours").Output()
		storetest.NoError(w.t, err)
		lines := strings.Split(string(out), "\n")
		slices.Sort(lines)
		return lines
	}
	got := listings(w.dir)
	if len(got) < 100 {
		w.t.Errorf("%d lines of listings", len(got))
	}
	storetest.Diff(w.t, got, listings(linux.dir), "listings")
	for _, format := range []string{"csv", "tsv", "jsonl", "xlsx", "geojson"} {
		w.must("export", "-o", "windows."+format)
		storetest.NoError(w.t, command(w.dir, nil, "export", "-o", "linux."+format).Run())
		exported, err := os.ReadFile(filepath.Join(w.dir, "windows."+format))
		storetest.NoError(w.t, err)
		same, err := os.ReadFile(filepath.Join(w.dir, "linux."+format))
		storetest.NoError(w.t, err)
		if format == "xlsx" { // its last sheet says when it was written
			exported, same = listingsSheet(w.t, exported), listingsSheet(w.t, same)
		}
		if len(exported) == 0 || !bytes.Equal(exported, same) {
			w.t.Errorf("the exports as %s differ: %d bytes, on Linux %d", format, len(exported), len(same))
		}
	}
}

// listingsSheet is the first sheet of a book.
func listingsSheet(t *testing.T, book []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(book), int64(len(book)))
	storetest.NoError(t, err)
	f, err := z.Open("xl/worksheets/sheet1.xml")
	storetest.NoError(t, err)
	defer f.Close()
	sheet, err := io.ReadAll(f)
	storetest.NoError(t, err)
	return sheet
}

// packed compresses the logs, and leaves none as it was.
func (w *world) packed() {
	w.t.Helper()
	w.must("wal", "compress")
	for pattern, want := range map[string]bool{"*.jsonl": false, "*.tmp": false, "*.zst": true} {
		files, err := filepath.Glob(filepath.Join(w.dir, "logs", "yp_wal", pattern))
		storetest.NoError(w.t, err)
		if len(files) > 0 != want {
			w.t.Errorf("after wal compress there are %q", files)
		}
	}
}

// copied copies the database, and restores the copy.
func (w *world) copied() {
	w.t.Helper()
	storetest.NoError(w.t, os.Mkdir(filepath.Join(w.dir, "copies"), 0o700))
	w.must("backup", "copies/monday.db")
	w.must("backup", "copies/monday.db", "--overwrite")
	for range 2 { // where there is none, and in the place of one; this test has ypcrawl.db itself open
		w.must("--db", "new.db", "restore", "--yes", "copies/monday.db")
	}
	w.checkRows(filepath.Join(w.dir, "new.db"))
	if out := w.must("doctor"); strings.Contains(out, "bad ") {
		w.t.Errorf("doctor says\n%s", out)
	}
}

// page asks `dashboard` for its page, as a browser does, and ends it by Ctrl-C.
func (w *world) page(wine *wine) {
	w.t.Helper()
	p := wine.inConsole(w.t, w.dir, "dashboard", "--listen", "0")
	url := p.says(w.t, regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
	for path, want := range map[string]string{"/": "ypcrawl.db", "/static/page.css": "{", "/healthz": ""} {
		res, err := http.Get(url + path)
		storetest.NoError(w.t, err)
		body, err := io.ReadAll(res.Body)
		storetest.NoError(w.t, err)
		storetest.NoError(w.t, res.Body.Close())
		if res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			w.t.Errorf("%s: %s, and no %q in\n%s", path, res.Status, want, body)
		}
	}
	p.pressesCtrlC(w.t)
	if code := exitCode(w.t, p.cmd.Wait()); code != 0 {
		w.t.Errorf("dashboard: exit code %d\n%s", code, p.err)
	}
}

// console is ypcrawl.exe in a console of Windows, where keys can be pressed.
type console struct {
	process
	keys io.Writer
}

func (w *wine) inConsole(t *testing.T, dir string, args ...string) *console {
	t.Helper()
	c := &console{process: process{cmd: w.start(dir, nil, w.ctrlC, append([]string{w.exe}, args...)...), out: newSignalBuffer(), err: newSignalBuffer()}}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	keys, err := c.cmd.StdinPipe()
	storetest.NoError(t, err)
	c.keys = keys
	storetest.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_, _ = c.cmd.Process.Kill(), c.cmd.Wait()
		}
	})
	return c
}

func (c *console) pressesCtrlC(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(c.keys, "\n")
	storetest.NoError(t, err)
}

// says waits for what is written to stderr.
func (c *console) says(t *testing.T, what *regexp.Regexp) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		if found := what.FindString(c.err.String()); found != "" {
			return found
		}
		select {
		case <-c.err.written:
		case <-late:
			t.Fatalf("never said %s:\n%s", what, c.err)
		}
	}
}

// testWineTwo has a second run join a first one, refuses one that wants to be alone, and compresses logs beside them.
func testWineTwo(t *testing.T, wine *wine) {
	w := wineWorld(t, wine)
	w.counter.latency.Store(int64(300 * time.Millisecond))
	first := w.command(nil, w.crawlArgs("--workers", "1")...)
	var out bytes.Buffer
	first.Stdout, first.Stderr = &out, &out
	storetest.NoError(t, first.Start())
	w.counter.waitFor(t, 1)
	alone, err := w.command([]string{"YPCRAWL_EXCLUSIVE=true"}, w.crawlArgs()...).CombinedOutput()
	if code := exitCode(t, err); code != 11 || !strings.Contains(string(alone), "exclusive") {
		t.Errorf("exclusive beside a run: exit code %d\n%s", code, alone)
	}
	if out := w.must("wal", "compress", "--json"); !strings.Contains(out, `"live": 1`) && !strings.Contains(out, `"live":1`) {
		t.Errorf("wal compress beside a run: %s", out)
	}
	w.must(w.crawlArgs("--workers", "2")...)
	if code := exitCode(t, first.Wait()); code != 0 {
		t.Errorf("the first run: exit code %d\n%s", code, &out)
	}
	storetest.Equal(t, w.count(`SELECT count(*) FROM runs WHERE outcome = 'done'`), 2, "runs that are done")
	w.checkTruth()
	w.checkRecords()
	w.checkRefetched(0)
}

// testWineCtrlC: the first Ctrl-C finishes the current pages, and says how to go on.
func testWineCtrlC(t *testing.T, wine *wine) {
	w := wineWorld(t, wine)
	w.counter.latency.Store(int64(300 * time.Millisecond))
	c := wine.inConsole(t, w.dir, w.crawlArgs("--workers", "2", "--log-level", "info")...)
	w.counter.waitFor(t, 3)
	c.pressesCtrlC(t)
	if code := exitCode(t, c.cmd.Wait()); code != 130 {
		t.Errorf("exit code %d\n%s", code, c.err)
	}
	for _, want := range []string{"Ctrl-C again ends at once", "Continue with:", "ypcrawl.exe run --source demo --base-url " + w.url} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("%q is not said:\n%s", want, c.err)
		}
	}
	storetest.Equal(t, w.count(`SELECT count(*) FROM runs WHERE outcome = 'interrupted'`), 1, "runs that were interrupted")
	storetest.Equal(t, w.held(), 0, "targets that are held")
	w.counter.latency.Store(0)
	w.finish()
	w.checkTruth()
	w.checkRefetched(0)
}

// testWineSelftest: all is well, but the folder can't be removed: os.RemoveAll wants FileDispositionInformationEx, which Wine 8.0
// hasn't got.
func testWineSelftest(t *testing.T, wine *wine) {
	dir := t.TempDir()
	out, err := wine.command(dir, nil, "selftest", "--crash", "2").CombinedOutput()
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", "\n")), "\n")
	noRemoval := regexp.MustCompile(`^ypcrawl: selftest: unlinkat \S+\\ypcrawl-selftest-\d+\\\S+: Invalid function\.$`)
	if exitCode(t, err) == 1 && noRemoval.MatchString(lines[len(lines)-1]) {
		lines, err = lines[:len(lines)-1], nil
	}
	if want := "an undisturbed crawl\nkills at random\na crawl stopped"; err != nil || !strings.HasPrefix(strings.Join(lines, "\n"), want) || len(lines) != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "crawl-*")); err != nil || len(left) > 3 {
		t.Errorf("%q (%v)", left, err)
	}
}
