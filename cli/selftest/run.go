package selftest

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
)

// Workers are those of each crawl.
const Workers = 5

// Selection is what is crawled, of a directory with Places places a state.
func Selection() demo.Selection { return demo.Selection{States: []string{"CA", "TX"}} }

// Places is demo.Config.Places of the directory that Run crawls.
const Places = 4

// Config says what to test and with what.
type Config struct {
	Dir       string // the disk of this folder is tested, in a folder of its own
	Schema    string // the text of schema.sql
	Kills     int    // at random
	Directory *demo.Directory

	// Command is this program as a child.
	Command func(ctx context.Context, args ...string) *exec.Cmd
	Say     func(step string, done, of int) // tells how far it is
}

// Result is what a selftest found.
type Result struct {
	Pages     int           // of an undisturbed crawl
	Listings  int           //
	Took      time.Duration // the undisturbed crawl
	CPU       time.Duration // user and system, of it
	Kills     int           // at random, that hit
	Stopped   bool          // a crawl was stopped, and continued after another had recovered its targets
	Databases int           // that were crawled into and compared
	Again     int           // pages fetched again
	Allowed   int           // that may be: one a worker and kill or stop
	Lost      int           // listings, in all databases
	Doubled   int
	Problems  []Problem // empty = all is well
	Folder    string    // where the files are, if it was kept
}

// Problem is something that must not be.
type Problem struct {
	Step        string       `json:"step"`     // undisturbed, kills, stopped
	Database    string       `json:"database"` // its path
	Text        string       `json:"text"`
	Differences []Difference `json:"differences"` // from the truth
}

// errCrawl is a problem of ypcrawl or of the disk, not of the selftest.
var errCrawl = errors.New("the crawl failed")

// Run tests. The error is about what could not be tested; what went wrong stands in the result.
func Run(ctx context.Context, cfg Config) (res Result, err error) {
	root, err := os.MkdirTemp(cfg.Dir, "ypcrawl-selftest-")
	if err != nil {
		return res, fmt.Errorf("make a folder to test in: %w: name another place with --dir", err)
	}
	defer func() {
		if ctx.Err() != nil || err == nil && len(res.Problems) == 0 {
			err = errors.Join(err, os.RemoveAll(root))
			return
		}
		res.Folder = root
	}()
	server, err := demo.Serve(ctx, "", cfg.Directory)
	if err != nil {
		return res, err
	}
	defer func() { _ = server.Close() }()
	base, err := url.Parse(server.URL())
	if err != nil {
		return res, err
	}
	r := &runner{Config: cfg, ctx: ctx, root: root, url: server.URL(), res: &res, rnd: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 7))} //nolint:gosec // moments to kill at
	r.truth = cfg.Directory.Truth(base, Selection())
	r.truth.Searches = cfg.Directory.Searches(Selection())
	res.Pages, res.Listings = r.truth.Pages, len(r.truth.Listings)
	for _, step := range []struct {
		name string
		run  func() error
	}{{"undisturbed", r.undisturbed}, {"kills", r.kills}, {"stopped", r.stopped}} {
		r.step = step.name
		if err := step.run(); err != nil {
			if errors.Is(err, errCrawl) && ctx.Err() == nil {
				r.problem(database, nil, "%v", err)
				return res, nil
			}
			return res, err
		}
		if len(res.Problems) > 0 { // what follows would say the same
			break
		}
	}
	return res, nil
}

type runner struct {
	Config
	ctx   context.Context //nolint:containedctx // of the one call that it lives for
	root  string
	url   string
	res   *Result
	rnd   *rand.Rand
	truth demo.Truth

	step   string
	dir    string         // of the database in hand
	before map[string]int // requests by address before it
	allow  int            // pages that may be fetched again for it
}

// database is the file that is crawled into.
const database = "ypcrawl.db"

func (r *runner) problem(file string, all []Difference, format string, args ...any) {
	r.res.Problems = append(r.res.Problems, Problem{r.step, filepath.Join(r.dir, file), fmt.Sprintf(format, args...), append([]Difference{}, all...)})
}

