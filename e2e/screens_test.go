//go:build screens && unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// desk is a tmux server with the program in its PATH, in an empty folder.
type desk struct {
	t   *testing.T
	dir string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing: apt-get install --no-install-recommends tmux")
	}
	d := &desk{t: t, dir: t.TempDir()}
	storetest.NoError(t, os.Mkdir(filepath.Join(d.dir, "work"), 0o755))
	program := fmt.Sprintf("#!/bin/sh\n%s=main exec '%s' \"$@\"\n", asMain, os.Args[0])
	if err := os.WriteFile(filepath.Join(d.dir, "ypcrawl"), []byte(program), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	d.tmux("new-session", "-d", "-s", "idle") // a server ends with its last session
	t.Cleanup(func() { d.tmux("kill-server") })
	return d
}

func (d *desk) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.t.Context()), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(d.dir, "socket"), "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+d.dir+":"+os.Getenv("PATH"), "NO_COLOR=", "COLUMNS=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *desk) tmux(args ...string) string {
	d.t.Helper()
	out, err := d.try(args...)
	if err != nil {
		d.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return out
}

// runs starts a command line on a terminal of that size. What is on the screen in the end is followed by its exit code.
func (d *desk) runs(width int, line string) {
	d.t.Helper()
	d.tmux("new-session", "-d", "-s", "s", "-x", fmt.Sprint(width), "-y", "24", "-c", filepath.Join(d.dir, "work"), "sh -c 'trap : INT; "+line+"; echo \"[exit $?]\"; read end'")
}

func (d *desk) ends() { d.tmux("kill-session", "-t", "s") }

var spaces = regexp.MustCompile(` +\n`)

// shows waits until the screen shows a text, and returns it with what was scrolled out.
func (d *desk) shows(text string) (screen string) {
	d.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) { // tmux tells nobody
		if screen = spaces.ReplaceAllString(d.tmux("capture-pane", "-p", "-S", "-", "-t", "s"), "\n"); strings.Contains(screen, text) {
			return strings.TrimRight(screen, "\n ") + "\n"
		}
	}
	d.t.Fatalf("the screen does not show %q:\n%s", text, screen)
	return ""
}

// masks take out what differs from run to run. What stood in columns may be elsewhere then.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`\d\d:\d\d(:\d\d)?(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h|d))+(\s+ago)?\b|\bnow\b|\b\d+ ms\b|\b\d+(\.\d+)? s\b`), "LASTS"},
	{regexp.MustCompile(`\n +\(LASTS\)`), " (LASTS)"}, // seconds or a word decide where the line breaks
	{regexp.MustCompile(`amber\s+\(\d+\)`), "amber (PID)"},
	{regexp.MustCompile(`begins,\s+DATE,\s+by\s+amber[^:]*?:\s+ypcrawl`), "begins, DATE, by WHOM: ypcrawl"}, // how long its number is decides what fits
	{regexp.MustCompile(`\d+(\.\d+)? pages/s|ETA unknown`), "SPEED"},
	{regexp.MustCompile(`pages/s +\d+\.\d`), "pages/s SPEED"},
	{regexp.MustCompile(`· \d+ pages`), "· N pages"},
	{regexp.MustCompile(`(· \d+ listings )?· SPEED · (ETA LASTS|SPEED)`), "· SPEED · ETA"}, // how long it takes decides what fits
	{regexp.MustCompile(`\d+ MB`), "SIZE"},
	{regexp.MustCompile(`\|[█ ]*\|`), "|BAR|"},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
	{regexp.MustCompile(`(origin  at)  \S+\n(results page  LASTS).*\n`), "$1  FIELDS\n$2\n"}, // how long ago it was decides what fits
}

