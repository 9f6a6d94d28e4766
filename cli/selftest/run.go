package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	Lines    int      `json:"page_lines"` // in its logs
	Syncs    int      `json:"syncs"`      // of a log, each for one of those lines
	Kills    int      `json:"kills"`      // at random, that hit
	Stopped  bool     `json:"stopped_and_continued"`
	Problems []string `json:"problems"`         // empty = all is well: each database holds the truth
	Folder   string   `json:"folder,omitempty"` // where the files are, if it was kept
}

// Run tests. The error is about what could not be tested; what went wrong is in the result.
func Run(ctx context.Context, cfg Config) (res Result, err error) {
	res.Problems = []string{}
	root, err := os.MkdirTemp(cfg.Dir, "ypcrawl-selftest-")
	if err != nil {
		return res, fmt.Errorf("create a folder to test in: %w; name another place with --dir", err)
	}
	defer func() {
		if len(res.Problems) == 0 {
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
	r := &runner{
		Config: cfg, ctx: ctx, url: server.URL(),
		truth: cfg.Directory.Truth(&url.URL{Scheme: "http", Host: "localhost"}, selection()), res: &res,
	}
	r.truth.Searches = cfg.Directory.Searches(selection())
	res.Pages, res.Listings = r.truth.Pages, len(r.truth.Listings)
	for _, step := range []struct {
		name string
		run  func() error
	}{{"an undisturbed crawl", r.undisturbed}, {"kills at random", r.kills}, {"a crawl stopped, then continued after others took over", r.stopped}} {
		r.step = step.name
		r.Say(step.name)
		if r.dir, err = os.MkdirTemp(root, "crawl-"); err == nil {
			err = step.run()
		}
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		if err != nil {
			r.problem("%v", err)
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
	url   string
	truth demo.Truth
	res   *Result
	step  string
	dir   string // of the database in hand
}

// problem notes something that must not be.
func (r *runner) problem(format string, args ...any) {
	r.res.Problems = append(r.res.Problems, fmt.Sprintf("%s: %s (%s)", r.step, fmt.Sprintf(format, args...), r.database()))
}

func (r *runner) database() string { return filepath.Join(r.dir, "ypcrawl.db") }

// child is a command of this program in the folder of the database.
type child struct {
	*exec.Cmd
	out     bytes.Buffer
	done    chan struct{} // closed when it has ended
	running bool          // it was left running
}

// run starts a command and waits for its end, or for so many requests of it and some milliseconds: then it still runs.
func (r *runner) run(requests int, args ...string) (*child, error) {
	asked := math.MaxInt
	if requests > 0 {
		asked = r.Directory.Stats().Requests + requests
	}
	c := &child{Cmd: r.Command(r.ctx, args...), done: make(chan struct{})}
	c.Dir, c.Stdout, c.Stderr = r.dir, &c.out, &c.out
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.Wait() // its state tells
		close(c.done)
	}()
	for r.Directory.Stats().Requests < asked {
		select {
		case <-c.done:
			return c, r.ended(c)
		case <-time.After(2 * time.Millisecond):
		}
	}
	time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond)))) //nolint:gosec // a moment to kill at
	c.running = true
	return c, nil
}

// ended judges a child that was not killed: its work is done, or some of it waits (3) because too many kills hit one target.
func (r *runner) ended(c *child) error {
	if code := c.ProcessState.ExitCode(); code == 0 || code == 3 || r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	return fmt.Errorf("the crawl failed: %s: %s", c.ProcessState, strings.Join(lines[max(0, len(lines)-5):], " / "))
}

// crawl crawls, to the end or for so many requests.
func (r *runner) crawl(requests int) (*child, error) { return r.run(requests, r.crawlArgs()...) }

func (r *runner) crawlArgs() []string {
	return append([]string{
		"run", "--source", "demo", "--base-url", r.url, "--max-cities", strconv.Itoa(Places), "--delay", "0", "--linger", "0", "--workers", "5",
		"--max-duration", "5m", // also when this process is killed
		"--log-format", "json", "--log-level", "debug", "--states",
	}, selection().States...)
}

// undisturbed crawls once without a kill, and counts the syncs of the logs, of which each line of a page must have one.
func (r *runner) undisturbed() error {
	c, err := r.crawl(0)
	if err != nil {
		return err
	}
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
		r.problem("only %d of %d pages had their line synced before their commit; after a power cut a page could be in the database alone",
			r.res.Syncs, r.res.Lines)
	}
	for address, n := range r.Directory.Stats().URLs {
		if n > 1 && address != "/robots.txt" {
			r.problem("%s was fetched %d times: a committed page was lost", address, n)
		}
	}
	return r.compare()
}

// kills ends crawls at random moments until so many kills have hit.
func (r *runner) kills() error {
	for r.res.Kills < r.Kills {
		c, err := r.crawl(1 + rand.IntN(20)) //nolint:gosec // a moment to kill at
		if err == nil && c.running {
			_ = c.Process.Kill() // it may have ended just now
			<-c.done
			r.res.Kills++
			err = r.ctx.Err()
		} else if err == nil { // it was at its end: go on in another database
			if err = r.finish(); err == nil {
				r.dir, err = os.MkdirTemp(filepath.Dir(r.dir), "crawl-")
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
	for _, args := range [][]string{r.crawlArgs(), {"reset", "--yes", "--status", "STUCK"}, r.crawlArgs()} {
		if _, err := r.run(0, args...); err != nil {
			return err
		}
	}
	return r.compare() // tells what is not done
}

// compare compares the database with the truth.
func (r *runner) compare() error {
	db, err := store.Open(r.ctx, store.Config{Path: r.database(), Schema: r.Schema, ReadOnly: true})
	if err != nil {
		return err
	}
	found, err := Compare(r.ctx, db, "demo", &r.truth)
	if len(found) > 0 {
		r.problem("the database differs from the truth in %d rows; first: %s", len(found), found[0])
	}
	return errors.Join(err, db.Close())
}
