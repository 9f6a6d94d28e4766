package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// only has the server serve a view with one part at a path.
func (s *Server) only(path, template string, read func(ctx context.Context) (any, error)) {
	s.mux.Handle("GET "+path, s.serveView(View{Path: path, Title: "Only", Parts: []Part{{
		Name: template, Asks: []string{"q"},
		Read: func(ctx context.Context, _ *report.Reader, _ url.Values) (any, error) { return read(ctx) },
	}}}))
}

// stream opens an event stream.
func (b *served) stream(t *testing.T, path string) (lines *bufio.Scanner, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	storetest.NoError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultTransport.RoundTrip(r)
	storetest.NoError(t, err)
	leave = func() { cancel(); _ = answer.Body.Close() }
	t.Cleanup(leave)
	if got := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d, %s", answer.StatusCode, got)
	}
	return bufio.NewScanner(answer.Body), leave
}

// next reads up to the data of the next event of a name.
func next(t *testing.T, lines *bufio.Scanner, name string) string {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == "event: "+name && lines.Scan() {
			return strings.TrimPrefix(lines.Text(), "data: ")
		}
	}
	t.Fatalf("no event %q: %v", name, lines.Err())
	return ""
}

// pulse has those who follow look when the test says so, each time a second later on a clock of the test's own. How fast the machine
// is makes no difference.
type pulse struct {
	*storetest.Clock
	idle  chan struct{} // a feed waits
	again chan time.Time
	ended chan struct{} // a feed ended, after its last look
}

func newPulse() *pulse {
	return &pulse{storetest.ClockAt(time.Now()), make(chan struct{}, 1), make(chan time.Time), make(chan struct{}, 1)}
}

// of has a server with one feed live by it.
func (p *pulse) of(s *Server) {
	s.now = p.Now
	s.tick = func(time.Duration) (func() <-chan time.Time, func()) {
		return func() <-chan time.Time { p.idle <- struct{}{}; return p.again }, func() { p.ended <- struct{}{} }
	}
}

