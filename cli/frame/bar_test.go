package frame

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"ypcrawl/store/storetest"
)

// screen is a terminal: it shows what a person would see after all that was written. (TestBarOnATerminal looks at a real one, and
// changes its width.)
type screen struct {
	mu     sync.Mutex
	shown  string
	writes int
}

func (s *screen) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Write acts on what a terminal is sent: the cursor is at the end of a log line, or at the start of the bar.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for i, text := range strings.Split(string(p), clearBar) {
		if i > 0 {
			s.shown = s.shown[:strings.LastIndex(s.shown, "\n")+1]
		}
		s.shown += strings.NewReplacer(unwrapped, "", wrapped, "").Replace(text)
	}
	return len(p), nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

func live(width int) (*Display, *screen) {
	s := &screen{}
	return newDisplay(displayConfig{Out: s, Live: true, Width: func() int { return width }}), s
}

func halfway() Snapshot {
	return Snapshot{
		TargetsTotal: 200, TargetsDone: 98, TargetsFailed: 2, PagesDone: 456, Listings: 12345, Companies: 9876,
		Rate: 3.21, ETA: 130 * time.Second, Workers: 5, Elapsed: 2 * time.Minute,
	}
}

func TestFrame(t *testing.T) {
	t.Parallel()
	zero := Snapshot{TargetsTotal: 200}
	all := Snapshot{TargetsTotal: 200, TargetsDone: 200}
	paced, held, slow, first, second := halfway(), halfway(), halfway(), halfway(), halfway()
	paced.Waiting = "12s: Crawl-delay\x1b[2J"
	held.Waiting, held.Held = "until 14:05:33 UTC: the source is held: Retry-After", true
	slow.ETA = 0
	first.DetailsTotal, first.Details = 7208, 12
	second.TargetsDone, second.DetailsTotal, second.Details = 198, 7208, 1802
	tests := map[string]struct {
		s     Snapshot
		width int
		want  string
	}{
		"wide":                   {halfway(), 150, "  50% |███████████████████                   |  100/200 searches · 2 failed · 456 pages · 12,345 listings · 9,876 companies · 3.2 pages/s · ETA 2m10s"},
		"80":                     {halfway(), 80, "  50% |███████        |  100/200 searches · 456 pages · 3.2 pages/s · ETA 2m10s"},
		"40":                     {halfway(), 40, "  50% |██████       |  100/200 searches"},
		"20":                     {halfway(), 20, "  50% |█████     |"},
		"zero":                   {halfway(), 0, ""},
		"0 %":                    {zero, 60, "   0% |           |  0/200 searches · 0 pages · ETA unknown"},
		"100%":                   {all, 60, " 100% |███████████████████████|  200/200 searches · 0 pages"},
		"none":                   {Snapshot{}, 40, " 100% |█████████████████|  0/0 searches"},
		"slow":                   {slow, 80, "  50% |██████       |  100/200 searches · 456 pages · 3.2 pages/s · ETA unknown"},
		"pace":                   {paced, 90, `  50% |████████        |  100/200 searches · ETA 2m10s · waiting 12s · Crawl-delay\x1b[2J`},
		"held":                   {held, 90, "  50% |█████████████████                 |  100/200 searches · waiting until 14:05:33 UTC"},
		"held, at 112":           {held, 112, "  50% |█████     |  100/200 searches · 456 pages · waiting until 14:05:33 UTC · the source is held: Retry-After"},
		"details to come":        {first, 80, "  50% |██████████          |  100/200 searches · 12/7,208 own pages · ETA 2m10s"},
		"details, second phase":  {second, 80, "  25% |█████                 |  1,802/7,208 own pages · 3.2 pages/s · ETA 2m10s"},
		"details, in 60 columns": {second, 60, "  25% |████            |  1,802/7,208 own pages · ETA 2m10s"},
		"more":                   {Snapshot{TargetsTotal: 2, TargetsDone: 2, TargetsFailed: 1}, 40, " 100% |█████████████████|  2/2 searches"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.s.frame(tt.width)
			if got != tt.want {
				t.Errorf("\ngot  %q\nwant %q", got, tt.want)
			}
			if n := utf8.RuneCountInString(got); n >= max(tt.width, 1) {
				t.Errorf("%d columns wide on a terminal of %d", n, tt.width)
			}
		})
	}
}

func TestLogLinesDoNotBreakTheBar(t *testing.T) {
	t.Parallel()
	d, s := live(60)
	logger := zerolog.New(zerolog.ConsoleWriter{Out: d.Writer(), NoColor: true, PartsExclude: []string{"time"}})
	logger.Info().Msg("before the start")
	d.show(halfway())
	logger.Info().Msg("first")
	d.show(halfway())
	logger.Warn().Msg("second " + strings.Repeat("x", 70)) // wraps
	write(t, d.Writer(), "half a ")                        // whose end the bar waits for
	d.show(halfway())
	write(t, d.Writer(), "line\n")
	d.end()
	logger.Info().Msg("after the end")
	want := "INF before the start\nINF first\nWRN second " + strings.Repeat("x", 70) +
		"\nhalf a line\n" + halfway().frame(60) + "\nINF after the end\n"
	if got := s.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); err != nil || n != len(text) {
		t.Fatalf("wrote %d, %v", n, err)
	}
}

