//go:build unix

package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// TestPaceOfProcesses: whatever asks a host, however many processes and of which kind,
// killed and started again, all together keep its delay, and each comes to its turns.
func TestPaceOfProcesses(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	w := siteWorld(t, demo.Config{Places: 5})
	start := func(name string, args ...string) *exec.Cmd {
		cmd := command(w.dir, nil, append(args, "--source", "demo", "--base-url", w.url, "--delay", delay.String(), "--user-agent", name, "--quiet")...)
		storetest.NoError(t, cmd.Start())
		return cmd
	}
	came := func(n int) { w.counter.waitFor(t, n-w.counter.all()) } // so many since the test began
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); !killed(err) {
			t.Errorf("%s ended before it was killed: %v", strings.Join(cmd.Args[1:], " "), err)
		}
	}
	first := start("first", "run", "--states", "CA", "TX")
	came(4)
	second := start("second", "run", "--states", "CA", "TX")
	details := start("details", "details")
	discover := start("discover", "discover", "--states", "AZ", "NV", "UT")
	came(16)
	for n := range 3 { // at once, and again and again: nothing is left behind that anybody would wait for
		kill(first)
		first = start("again", "run", "--states", "CA", "TX")
		came(20 + 4*n)
	}
	for n := 29; n < 80 && !(w.counter.by("again") > 0 && w.counter.by("details") > 0 && w.counter.by("discover") > 0); n++ { // a busy machine starts a program late
		came(n)
	}
	for _, cmd := range []*exec.Cmd{first, second, details, discover} {
		kill(cmd)
	}
	w.counter.mu.Lock()
	defer w.counter.mu.Unlock()
	all, turns := w.counter.came, map[string]int{}
	for _, v := range all {
		turns[v.who]++
	}
	rate := float64(len(all)-1) / all[len(all)-1].at.Sub(all[0].at).Seconds()
	t.Logf("%d requests, %.2f a second, turns %v", len(all), rate, turns)
	// A busy machine may bring a request late after its turn, and so near to the next one;
	// the turns themselves lie a delay apart.
	const late, window = delay * 2 / 3, 5
	for i := range all {
		j := min(i+window, len(all)-1)
		if took := all[j].at.Sub(all[i].at); took < time.Duration(j-i)*delay-late {
			t.Errorf("requests %d to %d came within %s, the delay is %s", i, j, took, delay)
		}
	}
	for _, name := range []string{"first", "second", "details", "discover", "again"} {
		if turns[name] == 0 {
			t.Errorf("%s never came to a turn", name)
		}
	}
	if rate < 0.5/delay.Seconds() {
		t.Errorf("%.2f requests a second, though %s are allowed", rate, delay)
	}
}
