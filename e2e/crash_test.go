//go:build unix

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store/storetest"
)

// crashKills is how many times each crash test kills; `make crash` asks for 1,000.
var crashKills = flag.Int("crash.kills", 0, "SIGKILLs in each crash test, and all arrivals at each point; 0 = few, and one")

// orLong is how many times a test kills: a few times, or as often as a long series was asked for.
func orLong(few int) int {
	if *crashKills > 0 {
		return *crashKills
	}
	return few
}

// pointTimes are arrivals at a named point at which a crawl is killed there.
var pointTimes = []int{1, 6, 17}

// crawlArgs is the crawl that every crash test runs.
func (w *world) crawlArgs(more ...string) []string {
	if w.args != nil {
		return slices.Concat(w.args, more)
	}
	args := []string{
		"run", "--source", "demo", "--base-url", w.url, "--states", "CA", "TX", "--delay", "0",
		"--workers", strconv.Itoa(w.workers), "--log-level", "warn",
	}
	if len(w.sel.Categories) < len(demo.Categories()) {
		args = append(append(args, "--categories"), w.sel.Categories...)
	}
	if w.chain {
		args = append(args, "--discover", "--details", "--linger", "0")
	} else {
		args = append(args, "--max-cities", strconv.Itoa(w.places))
	}
	return append(args, more...)
}

// TestCrashRandom kills the crawl again and again after a random number of
// requests, starts it again, and in the end expects the truth: of searches alone, and of the
// whole chain from an empty file, indexes, searches and details, at a site that refuses a
// twentieth of what it is asked for.
func TestCrashRandom(t *testing.T) {
	t.Parallel()
	t.Run("searches", func(t *testing.T) {
		t.Parallel()
		kills := orLong(randomKills)
		newWorld(t, min(3+kills/12, 32)).killAtRandom(kills, 10)
	})
	t.Run("chain", func(t *testing.T) {
		t.Parallel()
		w := siteWorld(t, demo.Config{Places: 1, Fail: map[string]float64{"429": 0.01, "503": 0.04}})
		w.only("Plumbers", "Dentists")
		w.chain = true
		w.killAtRandom(orLong(chainKills), 40)
		w.checkRecords()
	})
}

// killAtRandom kills the crawl so many times, each time after as many requests, at most, and
// compares what it found in the end.
func (w *world) killAtRandom(times, requests int) {
	w.t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(times)))
	for kills := 0; kills < times; {
		if !w.killAfter(rnd.IntN(requests) + 1) {
			w.again() // crawled to the end: go on killing in a new file
			continue
		}
		kills++
		w.kills++
	}
	w.finish()
	w.checkTruth()
	w.checkReplay()
	w.checkRefetched(w.kills)
	w.t.Logf("%d kills, %d files, %d of %d requests for a page again, %d searches stuck and reset", times, w.files, w.counter.extra(), w.counter.total, w.stuck)
}

// TestCrashPoints kills the crawl at every named point, at one arrival there; in a long series at each of pointTimes.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for i, point := range crawl.Points() {
		if i%pointStep != 0 {
			continue
		}
		times := pointTimes
		if *crashKills == 0 {
			times = times[i%len(times):][:1]
		}
		for _, nth := range times {
			t.Run(fmt.Sprintf("%s/%d", point, nth), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 2)
				w.dies(point, nth, w.crawlArgs()...)
				w.finish()
				w.checkTruth()
				w.checkReplay()
				w.checkRefetched(1)
			})
		}
	}
}

// TestCrashTwoProcesses lets two processes work on one file and kills one of
// them again and again.
func TestCrashTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		places int
		delay  time.Duration
	}{{"without a pace", 8, 0}, {"with a pace", 1, fetch.SharedDelay}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newWorld(t, c.places).killBeside(orLong(sharedKills), c.delay)
		})
	}
}

