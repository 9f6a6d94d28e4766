package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// screen is a terminal: it shows what a person would see after all that was
// written, wrapped lines included. Its cursor may stand behind the last column.
type screen struct {
	mu      sync.Mutex
	width   int
	lines   [][]rune
	wrapped []bool // this line goes on in the next
	cuts    bool   // what is too long
	row     int
	col     int
	bytes   int // written
	writes  int
}

func newScreen(width int) *screen {
	return &screen{width: width, lines: [][]rune{nil}, wrapped: []bool{false}}
}

func (s *screen) columns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width
}

func (s *screen) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// command is what moves the cursor or empties: "\x1b[5G".
var command = regexp.MustCompile(`^\x1b\[(\??\d*)([GJKhl])`)

// Write acts on what a terminal is sent: text, line ends and commands.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.writes = s.bytes+len(p), s.writes+1
	for text := string(p); text != ""; {
		if c := command.FindStringSubmatch(text); c != nil {
			n, _ := strconv.Atoi(c[1])
			switch c[2] {
			case "h", "l":
				s.cuts = c[2] == "l"
			case "G":
				s.col = n - 1
			case "J":
				s.lines, s.wrapped = s.lines[:s.row+1], s.wrapped[:s.row+1]
				fallthrough
			case "K":
				s.lines[s.row], s.wrapped[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))], false
			}
			text = text[len(c[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.down()
		default:
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *screen) down() {
	s.row, s.col = s.row+1, 0
	if s.row == len(s.lines) {
		s.lines, s.wrapped = append(s.lines, nil), append(s.wrapped, false)
	}
}

func (s *screen) put(r rune) {
	switch {
	case s.col < s.width:
	case s.cuts:
		s.col--
	default:
		s.wrapped[s.row] = true
		s.down()
	}
	line := s.lines[s.row]
	for len(line) <= s.col {
		line = append(line, ' ')
	}
	line[s.col] = r
	s.lines[s.row] = line
	s.col++
}

// resize lays lines out anew, as terminals do: those that are too long go on in the next. The cursor stays at
// its character.
func (s *screen) resize(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, wrapped, row, col := s.lines, s.wrapped, s.row, s.col
	s.lines, s.wrapped, s.width, s.row, s.col = [][]rune{nil}, []bool{false}, width, 0, 0
	at, there := 0, 0
	for i, line := range lines {
		for j, r := range line {
			s.put(r)
			if i == row && j == col {
				at, there = s.row, s.col-1
			}
		}
		if i == row && col >= len(line) {
			at, there = s.row, s.col
		}
		if !wrapped[i] && i+1 < len(lines) {
			s.down()
		}
	}
	s.row, s.col = at, there
}

// text is what the screen shows.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, len(s.lines))
	for i, l := range s.lines {
		lines[i] = strings.TrimRight(string(l), " ")
	}
	return strings.Join(lines, "\n")
}

func live(width int) (*Display, *screen) {
	s := newScreen(width)
	return NewDisplay(DisplayConfig{Out: s, Live: true, Width: s.columns}), s
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
	held.Waiting, held.Held = "until 14:05:33Z: the source is held: Retry-After", true
	slow.ETA = 0
	first.DetailsTotal, first.Details = 7208, 12
	second.TargetsDone, second.DetailsTotal, second.Details = 198, 7208, 1802
	tests := map[string]struct {
		s     Snapshot
		width int
		want  string
	}{
		"wide":                   {halfway(), 150, "  50% |███████████████████                    |  100/200 targets · 2 failed · 456 pages · 12,345 listings · 9,876 companies · 3.2 pages/s · ETA 2m10s"},
		"80":                     {halfway(), 80, "  50% |████████        |  100/200 targets · 456 pages · 3.2 pages/s · ETA 2m10s"},
		"60":                     {halfway(), 60, "  50% |█████     |  100/200 targets · 456 pages · ETA 2m10s"},
		"40":                     {halfway(), 40, "  50% |███████       |  100/200 targets"},
		"20":                     {halfway(), 20, "  50% |█████     |"},
		"one":                    {halfway(), 1, ""},
		"zero":                   {halfway(), 0, ""},
		"0 %":                    {zero, 60, "   0% |            |  0/200 targets · 0 pages · ETA unknown"},
		"100%":                   {all, 60, " 100% |██████████|  200/200 targets · 0 pages · 0.0 pages/s"},
		"none":                   {Snapshot{}, 40, " 100% |██████████████████|  0/0 targets"},
		"slow":                   {slow, 80, "  50% |███████       |  100/200 targets · 456 pages · 3.2 pages/s · ETA unknown"},
		"pace":                   {paced, 90, `  50% |████████         |  100/200 targets · ETA 2m10s · waiting 12s · Crawl-delay\x1b[2J`},
		"held":                   {held, 90, "  50% |███████████████████                   |  100/200 targets · waiting until 14:05:33Z"},
		"held, at 110":           {held, 110, "  50% |██████      |  100/200 targets · 456 pages · waiting until 14:05:33Z · the source is held: Retry-After"},
		"details to come":        {first, 80, "  50% |█████      |  100/200 targets · 12/7,208 details · 456 pages · ETA 2m10s"},
		"details, second phase":  {second, 80, "  25% |██████                  |  1,802/7,208 details · 3.2 pages/s · ETA 2m10s"},
		"details, in 60 columns": {second, 60, "  25% |████              |  1,802/7,208 details · ETA 2m10s"},
		"more":                   {Snapshot{TargetsTotal: 2, TargetsDone: 2, TargetsFailed: 1}, 40, " 100% |██████████████████|  2/2 targets"},
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

func TestBarGoesWithTheCrawl(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		states []Snapshot
		want   string
	}{
		"Resumes":      {[]Snapshot{halfway()}, "  50% |███"},
		"Reaches100":   {[]Snapshot{{TargetsTotal: 3}, {TargetsTotal: 3, TargetsDone: 1}, {TargetsTotal: 3, TargetsDone: 3, PagesDone: 2}}, " 100% |"},
		"TargetsAdded": {[]Snapshot{{TargetsTotal: 3, TargetsDone: 3}, {TargetsTotal: 6, TargetsDone: 3}}, "  50% |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := live(80)
			for _, state := range tt.states {
				d.show(state)
			}
			if got := s.text(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("screen: %q", got)
			}
			d.end()
			if got := s.text(); !strings.HasPrefix(got, tt.want) || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
				t.Errorf("screen at the end: %q", got)
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
	d.end()
	logger.Info().Msg("after the end")
	want := "INF before the start\nINF first\nWRN second " + strings.Repeat("x", 49) + "\n" + strings.Repeat("x", 21) +
		"\n" + halfway().frame(60) + "\nINF after the end\n"
	if got := s.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBarWaitsForTheEndOfALogLine(t *testing.T) {
	t.Parallel()
	d, s := live(60)
	d.show(halfway())
	write(t, d.Writer(), "half a ")
	d.show(halfway())
	write(t, d.Writer(), "line\n")
	if got, want := s.text(), "half a line\n"+halfway().frame(60); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); err != nil || n != len(text) {
		t.Fatalf("wrote %d, %v", n, err)
	}
}

// TestBarFollowsTheWidth: whatever becomes of the width, what was written before stays, and nothing of an older bar
// does.
func TestBarFollowsTheWidth(t *testing.T) {
	t.Parallel()
	for name, widths := range map[string][]int{
		"narrower": {50}, "wider": {200}, "much narrower": {20}, "there and back": {40, 150}, "by and by": {120, 90, 70, 60, 45, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, logs := range []bool{false, true} {
				d, s := live(150)
				write(t, d.Writer(), "first\n")
				d.show(halfway())
				want := "first\n"
				for _, width := range widths {
					s.resize(width)
					if late := halfway(); !logs { // drawn before the new width is known
						late.PagesDone++
						d.cfg.Width = func() int { return 150 }
						d.show(late)
						d.cfg.Width = s.columns
					}
					if logs {
						write(t, d.Writer(), "log\n")
						want += "log\n"
					}
					d.show(halfway())
					if got, want := s.text(), want+halfway().frame(width); got != want {
						t.Errorf("in %d columns got\n%s\nwant\n%s", width, got, want)
					}
				}
			}
		})
	}
}

// TestBarAfterCtrlC: "^C", which a terminal shows where it is typed, goes with the next line.
func TestBarAfterCtrlC(t *testing.T) {
	t.Parallel()
	d, s := live(80)
	d.show(halfway())
	write(t, s, "^C")
	write(t, d.Writer(), "stopping\n")
	if got, want := s.text(), "stopping\n"+halfway().frame(80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBarWritesWhatChanged: the same state is not written again, and of another one only what differs.
func TestBarWritesWhatChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, s := live(80)
		written := func(v Snapshot) int {
			before := s.bytes
			d.show(v)
			if got, want := s.text(), v.frame(80); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			return s.bytes - before
		}
		state := halfway()
		written(state)
		if n := written(state); n != 0 {
			t.Errorf("the same state: %d bytes", n)
		}
		state.PagesDone++
		if n := written(state); n == 0 || n > 60 {
			t.Errorf("one more page: %d bytes", n)
		}
		state.ETA = 9 * time.Second // shorter
		written(state)
		time.Sleep(wholeEvery) // the bubble's clock
		state.PagesDone++
		if n := written(state); n < 80 {
			t.Errorf("after %s: %d bytes, want the whole bar", wholeEvery, n)
		}
	})
}

func TestBarIsDrawnFiveTimesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, out := live(80)
		pages := int64(0)
		stop := d.Follow(zerolog.Nop(), func() View {
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
		var out lockedBuffer
		var now atomic.Pointer[Snapshot]
		s := halfway()
		s.Waiting = "12s: Crawl-delay"
		now.Store(&s)
		d := NewDisplay(DisplayConfig{Out: &out})
		stop := d.Follow(zerolog.New(d.Writer()), func() View { return *now.Load() })
		time.Sleep(65 * time.Second) // the bubble's clock
		now.Store(&Snapshot{TargetsTotal: 200, TargetsDone: 200})
		stop()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 { // one every 30 s, and the last
			t.Fatalf("%d lines:\n%s", len(lines), out.String())
		}
		want := map[string]any{
			"level": "info", "message": "progress", "percent": 50.0, "targets": 100.0, "targets_total": 200.0, "targets_failed": 2.0,
			"pages": 456.0, "listings": 12345.0, "companies": 9876.0, "pages_per_second": 3.2, "elapsed": "2m00s", "workers": 5.0,
			"eta": "2m10s", "waiting": "12s: Crawl-delay",
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(lines[2], `"percent":100`) {
			t.Errorf("last line: %s", lines[2])
		}
	})
}

// What is over before the first line was due has a summary, which says the same.
func TestNoLinesOfAShortRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		d := NewDisplay(DisplayConfig{Out: &out})
		stop := d.Follow(zerolog.New(d.Writer()), func() View { return halfway() })
		time.Sleep(lineEvery - time.Second) // the bubble's clock
		stop()
		if out.String() != "" {
			t.Errorf("got %q", out.String())
		}
	})
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for name, isLive := range map[string]bool{"Terminal": true, "Elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScreen(80)
				d := NewDisplay(DisplayConfig{Out: s, Live: isLive, Quiet: true, Width: s.columns})
				stop := d.Follow(zerolog.New(d.Writer()), func() View { return halfway() })
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

// lockedBuffer may be written by one goroutine and read by another.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