// beat has the feed look once, as soon as it waits: no look sees the clock move.
func (p *pulse) beat(ctx context.Context) (more bool) {
	select {
	case <-p.idle:
	case <-ctx.Done():
		return false
	}
	p.Move(time.Second)
	select {
	case p.again <- time.Time{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// run has it look again and again while the test goes on.
func (p *pulse) run(t *testing.T) {
	t.Helper()
	go func() {
		for p.beat(t.Context()) {
		}
	}()
}

// TestTwentyViewers: twenty who look on cost one read in a while, and when they have left nothing is
// read any more.
func TestTwentyViewers(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	p := newPulse()
	b := serve(t, Config{}, p.of, func(s *Server) {
		s.only("/counted", "unreadable", func(context.Context) (any, error) {
			reads.Add(1)
			return nil, errors.New("on purpose: what it shows is when it was last read")
		})
	})
	var all []func()
	for i := range 20 {
		lines, leave := b.stream(t, fmt.Sprint("/counted?q=1&other=", i)) // what a part does not ask for makes no difference
		next(t, lines, "part")
		all = append(all, leave)
	}
	b.mu.Lock()
	storetest.Equal(t, fmt.Sprint(len(b.feeds), " ", b.count), "1 20", "feeds and viewers")
	b.mu.Unlock()
	for range 30 {
		p.beat(t.Context())
	}
	for _, leave := range all {
		leave()
	}
	<-p.ended
	storetest.Equal(t, reads.Load(), 20+30, "reads: one for each who comes, and one at each beat")
	b.mu.Lock()
	storetest.Equal(t, fmt.Sprint(len(b.feeds), " ", b.count), "0 0", "feeds and viewers when all have left")
	b.mu.Unlock()
}

// TestEvents: a change is sent, what has not changed is not sent again, and the end is told.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Every: 20 * time.Millisecond})
	lines, _ := b.stream(t, "/states/TX")
	if data := next(t, lines, "part"); !strings.Contains(data, `"id":"sentence"`) || !strings.Contains(data, "A run is crawling demo") {
		t.Errorf("the first event is %s", data)
	}
	storetest.Execute(t, b.DB(), `UPDATE categories SET name = 'Renamed' WHERE id = 1`)
	for data := ""; !strings.Contains(data, "Renamed"); {
		data = next(t, lines, "part")
		if strings.Contains(data, "Renamed") && !strings.Contains(data, `"id":"states"`) {
			t.Errorf("changed: %s", data)
		}
	}
	b.stop(Ended("the run has ended: done"))
	if data := next(t, lines, "end"); data != `{"text":"the run has ended: done"}` {
		t.Errorf("at the end: %s", data)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
	b.done <- nil
}

// TestUnchanged: what has not changed is not sent again; a sign of life is.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	p := newPulse()
	b := serve(t, Config{}, p.of)
	lines, _ := b.stream(t, "/states/CA")
	p.run(t)
	beats, parts := 0, map[string]int{}
	for beats < 5 && lines.Scan() {
		switch text := lines.Text(); {
		case text == "event: beat":
			beats++
		case strings.HasPrefix(text, `data: {"id":"`):
			id, _, _ := strings.Cut(strings.TrimPrefix(text, `data: {"id":"`), `"`)
			parts[id]++
		}
	}
	// once at the start, once by the feed's first look
	storetest.Diff(t, parts, map[string]int{"sentence": 2, "banner": 2, "states": 2}, "parts that were sent")
	storetest.Equal(t, beats, 5, "signs of life")
}

// TestRefusedLater: a page that can't be asked for any more hears signs of life all the same: it
// would say that it has lost the program.
func TestRefusedLater(t *testing.T) {
	t.Parallel()
	var refused atomic.Bool
	p := newPulse()
	b := serve(t, Config{}, p.of, func(s *Server) {
		s.only("/vanishes", "bars", func(context.Context) (any, error) {
			if refused.Load() {
				return nil, &Refusal{http.StatusNotFound, "It is not there any more.", "Look elsewhere."}
			}
			return []bar{}, nil
		})
	})
	lines, _ := b.stream(t, "/vanishes")
	next(t, lines, "part")
	refused.Store(true)
	p.run(t)
	for range 3 {
		next(t, lines, "beat")
	}
}

// TestSlowViewer: one who takes nothing is dropped, and holds up nobody: the feed looks on meanwhile.
func TestSlowViewer(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	p := newPulse()
	b := serve(t, Config{}, p.of, func(s *Server) {
		s.sendTime = 50 * time.Millisecond
		s.only("/large", "unreadable", func(context.Context) (any, error) {
			return nil, errors.New(strings.Repeat("x", 1<<20) + fmt.Sprint(n.Add(1)))
		})
	})
	b.dial(t, fmt.Sprintf("GET /large HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", strings.TrimPrefix(b.url, "http://")))
	p.run(t)
	<-p.ended // without a byte read
}

// TestTooManyViewers: the page is served to them all the same.
func TestTooManyViewers(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Viewers: 2})
	b.stream(t, "/")
	b.stream(t, "/states")
	answer, _ := b.ask(t, "GET", "/", map[string]string{"Accept": "text/event-stream"}, "")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("a third one: %d", answer.StatusCode)
	}
	if answer, _ := b.ask(t, "GET", "/", nil, ""); answer.StatusCode != http.StatusOK {
		t.Errorf("the page: %d", answer.StatusCode)
	}
}