// TestBarInTheBackground: what somebody types on the terminal is neither drawn over nor cleared, and log lines are written below it.
func TestBarInTheBackground(t *testing.T) {
	t.Parallel()
	d, s := live(80)
	front := false
	d.cfg.Front = func() bool { return front }
	log := func() { write(t, d.Writer(), "a log line\n") }
	shows := func(want string) {
		t.Helper()
		if got := s.text(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	d.show(Snapshot{TargetsTotal: 10})
	log()
	shows("a log line\n")
	front = true
	d.show(Snapshot{TargetsTotal: 10, TargetsDone: 1})
	bar := strings.TrimPrefix(s.text(), "a log line\n")
	if !strings.Contains(bar, "1/10 searches") {
		t.Errorf("in the foreground: %q", bar)
	}
	front = false
	write(t, s, "$ ls") // the shell has the terminal, and somebody types
	d.show(Snapshot{TargetsTotal: 10, TargetsDone: 2})
	log()
	d.end()
	shows("a log line\n" + bar + "$ lsa log line\n")
}

func TestBarIsDrawnFiveTimesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, out := live(80)
		pages := int64(0)
		stop := d.Follow(zerolog.Nop(), func() Snapshot {
			pages++
			return Snapshot{TargetsTotal: 10, PagesDone: pages}
		})
		time.Sleep(1900 * time.Millisecond) // the bubble's clock
		if out.written() != 10 || !strings.Contains(out.text(), "10 pages") {
			t.Errorf("drawn %d times: %q", out.written(), out.text())
		}
		stop()
		if !strings.Contains(out.text(), "11 pages") {
			t.Error("the last state was not drawn")
		}
	})
}

func TestLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		var now atomic.Pointer[Snapshot]
		s := halfway()
		s.Waiting, s.TargetsRest = "12s: Crawl-delay", 3
		now.Store(&s)
		d := newDisplay(displayConfig{Out: out})
		stop := d.Follow(zerolog.New(d.Writer()), func() Snapshot { return *now.Load() })
		time.Sleep(lineEvery - time.Second) // the bubble's clock
		stop()
		if out.text() != "" { // what is over before the first line was due has a summary, which says the same
			t.Errorf("of a short run: %q", out.text())
		}
		stop = d.Follow(zerolog.New(d.Writer()), func() Snapshot { return *now.Load() })
		time.Sleep(125 * time.Second)
		now.Store(&Snapshot{TargetsTotal: 200, TargetsDone: 200})
		stop()
		lines := strings.Split(strings.TrimSpace(out.text()), "\n")
		if len(lines) != 3 { // one every minute, and the last
			t.Fatalf("%d lines:\n%s", len(lines), out.text())
		}
		want := map[string]any{
			"level": "info", "message": "progress", "percent": 50.0, "targets": 100.0, "targets_total": 200.0, "targets_failed": 5.0, // 3 that are tried again are not finished
			"pages": 456.0, "listings": 12345.0, "companies": 9876.0, "pages_per_second": 3.2, "elapsed": "2m00s", "workers": 5.0,
			"eta": "2m10s", "waiting": "12s: Crawl-delay",
		}
		var got map[string]any
		storetest.NoError(t, json.Unmarshal([]byte(lines[0]), &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(lines[2], `"percent":100`) {
			t.Errorf("last line: %s", lines[2])
		}
	})
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for name, isLive := range map[string]bool{"Terminal": true, "Elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, s := live(80)
				d.cfg.Live, d.cfg.Quiet = isLive, true
				stop := d.Follow(zerolog.New(d.Writer()), func() Snapshot { return halfway() })
				write(t, d.Writer(), "a log line\n")
				time.Sleep(2 * lineEvery) // the bubble's clock
				stop()
				if got := s.text(); got != "a log line\n" {
					t.Errorf("screen: %q", got)
				}
			})
		})
	}
}

func TestDisplayFromManyGoroutines(t *testing.T) {
	t.Parallel()
	d, s := live(80)
	logger := zerolog.New(d.Writer())
	d.show(Snapshot{TargetsTotal: 100})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(25) {
				d.show(Snapshot{TargetsTotal: 100, TargetsDone: i})
				logger.Info().Msg("x")
			}
		})
	}
	wg.Wait()
	d.end()
	lines := strings.Split(strings.TrimSpace(s.text()), "\n")
	for _, line := range lines[:len(lines)-1] {
		if line != `{"level":"info","message":"x"}` {
			t.Fatalf("broken line %q", line)
		}
	}
	if len(lines) != 101 {
		t.Errorf("%d lines", len(lines))
	}
}