// fresh begins an empty database.
func (r *runner) fresh() error {
	r.res.Databases++
	r.dir = filepath.Join(r.root, strconv.Itoa(r.res.Databases)+"-"+strings.ReplaceAll(r.step, " ", "-"))
	r.before, r.allow = r.Directory.Stats().URLs, 0
	return os.Mkdir(r.dir, 0o700)
}

// longest is after what time a child counts as one that hangs, and is ended.
const longest = 5 * time.Minute

// child is a command of this program in the folder of the database.
func (r *runner) child(args ...string) (*exec.Cmd, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(r.ctx, longest)
	cmd := r.Command(ctx, args...)
	cmd.Cancel = func() error {
		cancel()
		return cmd.Process.Kill()
	}
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &out, &out
	return cmd, &out
}

func (r *runner) crawl() (*exec.Cmd, *bytes.Buffer) {
	return r.child(append([]string{
		"run", "--source", "demo", "--base-url", r.url, "--max-cities", strconv.Itoa(Places), "--delay", "0", "--linger", "0",
		"--workers", strconv.Itoa(Workers), "--log-level", "warn", "--max-duration", longest.String(), // also when this process is killed
		"--states",
	}, Selection().States...)...)
}

// failed is the error of a child that should not have ended so, with the last that it said.
func (r *runner) failed(cmd *exec.Cmd, out *bytes.Buffer) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return fmt.Errorf("%w: %s: %s", errCrawl, cmd.ProcessState, strings.Join(lines[max(0, len(lines)-5):], " / "))
}

// undisturbed crawls once without a kill, and takes the time.
func (r *runner) undisturbed() error {
	r.Say("crawling the demo undisturbed", 0, 0)
	if err := r.fresh(); err != nil {
		return err
	}
	cmd, out := r.crawl()
	begun := time.Now()
	if cmd.Run() != nil {
		return r.failed(cmd, out)
	}
	r.res.Took, r.res.CPU = time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return r.compare()
}

// kills ends crawls at random moments until so many kills have hit.
func (r *runner) kills() error {
	if r.Kills == 0 {
		return nil
	}
	if err := r.fresh(); err != nil {
		return err
	}
	for r.res.Kills < r.Kills {
		r.Say("killing it at random", r.res.Kills, r.Kills)
		cmd, out := r.crawl()
		hit, done, err := r.startAndWait(cmd, out, 1+r.rnd.IntN(20))
		if err == nil && hit {
			_ = cmd.Process.Kill() // it may have ended just now
			<-done
			r.allow += Workers
			r.res.Kills++
			err = r.ctx.Err()
		} else if err == nil { // it was at its end: go on in another database
			if err = r.finish(); err == nil {
				err = r.fresh()
			}
		}
		if err != nil {
			return err
		}
	}
	return r.finish()
}

// startAndWait starts a crawl and waits for so many requests of it and some milliseconds; hit is false when it
// has ended by itself before. done is closed when it has ended.
func (r *runner) startAndWait(cmd *exec.Cmd, out *bytes.Buffer, requests int) (hit bool, done chan struct{}, err error) {
	asked := r.Directory.Stats().Requests + requests
	if err := cmd.Start(); err != nil {
		return false, nil, err
	}
	done = make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		close(done)
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.Directory.Stats().Requests < asked {
		select {
		case <-done:
			return false, done, r.ended(cmd, out)
		case <-tick.C:
		}
	}
	select {
	case <-done:
		return false, done, r.ended(cmd, out)
	case <-time.After(time.Duration(r.rnd.Int64N(int64(20 * time.Millisecond)))):
	}
	return true, done, nil
}