// killBeside kills one process so many times while another crawls the same file undisturbed,
// and compares what both found. The two keep the pace together.
func (w *world) killBeside(times int, delay time.Duration) {
	w.t.Helper()
	rnd := rand.New(rand.NewPCG(2, uint64(times)))
	for kills := 0; kills < times; {
		if kills > 0 {
			w.again()
		}
		began, before := time.Now(), w.counter.all()
		steady := command(w.dir, nil, w.crawlArgs("--user-agent", "steady", "--delay", delay.String())...)
		storetest.NoError(w.t, steady.Start())
		for kills < times && w.killAfter(rnd.IntN(8)+1, "--user-agent", "unlucky", "--delay", delay.String()) {
			kills++
			w.kills++
		}
		if code := exitCode(w.t, steady.Wait()); code != 0 && code != 3 { // 3: the other died too often with a target
			w.t.Errorf("the steady process exited with %d", code)
		}
		if w.kills == 0 {
			w.t.Fatal("nothing was killed")
		}
		if both := w.counter.both("steady", "unlucky"); both > w.kills*w.workers {
			w.t.Errorf("%d pages were fetched by both processes after %d kills of one with %d workers", both, w.kills, w.workers)
		}
		if n, took := w.counter.all()-before, time.Since(began); took < time.Duration(n-1)*delay {
			w.t.Errorf("%d requests came within %v, want one in %v", n, took, delay) // of all processes
		}
	}
	w.finish()
	w.checkTruth()
	w.checkRefetched(w.kills)
	w.t.Logf("%d kills beside another process, %d files", times, w.files)
}

// TestCrashInTrouble kills a crawl of a site in trouble again and again: blocks,
// limits, time-outs and cut bodies, and deaths between them, change nothing of
// what is found in the end. What waits is taken back as an operator would.
func TestCrashInTrouble(t *testing.T) {
	t.Parallel()
	w := troubledWorld(t, 4, map[string]float64{"429": 0.05, "503": 0.02, "challenge": 0.01, "timeout": 0.01, "truncate": 0.01})
	storetest.NoError(t, os.WriteFile(filepath.Join(w.dir, "hasty.yaml"), []byte("{extends: demo, name: demo, request_timeout: 1s}"), 0o600))
	hasty := []string{"--source-file", "hasty.yaml", "--linger", "0"}
	rnd := rand.New(rand.NewPCG(3, 3))
	for range orLong(troubleKills) {
		w.killAfter(rnd.IntN(12)+1, hasty...)
	}
	code := -1
	for range 20 {
		if code = exitCode(t, command(w.dir, nil, w.crawlArgs(hasty...)...).Run()); code != 3 && code != 5 {
			break
		}
		w.must("reset", "--yes", "--status", "FAILED", "STUCK", "PARKED")
		w.must("sources", "enable", "demo")
	}
	if code != 0 {
		t.Fatalf("the crawl does not come to its end: exit code %d", code)
	}
	w.checkTruth()
	w.checkReplay()
	w.checkRecords()
}

// checkRecords: every claim has its attempt, all of them over, and none that is done
// ended with anything but a page, or the site's own word that there is none.
func (w *world) checkRecords() {
	w.t.Helper()
	for query, what := range map[string]string{
		`SELECT count(*) FROM crawl_attempts WHERE ended = 'running'`:                                                      "attempts that still run",
		`SELECT count(*) FROM targets t WHERE claim_token <> (SELECT count(*) FROM crawl_attempts WHERE target_id = t.id)`: "targets with more or fewer attempts than claims",
		`SELECT count(*) FROM crawl_attempts WHERE ended = 'done' AND error_code NOT IN ('SUCCESS', 'NO_LISTINGS')`:        "attempts done on an error",
		`SELECT count(*) FROM workers WHERE stopped_at IS NULL`:                                                            "workers that never stopped",
	} {
		storetest.Equal(w.t, w.count(query), 0, what)
	}
}

