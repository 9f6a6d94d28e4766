package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
)

// Workers are those of each crawl.
const Workers = 5

// selection is what is crawled, of a directory with Places places a state.
func selection() demo.Selection { return demo.Selection{States: []string{"CA", "TX"}} }

// Places is demo.Config.Places of the directory that Run crawls.
const Places = 2

// Config says what to test and with what.
type Config struct {
	Dir       string // the disk of this folder is tested, in a folder of its own
	Schema    string // the text of schema.sql
	Kills     int    // at random
	Directory *demo.Directory

	// Command is this program as a child, which ctx kills.
	Command func(ctx context.Context, args ...string) *exec.Cmd
	Say     func(step string) // tells what it does
}

// Result is what a selftest found.
type Result struct {
	Pages    int      `json:"pages"` // of an undisturbed crawl
	Listings int      `json:"listings"`
	Seconds  float64  `json:"seconds"`    // of the undisturbed crawl
	Lines    int      `json:"page_lines"` // in its logs
	Syncs    int      `json:"syncs"`      // of a log, each for one of those lines
	Kills    int      `json:"kills"`      // at random, that hit
	Stopped  bool     `json:"stopped_and_continued"`
	Again    int      `json:"pages_fetched_again"`         //
	Allowed  int      `json:"pages_fetched_again_allowed"` // one a worker and kill or stop
	Problems []string `json:"problems"`                    // empty = all is well: each database holds the truth
	Folder   string   `json:"folder,omitempty"`            // where the files are, if it was kept
}

// errCrawl is a problem of ypcrawl or of the disk, not of the selftest.
var errCrawl = errors.New("the crawl failed")

// Run tests. The error is about what could not be tested; what went wrong stands in the result.
func Run(ctx context.Context, cfg Config) (res Result, err error) {
	res.Problems = []string{}
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
	r := &runner{Config: cfg, ctx: ctx, root: root, url: server.URL(), res: &res}
	truth := cfg.Directory.Truth(base, selection())
	truth.Searches = cfg.Directory.Searches(selection())
	res.Pages, res.Listings = truth.Pages, len(truth.Listings)
	err = WriteTruth(ctx, filepath.Join(root, "truth.db"), &truth)
	for _, step := range []struct {
		name, says string
		run        func() error
	}{
		{"undisturbed", "crawling the demo undisturbed", r.undisturbed},
		{"kills", "killing it at random", r.kills},
		{"stopped", "stopping it, and continuing it after its recovery", r.stopped},
	} {
		r.step = step.name
		r.Say(step.says)
		if err == nil {
			err = r.fresh()
		}
		if err == nil {
			err = step.run()
		}
		if errors.Is(err, errCrawl) && ctx.Err() == nil {
			r.problem("%v", err)
			err = nil
		}
		if err != nil || len(res.Problems) > 0 { // what follows would say the same
			break
		}
	}
	return res, err
}

type runner struct {
	Config
	ctx  context.Context //nolint:containedctx // of the one call that it lives for
	root string
	url  string
	res  *Result

	step   string
	files  int
	dir    string         // of the database in hand
	before map[string]int // requests by address before it
	allow  int            // pages that may be fetched again for it
}

// problem notes something that must not be.
func (r *runner) problem(format string, args ...any) {
	r.res.Problems = append(r.res.Problems, fmt.Sprintf("%s: %s (%s)", r.step, fmt.Sprintf(format, args...), r.database()))
}

func (r *runner) database() string { return filepath.Join(r.dir, "ypcrawl.db") }

// fresh begins an empty database.
func (r *runner) fresh() error {
	r.files++
	r.dir = filepath.Join(r.root, strconv.Itoa(r.files)+"-"+r.step)
	r.before, r.allow = r.Directory.Stats().URLs, 0
	return os.Mkdir(r.dir, 0o700)
}

// child is a command of this program in the folder of the database.
type child struct {
	*exec.Cmd
	out     bytes.Buffer
	done    chan struct{} // closed when it has ended
	running bool          // it was left running
}

