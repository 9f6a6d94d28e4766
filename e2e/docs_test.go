//go:build unix

package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// block is a fenced block of a document.
type block struct {
	line  int    // of its fence
	lang  string // what is behind the fence
	mark  string // of <!-- MARK: WORDS --> above it
	words string
	text  []string
}

// blocksOf returns the fenced blocks of a document.
func blocksOf(t *testing.T, path string) (all []block) {
	t.Helper()
	data, err := os.ReadFile(path)
	storetest.NoError(t, err)
	mark := regexp.MustCompile(`^<!-- (file|not run|later|needs): (.+) -->$`)
	var open *block
	above := ""
	for i, l := range strings.Split(string(data), "\n") {
		switch fence := strings.HasPrefix(l, "```"); {
		case fence && open == nil:
			open = &block{line: i + 1, lang: strings.TrimPrefix(l, "```")}
			if m := mark.FindStringSubmatch(above); m != nil {
				open.mark, open.words = m[1], m[2]
			}
		case fence:
			all, open = append(all, *open), nil
		case strings.HasPrefix(strings.TrimSpace(l), "```"):
			t.Fatalf("%s:%d: a fence stands at the beginning of a line, or nobody runs its block", path, i+1)
		case open != nil && open.lang != "console" && strings.HasPrefix(l, "$ "):
			t.Fatalf("%s:%d: a command behind \"$ \" stands in a block ```console, or nobody runs it", path, i+1)
		case open != nil:
			open.text = append(open.text, l)
		}
		above = l
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", path, open.line)
	}
	return all
}

// documents are the README and docs/*.md.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatal("no documents", err)
	}
	return append(found, "README.md")
}

// TestDocs types what the documents show, each document in a shell and a folder of its own.
//
// Of a block ```console, lines that begin with "$ " are commands, and "> " goes on with one. Each must end with
// exit code 0. The other lines are output: each must be a line of it, in this order, where a number stands for any number,
// "..." for any text, and a space for several. Lines of the output may be left out. The ports 8080 and 8081 are others here.
// A block ```sql is asked of ypcrawl.db, and each of its statements must find a row. Blocks in other languages are not run.
//
// A comment above a block says more: <!-- file: NAME --> writes its text there, <!-- not run: REASON --> leaves it out, and
// <!-- later: HOW MUCH --> lets all that is done fall due before it, <!-- needs: PROGRAM --> leaves it out where PATH lacks that.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, doc := range documents(t) {
		blocks := blocksOf(t, doc)
		runs := func(b block) bool { return b.mark != "not run" && (b.lang == "console" || b.lang == "sql") }
		if !slices.ContainsFunc(blocks, runs) {
			continue
		}
		t.Run(filepath.Base(doc), func(t *testing.T) {
			t.Parallel()
			sh := newTerminal(t)
			for _, b := range blocks {
				at, text := fmt.Sprintf("%s:%d", doc, b.line), strings.Join(b.text, "\n")
				switch b.mark {
				case "file":
					storetest.NoError(t, os.WriteFile(filepath.Join(sh.dir, b.words), []byte(sh.ports.Replace(text)+"\n"), 0o600))
					continue
				case "not run":
					t.Logf("%s: not run: %s", at, b.words)
					continue
				case "needs":
					if _, err := exec.LookPath(b.words); err != nil {
						t.Logf("%s: not run: there is no %s", at, b.words)
						continue
					}
				case "later":
					sh.later()
				}
				switch b.lang {
				case "console":
					sh.block(at, b.text)
				case "sql":
					sh.ask(at, text)
				case "sh":
					t.Logf("%s: not run: sh", at)
				}
			}
		})
	}
}

// terminal is a shell in a folder of its own.
type terminal struct {
	t     *testing.T
	dir   string
	in    io.Writer
	out   *signalBuffer
	ended chan struct{}
	ports *strings.Replacer
	free  [2]string // what 8080 and 8081 are here
	typed int
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	s := &terminal{t: t, dir: t.TempDir(), out: newSignalBuffer(), ended: make(chan struct{})}
	for i := range s.free {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		storetest.NoError(t, err)
		defer func() { _ = l.Close() }()
		_, s.free[i], _ = net.SplitHostPort(l.Addr().String())
	}
	s.ports = strings.NewReplacer("8080", s.free[0], "8081", s.free[1])
	cmd := exec.Command("sh")
	cmd.Dir = s.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "YPCRAWL_") }),
		"HOME="+s.dir, "TZ=UTC", "LC_ALL=C", "NO_COLOR=1")
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // the shell has ended, what it left in the background writes on
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	storetest.NoError(t, err)
	s.in = in
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // a shell that ends early is found by check
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with what it left in the background
		<-s.ended
	})
	return s
}

// block types the commands of a block and compares what they print.
func (s *terminal) block(at string, lines []string) {
	s.t.Helper()
	command, want := "", []string(nil)
	end := func() {
		if command != "" {
			s.check(at, command, want)
		}
		command, want = "", nil
	}
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "$ "):
			end()
			command = l[2:]
		case command == "":
			s.t.Fatalf("%s: a block of a console begins with a command, behind \"$ \"", at)
		case strings.HasPrefix(l, "> ") && want == nil:
			command += "\n" + l[2:]
		default:
			want = append(want, l)
		}
	}
	end()
}