// TestStop sends SIGTERM under load.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 6)
			w.counter.latency.Store(int64(200 * time.Millisecond))
			cmd := command(w.dir, nil, w.crawlArgs()...)
			var out strings.Builder
			cmd.Stderr = &out
			storetest.NoError(t, cmd.Start())
			w.counter.waitFor(t, 12)
			sent := time.Now()
			for range 2 { // as timeout(1) does: one act, two signals
				storetest.NoError(t, cmd.Process.Signal(sig))
			}
			if code := exitCode(t, cmd.Wait()); code != 130 {
				t.Errorf("exit code %d, want 130\n%s", code, out.String())
			}
			if took := time.Since(sent); took > 10*time.Second {
				t.Errorf("it took %s to stop, want about one page's time (200 ms)", took)
			}
			if n := w.held(); n > 0 {
				t.Errorf("%d targets are still in progress", n)
			}
			if !strings.Contains(out.String(), "ypcrawl run --source demo") {
				t.Errorf("the command that resumes is not shown:\n%s", out.String())
			}
			w.counter.latency.Store(0)
			w.finish()
			w.checkTruth()
			w.checkRefetched(0)
		})
	}
}

// killAfter starts the crawl and kills it after n more requests; false when it
// ended by itself before.
func (w *world) killAfter(n int, more ...string) bool {
	w.t.Helper()
	cmd := w.command(nil, w.crawlArgs(more...)...)
	var out strings.Builder
	cmd.Stderr = &out
	reached := w.counter.after(n)
	storetest.NoError(w.t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		w.checkEnd(err, out.String())
		return false
	case <-reached:
	}
	if err := cmd.Process.Kill(); err != nil && !strings.Contains(err.Error(), "finished") {
		w.t.Fatal(err)
	}
	return killed(<-done)
}

func (w *world) checkEnd(err error, out string) {
	w.t.Helper()
	if code := exitCode(w.t, err); code != 0 && code != 3 && !(code == 5 && w.chain) {
		w.t.Fatalf("the crawl exited with %d:\n%s", code, out)
	}
}

// finish takes back what too many kills in a row made STUCK, and what the site's trouble
// made wait, as an operator would, and crawls to the end.
func (w *world) finish() {
	w.t.Helper()
	rounds, remedies := 3, [][]string{{"reset", "--yes", "--status", "STUCK"}}
	if w.chain {
		rounds, remedies = 20, [][]string{
			{"reset", "--yes", "--status", "FAILED", "STUCK", "PARKED"},
			{"details", "retry", "--yes", "--status", "FAILED", "STUCK", "PARKED"},
			{"sources", "enable", "demo"},
		}
	}
	for range rounds {
		cmd := w.command(nil, w.crawlArgs()...)
		out, err := cmd.CombinedOutput()
		w.checkEnd(err, string(out))
		if err == nil {
			return
		}
		w.stuck += w.countStatus("STUCK")
		for _, args := range remedies {
			w.must(args...)
		}
	}
	w.t.Fatal("the crawl does not come to its end")
}

// must runs a command that has to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, err := w.command(nil, args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// dies runs a command that must be killed at the nth time that it reaches a point.
func (w *world) dies(point crawl.Point, nth int, args ...string) {
	w.t.Helper()
	out, err := command(w.dir, []string{fmt.Sprintf("%s=%s:%d", killAt, point, nth)}, args...).CombinedOutput()
	if !killed(err) {
		w.t.Fatalf("%v was not killed at %s:%d: %v\n%s", args, point, nth, err, out)
	}
}

func killed(err error) bool {
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // os/exec returns it bare
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // os/exec returns it bare
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// again checks the finished file and goes on in an empty folder.
func (w *world) again() {
	w.t.Helper()
	w.finish()
	w.checkTruth()
	w.checkRefetched(w.kills)
	w.files++
	w.kills = 0
	for _, name := range []string{"ypcrawl.db", "ypcrawl.db-wal", "ypcrawl.db-shm", "ypcrawl.db.locks", "logs"} {
		storetest.NoError(w.t, os.RemoveAll(filepath.Join(w.dir, name)))
	}
	w.counter.reset()
}