// TestStopsPromptly: a question under way does not hold up the end of the program.
func TestStopsPromptly(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	var logged bytes.Buffer
	b := serve(t, Config{Timeout: time.Minute, Logger: zerolog.New(zerolog.SyncWriter(&logged))}, func(s *Server) {
		s.only("/hangs", "figures", func(ctx context.Context) (any, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, b.url+"/hangs", nil)
		if err == nil {
			if answer, err := http.DefaultTransport.RoundTrip(r); err == nil {
				_ = answer.Body.Close()
			}
		}
	}()
	<-asked
	began := time.Now()
	b.stop(nil)
	if err := <-b.done; err != nil || time.Since(began) > 30*time.Second { // half of what the question may take
		t.Errorf("it took %s to end (%v)", time.Since(began), err)
	}
	b.done <- nil
	if <-answered; strings.Contains(logged.String(), "can't be shown") {
		t.Errorf("the end of the program is logged as a defect: %s", &logged)
	}
}

// TestSlowPart: to who looks again and again, a question that takes long is put less often; one that can't be
// answered says so, and since when.
func TestSlowPart(t *testing.T) {
	t.Parallel()
	clock := storetest.ClockAt(time.Now())
	b := serve(t, Config{Every: time.Millisecond, Timeout: 50 * time.Millisecond}, func(s *Server) { s.now = clock.Now })
	var reads atomic.Int64
	var hangs atomic.Bool
	v := View{Path: "/slow", Parts: []Part{{Name: "bars", Read: func(ctx context.Context, _ *report.Reader, _ url.Values) (any, error) {
		reads.Add(1)
		if hangs.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		clock.Move(10 * time.Millisecond)
		return []bar{}, nil
	}}}}
	seen := map[string]*last{}
	first, _ := b.look(t.Context(), v, nil, seen)
	clock.Move(190*time.Millisecond - 1) // twenty times as long as it took, from its beginning on
	if again, _ := b.look(t.Context(), v, nil, seen); len(first) != 1 || len(again) != 0 || reads.Load() != 1 {
		t.Fatalf("%d parts, then %d, after %d reads of 10 ms", len(first), len(again), reads.Load())
	}
	hangs.Store(true)
	clock.Move(1)
	failed, _ := b.look(t.Context(), v, nil, seen)
	if len(failed) != 1 || !strings.Contains(failed[0].HTML, "did not answer in time") || !strings.Contains(failed[0].HTML, "It was last loaded") {
		t.Errorf("a question without an answer shows %v", failed)
	}
}

// TestDefect: a part that panics says that it is a defect, the others are shown, and the program goes on.
func TestDefect(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	b := serve(t, Config{Logger: zerolog.New(zerolog.SyncWriter(&logged))})
	v := View{Path: "/defect", Parts: []Part{
		{Name: "bars", Read: func(context.Context, *report.Reader, url.Values) (any, error) { return []bar{}[1], nil }},
		{Name: "stages", Read: func(context.Context, *report.Reader, url.Values) (any, error) { return nil, nil }},
	}}
	all, refused := b.lookTogether(t.Context(), v, nil)
	if refused != nil || len(all) != 2 || !strings.Contains(all[0].HTML, "This part could not be loaded: this is a defect of ypcrawl") || strings.Contains(all[1].HTML, "defect") {
		t.Errorf("%v, %v", all, refused)
	}
	if again, _ := b.lookTogether(t.Context(), v, nil); again[0].HTML != all[0].HTML {
		t.Errorf("again: %s", again[0].HTML)
	}
	if text := logged.String(); strings.Count(text, "index out of range") != 1 || !strings.Contains(text, "TestDefect") { // with its stack, once
		t.Errorf("logged: %s", text)
	}
}

// TestNothingIsMissed: what changes while a viewer comes reaches him, though another one follows the same address.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	p := newPulse()
	b := serve(t, Config{}, p.of, func(s *Server) {
		s.only("/moves", "unreadable", func(ctx context.Context) (any, error) {
			was := n.Load()
			if ctx.Value(http.ServerContextKey) != nil && was == 1 { // the second viewer: it changes, and the feed tells, before he has his answer
				n.Store(2)
				for range 3 {
					p.beat(ctx)
				}
			}
			return nil, fmt.Errorf("it is %d", was)
		})
	})
	first, _ := b.stream(t, "/moves")
	next(t, first, "part")
	p.beat(t.Context())
	n.Store(1)
	second, _ := b.stream(t, "/moves")
	for data := ""; !strings.Contains(data, "it is 2"); {
		data = next(t, second, "part")
	}
}
