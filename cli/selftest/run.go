package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	Dir       string   // the disk of this folder is tested, in a folder of its own
	Schema    string   // the text of schema.sql
	Kills     int      // at random
	Points    []string // to be killed at, once each
	PowerCuts int
	Directory *demo.Directory

	// Command is this program as a child, with a fault planted in it (cli.FaultVariable) if that is not "".
	Command func(ctx context.Context, fault string, args ...string) *exec.Cmd
	Say     func(step string, done, of int) // tells how far it is
}

// Result is what a selftest found.
type Result struct {
	Disk      Disk
	Pages     int           // of an undisturbed crawl
	Listings  int           //
	Took      time.Duration // the undisturbed crawl
	CPU       time.Duration // user and system, of it
	Kills     int           // at random, that hit
	Points    []string      // at which it was killed
	PowerCuts int
	Databases int // that were crawled into and compared
	Again     int // pages fetched again
	Allowed   int // that may be: one a worker and kill, two a power cut
	Lost      int // listings, in all databases
	Doubled   int
	Problems  []Problem // empty = all is well
	Folder    string    // where the files are, if it was kept
}

// Problem is something that must not be.
type Problem struct {
	Step        string       `json:"step"`     // undisturbed, kills, points, power cuts
	Database    string       `json:"database"` // its path
	Text        string       `json:"text"`
	Differences []Difference `json:"differences"` // from the truth
}

// These are problems of ypcrawl or of the disk, not of the selftest.
var (
	errCrawl = errors.New("the crawl failed")
	errLost  = errors.New("something is lost")
)

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
	cfg.Say("measuring fsync", 0, 0)
	if res.Disk, err = probe(ctx, root); err != nil {
		return res, err
	}
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
	}{{"undisturbed", r.undisturbed}, {"kills", r.kills}, {"points", r.points}, {"power cuts", r.powerCuts}} {
		r.step = step.name
		if err := step.run(); err != nil {
			if (errors.Is(err, errCrawl) || errors.Is(err, errLost)) && ctx.Err() == nil {
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
func (r *runner) child(fault string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(r.ctx, longest)
	cmd := r.Command(ctx, fault, args...)
	cmd.Cancel = func() error {
		cancel()
		return cmd.Process.Kill()
	}
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &out, &out
	return cmd, &out
}

func (r *runner) crawl(fault string) (*exec.Cmd, *bytes.Buffer) {
	return r.child(fault, append([]string{
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
	cmd, out := r.crawl("")
	begun := time.Now()
	if cmd.Run() != nil {
		return r.failed(cmd, out)
	}
	r.res.Took, r.res.CPU = time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return r.compare()
}

// kills ends crawls at random moments.
func (r *runner) kills() error {
	return r.often("killing it at random", r.Kills, &r.res.Kills, r.survived)
}

// often kills crawls until so many kills have hit, and does something after each.
func (r *runner) often(step string, times int, done *int, after func() error) error {
	if times == 0 {
		return nil
	}
	if err := r.fresh(); err != nil {
		return err
	}
	for *done < times {
		r.Say(step, *done, times)
		hit, err := r.kill()
		if err == nil && hit {
			*done++
			err = after()
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

// survived looks at what a kill has left: the database has what the logs know to be committed.
func (r *runner) survived() error {
	r.allow += Workers
	lacks, err := r.lacksWhatLogsTell(filepath.Join(r.dir, database))
	if err == nil && lacks {
		err = fmt.Errorf("%w: after a kill, the logs have committed pages that the database lacks", errLost)
	}
	return err
}

// kill starts the crawl and kills it a random number of requests and milliseconds later; false when it
// has ended by itself before.
func (r *runner) kill() (hit bool, err error) {
	cmd, out := r.crawl("")
	asked := r.Directory.Stats().Requests + 1 + r.rnd.IntN(20)
	if err := cmd.Start(); err != nil {
		return false, err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		close(done)
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.Directory.Stats().Requests < asked {
		select {
		case <-done:
			return false, r.ended(cmd, out)
		case <-tick.C:
		}
	}
	select {
	case <-done:
		return false, r.ended(cmd, out)
	case <-time.After(time.Duration(r.rnd.Int64N(int64(20 * time.Millisecond)))):
	}
	_ = cmd.Process.Kill() // it may have ended just now
	<-done
	return true, r.ctx.Err()
}

// ended judges a crawl that was not killed: its work is done, or some of it waits (3) because too many
// kills in a row hit the same target.
func (r *runner) ended(cmd *exec.Cmd, out *bytes.Buffer) error {
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		return r.failed(cmd, out)
	}
	return nil
}

// points kills the crawl at every named point, at the first to sixth time that it is reached.
func (r *runner) points() error {
	if len(r.Points) == 0 {
		return nil
	}
	if err := r.fresh(); err != nil {
		return err
	}
	for i, point := range r.Points {
		r.Say("killing it at each named point", i, len(r.Points))
		cmd, out := r.crawl(fmt.Sprintf("%s:%d", point, 1+r.rnd.IntN(6)))
		if _ = cmd.Run(); !killed(cmd) {
			return fmt.Errorf("%w: it was not killed at %s: %w", errCrawl, point, r.failed(cmd, out))
		}
		r.res.Points = append(r.res.Points, point)
		if err := r.survived(); err != nil {
			return err
		}
	}
	return r.finish()
}

// killed reports whether a child was killed, by itself or another: -1 means a signal, and Windows has 1 for it.
func killed(cmd *exec.Cmd) bool {
	code := cmd.ProcessState.ExitCode() // of nil, which did not start, -1, too
	return cmd.ProcessState != nil && (code == -1 || runtime.GOOS == "windows" && code == 1)
}

// finish crawls to the end, takes back what too many kills in a row made STUCK, and compares.
func (r *runner) finish() error {
	for range 3 {
		cmd, out := r.crawl("")
		err := cmd.Run()
		if err == nil {
			return r.compare()
		}
		if err := r.ended(cmd, out); err != nil {
			return err
		}
		cmd, out = r.child("", "reset", "--yes", "--status", "STUCK")
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
	cmd, out := r.child("", "--db", "rebuilt.db", "--quiet", "wal", "replay", filepath.Join("logs", "yp_wal"))
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
