package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// The commands that the scripts in testdata/script have beside testscript's own.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits":        cmdExits,
		"until":        cmdUntil,
		"start":        cmdStart,
		"waitfor":      cmdWaitFor,
		"halt":         cmdHalt,
		"insist":       cmdInsist,
		"signal":       cmdSignal,
		"serve-demo":   cmdServeDemo,
		"serve-files":  cmdServeFiles,
		"serve-odd":    cmdServeOdd,
		"serve-hook":   cmdServeHook,
		"fetch":        cmdFetch,
		"free-address": cmdFreeAddress,
		"asked":        cmdAsked,
		"sqlite":       cmdSQLite,
		"json":         cmdJSON,
		"holds-same":   cmdHoldsSame,
		"database-id":  cmdDatabaseID,
		"damage":       cmdDamage,
		"ruin":         cmdRuin,
		"log-of":       cmdLogOf,
		"no-controls":  cmdNoControls,
		"alter-sqlite": cmdAlterSQLite,
		"read-on":      cmdReadOn,
		"grep-all":     cmdGrepAll,
		"private":      cmdPrivate,

		"serve-secret":   cmdServeSecret,
		"secret-nowhere": cmdSecretNowhere,
	}
}

// scriptParams is what TestScript runs with.
func scriptParams() testscript.Params {
	// Whole paths: Go's cache of test results began to watch after TestMain changed the folder.
	schemaPath := os.Getenv(schemaFile)
	_, err := os.Stat(schemaPath)
	must(err)
	all := filepath.Join(filepath.Dir(schemaPath), "testdata", "script")
	dir, files := all, []string(nil)
	for _, name := range scripts {
		dir, files = "", append(files, filepath.Join(all, name+".txtar"))
	}
	return testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptCommands(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv(schemaFile, schemaPath)
			e.Setenv("PLATFORM", runtime.GOOS+"/"+runtime.GOARCH)
			e.Values[secretKey{}] = new(*guarded)
			e.Values[stateKey{}] = &scriptState{vars: e.Vars, running: map[string]*process{}, readers: map[string]func(){}, request: make(chan struct{}, 1)}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	}
}

type stateKey struct{}

// scriptState is what one script's commands share.
type scriptState struct {
	vars    []string
	running map[string]*process
	readers map[string]func() // what ends a transaction of cmdReadOn, by its file
	asked   atomic.Int64      // requests for pages since the last look
	request chan struct{}
}

// count counts a request for a page.
func (s *scriptState) count() {
	s.asked.Add(1)
	select {
	case s.request <- struct{}{}:
	default:
	}
}

func stateOf(ts *testscript.TestScript) *scriptState { return ts.Value(stateKey{}).(*scriptState) }

func need(ts *testscript.TestScript, neg, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

// cmdExits is `exits CODE PROGRAM ARG...`: the program ends with that very code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "exits CODE PROGRAM ARG...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	checkCode(ts, ts.Exec(args[1], args[2:]...), want)
}

// cmdUntil is `until REGEXP PROGRAM ARG...`: the program writes a match to stdout, now or when it is run again: what it
// tells of a crawl beside it depends on the moment.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "until REGEXP PROGRAM ARG...")
	re := regexp.MustCompile(args[0])
	for range 20 {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if re.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never wrote %s", args[1:], re)
}

func checkCode(ts *testscript.TestScript, err error, want int) {
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// process is a program in the background whose output can be waited for.
type process struct {
	cmd      *exec.Cmd
	out, err *signalBuffer
}

// signalBuffer tells when something was written to it.
type signalBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	written chan struct{}
}

func newSignalBuffer() *signalBuffer { return &signalBuffer{written: make(chan struct{}, 1)} }

// Write implements io.Writer.
func (b *signalBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.written <- struct{}{}:
	default:
	}
	return b.buf.Write(p)
}

// String returns all that was written.
func (b *signalBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// cmdStart is `start NAME ARG...`: ypcrawl in the background.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "start NAME ARG...")
	p := &process{cmd: exec.Command("ypcrawl", args[1:]...), out: newSignalBuffer(), err: newSignalBuffer()}
	p.cmd.Dir, p.cmd.Env = ts.MkAbs("."), stateOf(ts).vars
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	ts.Check(p.cmd.Start())
	stateOf(ts).running[args[0]] = p
	ts.Defer(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
}

// cmdWaitFor is `waitfor NAME stdout|stderr REGEXP [VARIABLE]`: the running program writes it;
// the variable becomes what was matched.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3 || len(args) == 4, "waitfor NAME stdout|stderr REGEXP [VARIABLE]")
	p := stateOf(ts).running[args[0]]
	b, re := p.err, regexp.MustCompile(args[2])
	if args[1] == "stdout" {
		b = p.out
	}
	late := time.After(30 * time.Second)
	for !re.MatchString(b.String()) {
		select {
		case <-b.written:
		case <-late:
			ts.Fatalf("%s never wrote %s; stdout:\n%s\nstderr:\n%s", args[0], args[2], p.out, p.err)
		}
	}
	if len(args) == 4 {
		ts.Setenv(args[3], re.FindString(b.String()))
	}
}