// check types a command, and waits for its end.
func (s *terminal) check(at, command string, want []string) {
	s.t.Helper()
	s.typed++
	mark := regexp.MustCompile(fmt.Sprintf(`(?s)\x1e%d\n(.*)\x1e%d exit (\d+)\n`, s.typed, s.typed))
	typed := s.ports.Replace(command)
	_, err := fmt.Fprintf(s.in, "printf '\\036%d\\n'\n{ %s\n} </dev/null\nprintf '\\036%d exit %%d\\n' $?\n", s.typed, typed, s.typed)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", at, command, err)
	}
	late := time.After(3 * time.Minute)
	var m []string
	for m == nil {
		select {
		case <-s.out.written:
		case <-s.ended:
			s.t.Fatalf("%s: %s: the shell ended:\n%s", at, command, s.out)
		case <-late:
			s.t.Fatalf("%s: %s: no end after 3 minutes:\n%s", at, command, s.out)
		}
		m = mark.FindStringSubmatch(s.out.String())
	}
	if m[2] != "0" {
		s.t.Fatalf("%s: exit code %s of: %s\n%s", at, m[2], command, m[1])
	}
	if missing := missingLine(m[1], want); missing != "" {
		s.t.Fatalf("%s: %s\nthere is no such line, or not in this order: %s\nin\n%s", at, command, missing, m[1])
	}
	if line, _, _ := strings.Cut(typed, "#"); strings.HasSuffix(strings.TrimSpace(line), "&") {
		s.await(at, typed)
	}
}

// missingLine is the first of the lines that want shows and got has not, behind those before it.
func missingLine(got string, want []string) string {
	lines := strings.Split(got, "\n")
	for _, w := range want {
		if w = strings.TrimSpace(w); w == "" || w == "..." {
			continue
		}
		re := regexp.QuoteMeta(w)
		re = strings.NewReplacer(`\.\.\.`, `.*`, `…`, `.*`).Replace(re)
		re = regexp.MustCompile(`[0-9]([0-9,]*[0-9])?`).ReplaceAllString(re, `[0-9][0-9,]*`)
		re = regexp.MustCompile(`\s+`).ReplaceAllString(re, `\s+`)
		i := slices.IndexFunc(lines, regexp.MustCompile(`^\s*`+re+`\s*$`).MatchString)
		if i < 0 {
			return w
		}
		lines = lines[i+1:]
	}
	return ""
}

// await waits until a command in the background listens on the port that it names.
func (s *terminal) await(at, command string) {
	s.t.Helper()
	for _, port := range s.free {
		for begun := time.Now(); strings.Contains(command, port); {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				_ = conn.Close()
				break
			}
			if time.Since(begun) > 30*time.Second {
				s.t.Fatalf("%s: %s: %v", at, command, err)
			}
			time.Sleep(10 * time.Millisecond) // nothing tells when a port of another process opens
		}
	}
}

// database opens ypcrawl.db for one question or statement.
func (s *terminal) database(mode string, use func(db *sql.DB) error) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "ypcrawl.db")+"?mode="+mode)
	if err == nil {
		err = errors.Join(use(db), db.Close())
	}
	storetest.NoError(s.t, err)
}

// later makes every search that is done due, as a week does, and every worker silent whose process was killed.
func (s *terminal) later() {
	s.t.Helper()
	s.database("rw", func(db *sql.DB) error {
		_, err := db.ExecContext(s.t.Context(), `UPDATE targets SET wait_reason = 'recrawl', not_before = '1999-01-01T00:00:00.000Z'
			WHERE kind = 'search' AND status = 'DONE'`)
		if err == nil {
			_, err = db.ExecContext(s.t.Context(), `UPDATE workers SET heartbeat_at = '1999-01-01T00:00:00.000Z' WHERE stopped_at IS NULL`)
		}
		return err
	})
}

// ask runs the statements of a block ```sql, each until it has a row: a crawl in the background may just have begun.
func (s *terminal) ask(at, text string) {
	s.t.Helper()
	for statement := range strings.SplitSeq(text, ";\n") {
		for begun := time.Now(); !s.answers(at, statement); time.Sleep(50 * time.Millisecond) { // nothing tells when another process has written
			if time.Since(begun) > 20*time.Second {
				s.t.Fatalf("%s: no row of\n%s", at, statement)
			}
		}
		if _, err := exec.LookPath("sqlite3"); err == nil {
			mustSQLite3(s.t, filepath.Join(s.dir, "ypcrawl.db"), statement)
		}
	}
}

// answers reports whether a statement has a row.
func (s *terminal) answers(at, statement string) (found bool) {
	s.t.Helper()
	s.database("ro", func(db *sql.DB) error {
		rows, err := db.QueryContext(s.t.Context(), statement)
		if err != nil {
			return fmt.Errorf("%s: %w in\n%s", at, err, statement)
		}
		defer func() { _ = rows.Close() }()
		found = rows.Next()
		return rows.Err()
	})
	return found
}

// TestDocLinks: what a document links to is there, headings too; docs/README.md links to each document; the README is short.
func TestDocLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	index, err := os.ReadFile("docs/README.md")
	storetest.NoError(t, err)
	for _, doc := range documents(t) {
		data, err := os.ReadFile(doc)
		storetest.NoError(t, err)
		if lines := bytes.Count(data, []byte("\n")); doc == "README.md" && lines > 150 {
			t.Errorf("README.md has %d lines, want 150 or fewer", lines)
		}
		if name := filepath.Base(doc); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not link to %s", name)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			to := doc
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(doc), m[1])
			}
			if text, err := os.ReadFile(to); err != nil && !isFolder(to) || m[2] != "" && !slices.Contains(anchors(text), m[2]) {
				t.Errorf("%s links to %s%s, which is not there", doc, m[1], m[2])
			}
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// anchors are the headings of a document as links name them.
func anchors(text []byte) (all []string) {
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAll(bytes.ToLower(h[1]), nil)
		all = append(all, "#"+strings.ReplaceAll(string(name), " ", "-"))
	}
	return all
}
