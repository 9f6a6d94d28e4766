//go:build unix

package e2e

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp/gazetteer"
)

// visits notes when each request came, and whose it was.
type visits struct {
	next http.Handler

	mu  sync.Mutex
	at  []time.Time
	who []string // User-Agents
	due map[int]chan struct{}
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.at, v.who = append(v.at, time.Now()), append(v.who, r.UserAgent())
	if c := v.due[len(v.at)]; c != nil {
		close(c)
	}
	v.mu.Unlock()
	v.next.ServeHTTP(w, r)
}

func (v *visits) saw(who string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Contains(v.who, who)
}

// waitFor returns when n requests have come since the test began.
func (v *visits) waitFor(t *testing.T, n int) {
	t.Helper()
	v.mu.Lock()
	c := make(chan struct{})
	if len(v.at) >= n {
		close(c)
	} else {
		v.due[n] = c
	}
	v.mu.Unlock()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("no %d requests within a minute", n)
	}
}

// TestPaceOfProcesses: whatever asks a host, however many processes and of which kind,
// killed and started again, all together keep its delay, and each comes to its turns.
func TestPaceOfProcesses(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := demo.New(demo.Config{Places: 5}, g)
	if err != nil {
		t.Fatal(err)
	}
	v := &visits{next: dir, due: map[int]chan struct{}{}}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	start := func(name string, args ...string) *exec.Cmd {
		cmd := command(folder, nil, append(args, "--source", "demo", "--base-url", server.URL, "--delay", delay.String(), "--user-agent", name, "--quiet")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); !killed(err) {
			t.Errorf("%s ended before it was killed: %v", strings.Join(cmd.Args[1:], " "), err)
		}
	}
	first := start("first", "run", "--states", "CA", "TX")
	v.waitFor(t, 4)
	second := start("second", "run", "--states", "CA", "TX")
	details := start("details", "details")
	discover := start("discover", "discover", "--states", "AZ", "NV", "UT")
	v.waitFor(t, 16)
	for n := range 3 { // at once, and again and again: nothing is left behind that anybody would wait for
		kill(first)
		first = start("again", "run", "--states", "CA", "TX")
		v.waitFor(t, 20+4*n)
	}
	for n := 29; n < 80 && !(v.saw("again") && v.saw("details") && v.saw("discover")); n++ { // a busy machine starts a program late
		v.waitFor(t, n)
	}
	for _, cmd := range []*exec.Cmd{first, second, details, discover} {
		kill(cmd)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	turns := map[string]int{}
	least := time.Hour
	for i := range v.at {
		turns[v.who[i]]++
		if i > 0 {
			least = min(least, v.at[i].Sub(v.at[i-1]))
		}
	}
	rate := float64(len(v.at)-1) / v.at[len(v.at)-1].Sub(v.at[0]).Seconds()
	t.Logf("%d requests, %.2f a second, smallest gap %s, turns %v", len(v.at), rate, least, turns)
	// A busy machine may bring a request late after its turn, and so near to the next one;
	// the turns themselves lie a delay apart.
	const late, window = delay * 2 / 3, 5
	for i := range v.at {
		j := min(i+window, len(v.at)-1)
		if took := v.at[j].Sub(v.at[i]); took < time.Duration(j-i)*delay-late {
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