// cmdSignal is `signal NAME INT|TERM|KILL`.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "signal NAME SIGNAL")
	ts.Check(stateOf(ts).running[args[0]].cmd.Process.Signal(signalOf(args[1])))
}

func signalOf(name string) syscall.Signal {
	return map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[name]
}

// cmdInsist is `insist NAME SIGNAL CODE`: signals a program until it ends, with that code.
func cmdInsist(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3, "insist NAME SIGNAL CODE")
	p := stateOf(ts).running[args[0]]
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.cmd.Wait() // read again below
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		select {
		case <-ended:
			want, err := strconv.Atoi(args[2])
			ts.Check(err)
			if got := p.cmd.ProcessState.ExitCode(); got != want {
				ts.Fatalf("exit code %d, want %d", got, want)
			}
			return
		case <-tick.C:
			_ = p.cmd.Process.Signal(signalOf(args[1])) // it may have ended just now
		}
	}
	ts.Fatalf("%s does not end", args[0])
}

// cmdHalt is `halt NAME SIGNAL CODE [TIME]`: signals the program and expects the code
// with which it ends, within that time.
func cmdHalt(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3 || len(args) == 4, "halt NAME SIGNAL CODE [TIME]")
	if cmdSignal(ts, false, args[:2]); len(args) == 4 {
		limit, err := time.ParseDuration(args[3])
		ts.Check(err)
		late := time.AfterFunc(limit, func() { _ = stateOf(ts).running[args[0]].cmd.Process.Kill() }) // the code tells
		defer late.Stop()
	}
	p := stateOf(ts).running[args[0]]
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	err = p.cmd.Wait()
	_, _ = fmt.Fprint(ts.Stdout(), p.out)
	_, _ = fmt.Fprint(ts.Stderr(), p.err)
	checkCode(ts, err, want)
}

func openSQLite(ts *testscript.TestScript, path, mode string) *sql.DB {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(ts.MkAbs(path)), RawQuery: "mode=" + mode}
	db, err := sql.Open("sqlite", u.String())
	ts.Check(err)
	return db
}

// cmdSQLite is `sqlite FILE QUERY`: prints rows, cells parted by |.
func cmdSQLite(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "sqlite FILE QUERY")
	db := openSQLite(ts, args[0], "ro")
	defer func() { _ = db.Close() }()
	for _, row := range table(ts, db, args[1]) {
		_, _ = fmt.Fprintln(ts.Stdout(), row)
	}
}

// cmdAlterSQLite is `alter-sqlite FILE STATEMENT`.
func cmdAlterSQLite(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "alter-sqlite FILE STATEMENT")
	db := openSQLite(ts, args[0], "rwc")
	_, err := db.ExecContext(context.Background(), unescape(args[1]))
	ts.Check(errors.Join(err, db.Close()))
}

// cmdReadOn is `[!] read-on FILE`: a transaction reads the database until it is ended by the form with !.
func cmdReadOn(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, len(args) == 1, "[!] read-on FILE")
	readers := stateOf(ts).readers
	if neg {
		readers[args[0]]()
		return
	}
	db := openSQLite(ts, args[0], "ro")
	tx, err := db.BeginTx(context.Background(), nil)
	ts.Check(err)
	ts.Check(tx.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema").Scan(new(int)))
	readers[args[0]] = sync.OnceFunc(func() { _, _ = tx.Rollback(), db.Close() })
	ts.Defer(readers[args[0]])
	ts.Setenv("READER", strconv.Itoa(os.Getpid()))
}

// unescape turns \xNN and \uNNNN into what no script can hold.
func unescape(s string) string {
	return regexp.MustCompile(`\\u[0-9a-f]{4}`).ReplaceAllStringFunc(s, func(m string) string {
		r, _ := strconv.ParseUint(m[2:], 16, 32)
		return string(rune(r))
	})
}