// stopped stops a crawl in the middle of its pages, has its targets recovered and crawled to the end by others,
// and continues it: what it still has in hand must not count.
func (r *runner) stopped() error {
	if !canStop {
		return nil
	}
	r.Say("stopping it, and continuing it after its recovery", 0, 0)
	if err := r.fresh(); err != nil {
		return err
	}
	late, said := r.crawl()
	hit, done, err := r.startAndWait(late, said, 30)
	if err != nil || !hit {
		return err
	}
	if err := r.stopOutside(late.Process); err != nil {
		return err
	}
	r.allow += Workers
	select { // longer than the silence that counts as death below
	case <-time.After(1500 * time.Millisecond):
	case <-r.ctx.Done():
	}
	recovered, out := r.child("recover", "--timeout", "1s")
	err = recovered.Run()
	if err == nil {
		cmd, out := r.crawl()
		if cmd.Run() != nil {
			err = r.ended(cmd, out)
		}
	} else {
		err = r.failed(recovered, out)
	}
	err = errors.Join(err, continueIt(late.Process))
	<-done
	if err = cmp.Or(err, r.ended(late, said)); err != nil {
		return err
	}
	r.res.Stopped = true
	return r.finish()
}

// stopOutside stops a process while it holds no lock of the database: nobody could go on before it is continued.
func (r *runner) stopOutside(p *os.Process) error {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(r.dir, database))+"?_txlock=immediate&_pragma=busy_timeout(20)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing was written
	for {
		if err := stop(p); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // until each of its threads has stopped
		tx, err := db.BeginTx(r.ctx, nil)
		if err == nil {
			return tx.Rollback()
		}
		if err := cmp.Or(r.ctx.Err(), continueIt(p)); err != nil {
			return err
		}
		time.Sleep(time.Duration(r.rnd.Int64N(int64(3 * time.Millisecond))))
	}
}

// ended judges a crawl that was not killed: its work is done, or some of it waits (3) because too many
// kills in a row hit the same target.
func (r *runner) ended(cmd *exec.Cmd, out *bytes.Buffer) error {
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		return r.failed(cmd, out)
	}
	return nil
}

// finish crawls to the end, takes back what too many kills in a row made STUCK, and compares.
func (r *runner) finish() error {
	for range 3 {
		cmd, out := r.crawl()
		err := cmd.Run()
		if err == nil {
			return r.compare()
		}
		if err := r.ended(cmd, out); err != nil {
			return err
		}
		cmd, out = r.child("reset", "--yes", "--status", "STUCK")
		if cmd.Run() != nil {
			return r.failed(cmd, out)
		}
	}
	return r.compare() // tells what is not done
}

// compare compares the database with the truth, one that is rebuilt from its logs, too, and counts the pages
// that were fetched again.
func (r *runner) compare() error {
	r.Say("comparing with the truth", 0, 0)
	if err := r.compareFile(database, "the database"); err != nil {
		return err
	}
	cmd, out := r.child("--db", "rebuilt.db", "--quiet", "wal", "replay", filepath.Join("logs", "yp_wal"))
	if cmd.Run() != nil {
		return r.failed(cmd, out)
	}
	if err := r.compareFile("rebuilt.db", "a database that was rebuilt from the logs alone"); err != nil {
		return err
	}
	again := 0
	for address, n := range r.Directory.Stats().URLs {
		if n -= r.before[address]; n > 1 && address != "/robots.txt" {
			again += n - 1
		}
	}
	if again > r.allow {
		r.problem(database, nil, "%d pages were fetched again, and only %d are allowed: committed pages were lost", again, r.allow)
	}
	r.res.Again += again
	r.res.Allowed += r.allow
	return nil
}

func (r *runner) compareFile(name, what string) error {
	db, err := store.Open(r.ctx, store.Config{Path: filepath.Join(r.dir, name), Schema: r.Schema, ReadOnly: true})
	if err != nil {
		return err
	}
	found, err := Compare(r.ctx, db, "demo", &r.truth)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	for _, d := range found {
		if d.Of == "listing" && d.Kind == Missing {
			r.res.Lost++
		} else if d.Of == "listing" && d.Kind == Doubled {
			r.res.Doubled++
		}
	}
	r.problem(name, found, "%s differs from the truth: %s; first: %s", what, Summary(found), found[0])
	return nil
}