// run starts a command and waits for its end, or for so many requests of it and some milliseconds: then it still runs.
func (r *runner) run(requests int, args ...string) (*child, error) {
	asked := r.Directory.Stats().Requests + requests
	c := &child{Cmd: r.Command(r.ctx, args...), done: make(chan struct{})}
	c.Dir, c.Stdout, c.Stderr = r.dir, &c.out, &c.out
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.Wait() // its state tells
		close(c.done)
	}()
	wait := 2 * time.Millisecond
	for !c.running {
		if requests > 0 && r.Directory.Stats().Requests >= asked {
			c.running, wait = true, time.Duration(rand.Int64N(int64(20*time.Millisecond))) //nolint:gosec // a moment to kill at
		}
		select {
		case <-c.done:
			c.running = false
			return c, r.ended(c)
		case <-time.After(wait):
		}
	}
	return c, nil
}

// ended judges a child that was not killed: its work is done, or some of it waits (3) because too many
// kills in a row hit the same target.
func (r *runner) ended(c *child) error {
	if code := c.ProcessState.ExitCode(); code == 0 || code == 3 || r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	return fmt.Errorf("%w: %s: %s", errCrawl, c.ProcessState, strings.Join(lines[max(0, len(lines)-5):], " / "))
}

// crawl crawls, to the end or for so many requests.
func (r *runner) crawl(requests int) (*child, error) {
	return r.run(requests, slices.Concat([]string{
		"run", "--source", "demo", "--base-url", r.url, "--max-cities", strconv.Itoa(Places), "--delay", "0", "--linger", "0", "--workers", strconv.Itoa(Workers),
		"--max-duration", "5m", // also when this process is killed
		"--log-format", "json", "--log-level", "debug", "--states",
	}, selection().States)...)
}

// undisturbed crawls once without a kill, takes the time, and counts the syncs of the logs, of which each
// line of a page must have one.
func (r *runner) undisturbed() error {
	begun := time.Now()
	c, err := r.crawl(0)
	if err != nil {
		return err
	}
	r.res.Seconds = time.Since(begun).Seconds()
	for line := range strings.Lines(c.out.String()) {
		var closed struct {
			Message string
			Lines   int `json:"page_lines"`
			Syncs   int
		}
		if json.Unmarshal([]byte(line), &closed) == nil && closed.Message == "log closed" { // other lines are none of ours
			r.res.Syncs += closed.Syncs
			r.res.Lines += closed.Lines
		}
	}
	if r.res.Syncs != r.res.Lines || r.res.Lines == 0 {
		r.problem("%d of %d pages had their line synced before their commit: a power cut can leave a page in the database alone", r.res.Syncs, r.res.Lines)
	}
	return r.compare()
}

// kills ends crawls at random moments until so many kills have hit.
func (r *runner) kills() error {
	for r.res.Kills < r.Kills {
		c, err := r.crawl(1 + rand.IntN(20)) //nolint:gosec // a moment to kill at
		switch {
		case err != nil:
		case c.running:
			_ = c.Process.Kill() // it may have ended just now
			<-c.done
			r.allow += Workers
			r.res.Kills++
			err = r.ctx.Err()
		default: // it was at its end: go on in another database
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

// finish crawls to the end, takes back what too many kills in a row made STUCK, and compares.
func (r *runner) finish() error {
	for range 3 {
		c, err := r.crawl(0)
		if err == nil && c.ProcessState.ExitCode() == 0 {
			break
		}
		if err == nil {
			_, err = r.run(0, "reset", "--yes", "--status", "STUCK")
		}
		if err != nil {
			return err
		}
	}
	return r.compare() // tells what is not done
}

// compare compares the database with the truth, and counts the pages that were fetched again.
func (r *runner) compare() error {
	db, err := store.Open(r.ctx, store.Config{Path: r.database(), Schema: r.Schema, ReadOnly: true})
	if err != nil {
		return err
	}
	found, err := Compare(r.ctx, db, "demo", filepath.Join(r.root, "truth.db"))
	if len(found) > 0 {
		r.problem("the database differs from the truth in %d places; first: %s: %s", len(found), found[0].Kind, found[0])
	}
	again := 0
	for address, n := range r.Directory.Stats().URLs {
		if n -= r.before[address]; n > 1 && address != "/robots.txt" {
			again += n - 1
		}
	}
	if again > r.allow {
		r.problem("%d pages were fetched again, and only %d are allowed: committed pages were lost", again, r.allow)
	}
	r.res.Again += again
	r.res.Allowed += r.allow
	return errors.Join(err, db.Close())
}