// cmdJSON is `[!] json FILE|stdout PATH VALUE`: the value at a.b.0.c, as JSON or as plain text.
// Of several lines the last one counts.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, len(args) == 3, "[!] json FILE PATH VALUE")
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	var v any
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &v))
	for _, key := range strings.Split(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(at) {
				v = at[i]
			} else {
				v = len(at)
			}
		}
	}
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		ts.Check(err)
		text = string(b)
	}
	if (text == args[2]) == neg {
		ts.Fatalf("%s is %s", args[1], text)
	}
}

// cmdHoldsSame is `holds-same FILE FILE`: both databases hold the same listings and
// companies.
func cmdHoldsSame(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "holds-same FILE FILE")
	var all [2][]string
	for i, path := range args {
		db := openSQLite(ts, path, "ro")
		all[i] = table(ts, db, `SELECT l.listing_id || '|' || l.name || '|' || ifnull(l.hours, '') || '|' ||
			(SELECT min(listing_id) FROM listings WHERE company_id = l.company_id) FROM listings l ORDER BY l.listing_id`)
		ts.Check(db.Close())
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || len(all[0]) == 0 {
		ts.Fatalf("they differ (-first +second):\n%s", head(diff))
	}
}

// cmdDatabaseID is `database-id FILE VARIABLE`: the id that the file's logs name.
func cmdDatabaseID(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "database-id FILE VARIABLE")
	db := openSQLite(ts, args[0], "ro")
	ts.Setenv(args[1], table(ts, db, `SELECT value FROM meta WHERE key = 'database_id'`)[0])
	ts.Check(db.Close())
}

// table reads the rows of a query, cells parted by |.
func table(ts *testscript.TestScript, db *sql.DB, query string) (all []string) {
	rows, err := db.QueryContext(context.Background(), query)
	ts.Check(err)
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	ts.Check(err)
	cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		ts.Check(rows.Scan(into...))
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = c.String
		}
		all = append(all, strings.Join(texts, "|"))
	}
	ts.Check(rows.Err())
	return all
}

// cmdDamage is `damage FILE`: overwrites every third page behind the schema's.
func cmdDamage(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "damage FILE")
	overwrite(ts, args[0], func(_ *sql.DB, pages int) (all []int) {
		for n := 21; n <= pages; n += 3 {
			all = append(all, n)
		}
		return all
	})
}

// cmdRuin is `ruin FILE`: overwrites the first page of every table and index, and leaves the
// schema, so that the file opens and its queries fail.
func cmdRuin(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "ruin FILE")
	overwrite(ts, args[0], func(db *sql.DB, _ int) (all []int) {
		for _, root := range table(ts, db, "SELECT rootpage FROM sqlite_master WHERE rootpage > 1") {
			n, err := strconv.Atoi(root)
			ts.Check(err)
			all = append(all, n)
		}
		return all
	})
}

// overwrite makes some pages of a database unreadable; the first has number 1.
func overwrite(ts *testscript.TestScript, path string, which func(db *sql.DB, pages int) []int) {
	db := openSQLite(ts, path, "rw")
	_, err := db.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	ts.Check(err)
	const size = 4096
	data := []byte(ts.ReadFile(path))
	for _, n := range which(db, len(data)/size) {
		copy(data[(n-1)*size:n*size], bytes.Repeat([]byte{0xff}, size))
	}
	ts.Check(db.Close())
	ts.Check(os.WriteFile(ts.MkAbs(path), data, 0o600))
}

// cmdLogOf is `log-of FOLDER VARIABLE`: the largest log of a folder.
func cmdLogOf(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "log-of FOLDER VARIABLE")
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var largest int64 = -1
	for _, e := range entries {
		info, err := e.Info()
		ts.Check(err)
		if info.Size() > largest {
			largest = info.Size()
			ts.Setenv(args[1], args[0]+"/"+e.Name())
		}
	}
}

// cmdGrepAll is `[!] grep-all TEXT FOLDER`: some (no) file below the folder holds
// the text.
func cmdGrepAll(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] grep-all TEXT FOLDER")
	}
	files, found := 0, ""
	err := filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(args[0])) {
			found = path
		}
		return err
	})
	ts.Check(err)
	if files == 0 || neg == (found != "") {
		ts.Fatalf("%q in %d files below %s: found in %q", args[0], files, args[1], found)
	}
}

// cmdNoControls is `no-controls FILE...`: nothing in it acts on a terminal.
func cmdNoControls(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 0, "no-controls FILE...")
	act := regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
	for _, name := range args {
		if found := act.FindString(ts.ReadFile(name)); found != "" {
			ts.Fatalf("%s holds %q", name, found)
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams())
}