// matches compares a screen with its golden file. No line of it may have been broken by the terminal, but what is to be
// typed, and long words.
func (d *desk) matches(name string, width int, screen string) {
	d.t.Helper()
	written := strings.TrimRight(spaces.ReplaceAllString(d.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "s"), "\n"), "\n ") + "\n"
	for line := range strings.Lines(written) { // whole, also where it is broken on the screen
		words := append(strings.Fields(line), "")
		if yp.Columns(strings.TrimSuffix(line, "\n")) > width && !strings.HasPrefix(line, "  ") && yp.Columns(words[max(0, len(words)-2)]) <= width/2 {
			d.t.Errorf("%s: wider than %d columns: %q", name, width, line)
		}
	}
	host, err := os.Hostname()
	storetest.NoError(d.t, err)
	got := regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(written, "HOST")
	for _, m := range masks {
		if strings.Contains(name, "help") {
			break // it is the same each time
		}
		got = m.what.ReplaceAllString(got, m.with)
	}
	file := filepath.Join("testdata/screens", fmt.Sprintf("%s.%d.txt", name, width))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // as the other files of the repository
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	storetest.NoError(d.t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		d.t.Errorf("%s: %s\nas it stood there:\n%s\nlook at it, then: make screens SCREENS=-update", file, diff, screen)
	}
}

const someTargets = "--source demo --states CA TX --max-cities 2 --categories Plumbers Dentists --workers 1"

// TestScreens looks at what commands show on terminals of 80 and of 40 columns.
func TestScreens(t *testing.T) {
	d := newDesk(t)
	for name, line := range map[string]string{"help": "ypcrawl --help", "run-help": "ypcrawl run --help", "unknown": "ypcrawl progess"} {
		for _, width := range []int{80, 40} {
			d.runs(width, line)
			d.matches(name, width, d.shows("[exit "))
			d.ends()
		}
	}
	d.runs(80, "ypcrawl run "+someTargets)
	d.matches("run", 80, d.shows("[exit "))
	d.ends()
	for name, line := range map[string]string{
		"progress": "progress", "status": "status", "workers": "workers --all --columns worker state target page pages run host", "targets": "targets list", "listings": "listings list --limit 5", "changes": "changes --limit 5 --columns kind listing name city state what",
		"coverage": "coverage", "listing": "listings show demo/192790120", "target": "targets show 1", "companies": "companies list --limit 5", "sources": "sources list", "trace": "trace 1", "runs": "runs list --columns run state targets pages new dropped requests",
	} {
		for _, width := range []int{80, 40} {
			d.runs(width, "ypcrawl "+line)
			d.matches(name, width, d.shows("[exit "))
			d.ends()
		}
	}
}

// TestBarOnATerminal follows the bar through other widths, and to Ctrl-C and the end.
func TestBarOnATerminal(t *testing.T) {
	d := newDesk(t)
	bars := func(screen string) int { return strings.Count(screen, "% |") }
	d.runs(80, "ypcrawl run "+someTargets+" --delay 250ms")
	d.matches("bar", 80, d.shows("1/8 searches"))
	for _, width := range []int{40, 100, 60, 30, 80} {
		d.tmux("resize-window", "-t", "s", "-x", fmt.Sprint(width), "-y", "24")
		// The terminal tells its new width late. Then there is one bar, it is the last line, and nothing is left of another.
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			screen := d.shows(" searches")
			end := strings.LastIndex(strings.TrimRight(screen, "\n"), "\n") + 1
			if bar := strings.TrimRight(screen[end:], "\n"); strings.Contains(bar, "% |") && yp.Columns(bar) < width && !strings.ContainsAny(screen[:end], "·█") {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatalf("in %d columns:\n%s", width, screen)
			}
		}
	}
	d.tmux("send-keys", "-t", "s", "C-c")
	screen := d.shows("[exit 130]")
	if bars(screen) != 1 || strings.Contains(screen, "^C%") {
		t.Errorf("after Ctrl-C:\n%s", screen)
	}
	d.ends()
	d.runs(80, "ypcrawl run "+someTargets)
	if screen = d.shows("[exit 0]"); bars(screen) != 1 || !strings.Contains(screen, "100% |") {
		t.Errorf("at the end:\n%s", screen)
	}
	d.ends()
}
