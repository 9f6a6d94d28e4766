package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hostile = `<script>alert(1)</script>` + "\u202e" + `<b>`

// served is a server over a file in which a run has one target in hand.
type served struct {
	*Server
	*checkpoint.Keeper
	run  *checkpoint.Run
	url  string
	stop context.CancelCauseFunc
	done chan error
}

// serve starts a server; before changes it before it listens.
func serve(t *testing.T, cfg Config, before ...func(*Server)) *served {
	t.Helper()
	db := storetest.Open(t)
	b := &served{Keeper: checkpoint.New(db), done: make(chan error, 1)}
	cfg.Reader, cfg.Database = report.New(db), "a.db"
	b.plan(t)
	b.Server = New(cfg)
	for _, f := range before {
		f(b.Server)
	}
	t.Cleanup(func() { _ = b.run.Finish(context.Background(), checkpoint.OutcomeDone, 0) })
	b.listen(t)
	return b
}

// listen has the server answer at an address of its own.
func (b *served) listen(t *testing.T) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	storetest.NoError(t, err)
	b.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancelCause(context.Background())
	b.stop = stop
	go func() { b.done <- b.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop(nil)
		if err := <-b.done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		b.done <- nil
		http.DefaultClient.CloseIdleConnections()
	})
}

func (b *served) plan(t *testing.T) {
	t.Helper()
	plan := storetest.World{Cities: storetest.Cities(30, "CA", "TX"), Categories: storetest.Categories("Plumbers", "Dentists"), Pages: storetest.TierPages}
	plan.Categories[0].Name += " " + hostile
	for i := range plan.Cities {
		plan.Cities[i].Tier = 1
	}
	source := plan.Plant(t, b.Keeper.DB()).SourceID
	var err error
	b.run, err = b.StartRun(t.Context(), source, "test", false)
	storetest.NoError(t, err)
	c, err := b.Claim(t.Context(), checkpoint.Worker{ID: yp.WorkerID(0, 1), RunID: b.run.ID}, store.Scope{SourceID: source, States: []string{"TX"}}, 5)
	storetest.NoError(t, err)
	total := 40
	_, err = b.CommitPage(t.Context(), c, yp.Page{
		Number: 1, Raw: 2, NextURL: "/2", SiteTotal: total,
		Listings: []yp.Listing{{ID: "a", Name: "A " + hostile}, {ID: "b", Name: "B"}},
	})
	storetest.NoError(t, err)
}

// ask makes a request and returns the answer with its body.
func (b *served) ask(t *testing.T, method, path string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	storetest.NoError(t, err)
	for name, value := range header {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	storetest.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	storetest.NoError(t, err)
	return answer, resolved(t, r.URL, string(text))
}

var addresses = regexp.MustCompile(`\b(href|src|action)="([^"]*)"`)

// resolved has each address of a page as a browser understands it, by the path. None may begin at the top of the host, which
// need not be that of the page.
func resolved(t *testing.T, page *url.URL, html string) string {
	t.Helper()
	return addresses.ReplaceAllStringFunc(html, func(attribute string) string {
		m := addresses.FindStringSubmatch(attribute)
		to, err := url.Parse(strings.ReplaceAll(m[2], "&amp;", "&"))
		switch {
		case err != nil || to.IsAbs() || strings.HasPrefix(m[2], "#"):
			return attribute
		case !strings.HasPrefix(m[2], "."):
			t.Errorf("%.40s: %s is no relative address", page.Path, attribute)
		}
		at := page.ResolveReference(to)
		return m[1] + `="` + strings.ReplaceAll(at.RequestURI(), "&", "&amp;") + `"`
	})
}

// never is what no page may have: a hostile text as markup or as it acts on a terminal, and what can't be shown.
var never = []string{"<script>alert", "\u202e", "ZgotmplZ", "could not be read", " style=", "--db t.db --db"}

// page is what an address must be answered with.
type page struct {
	status int
	wants  []string
}

// answers asks for a page, and compares.
func (b *served) answers(t *testing.T, path string, c page) string {
	t.Helper()
	answer, text := b.ask(t, http.MethodGet, path, nil, "")
	if answer.StatusCode != c.status {
		t.Errorf("%.40s: status %d, want %d", path, answer.StatusCode, c.status)
	}
	compare(t, path, text, c.wants, never)
	return text
}

func compare(t *testing.T, path, text string, wants, never []string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%.40s lacks %q:\n%s", path, want, text)
		}
	}
	for _, word := range never {
		if strings.Contains(text, word) {
			t.Errorf("%.40s has %q:\n%s", path, word, text)
		}
	}
}

// TestGuard: who asks under another name, from another site, or for a change is refused.
func TestGuard(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Hosts: []string{"crawl.example.com"}, Plain: map[string]http.Handler{"/metrics": http.NotFoundHandler()}})
	port := b.url[strings.LastIndex(b.url, ":"):]
	type headers map[string]string
	for _, c := range []struct {
		name, method, path string
		header             headers
		body               string
		want               int
	}{
		{"by its address", "GET", "/", nil, "", 200},
		{"head", "HEAD", "/", nil, "", 200},
		{"localhost", "GET", "/", headers{"Host": "LocalHost" + port}, "", 200},
		{"IPv6 loopback", "GET", "/", headers{"Host": "[::1]" + port}, "", 200},
		{"a name that was allowed", "GET", "/", headers{"Host": "crawl.example.com"}, "", 200},
		{"and on another port", "GET", "/", headers{"Host": "Crawl.Example.com:8443"}, "", 200},
		{"rebound name", "GET", "/", headers{"Host": "evil.example" + port}, "", 403},
		{"what monitoring asks", "GET", "/metrics", nil, "", 404},
		{"rebound name, metrics", "GET", "/metrics", headers{"Host": "evil.example" + port}, "", 403},
		{"a change of metrics", "POST", "/metrics", nil, "", 405},
		{"rebound name, style", "GET", "/static/page.css", headers{"Host": "evil.example" + port}, "", 403},
		{"a name that begins like ours", "GET", "/", headers{"Host": "127.0.0.1.evil.example" + port}, "", 403},
		{"another port", "GET", "/", headers{"Host": "127.0.0.1:1"}, "", 403},
		{"no port", "GET", "/", headers{"Host": "127.0.0.1"}, "", 403},
		{"another address", "GET", "/", headers{"Host": "10.0.0.1" + port}, "", 403},
		{"any address", "GET", "/", headers{"Host": "0.0.0.0" + port}, "", 403},
		{"own origin", "GET", "/", headers{"Origin": b.url}, "", 200},
		{"another origin", "GET", "/", headers{"Origin": "http://evil.example"}, "", 403},
		{"hidden origin", "GET", "/", headers{"Origin": "null"}, "", 403},
		{"part of another site", "GET", "/", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "", 403},
		{"a link on another site", "GET", "/", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "", 200},
		{"stream for another site", "GET", "/", headers{"Origin": "http://evil.example", "Accept": "text/event-stream"}, "", 403},
		{"post", "POST", "/", headers{"Origin": b.url, "Content-Type": "application/x-www-form-urlencoded"}, "a=b", 405},
		{"put", "PUT", "/listings", headers{"Origin": b.url}, "", 405},
		{"delete", "DELETE", "/", nil, "", 405},
		{"style", "GET", "/static/page.css", nil, "", 200},
		{"list of files", "GET", "/static/", nil, "", 404},
		{"unknown page", "GET", "/nothing", nil, "", 404},
	} {
		answer, text := b.ask(t, c.method, c.path, c.header, c.body)
		if answer.StatusCode != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, answer.StatusCode, c.want, text)
		}
		h := answer.Header
		if h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" ||
			h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", c.name, h)
		}
		if !strings.HasPrefix(c.path, "/static/") && h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: may be kept: %q", c.name, h.Get("Cache-Control"))
		}
		if answer.StatusCode == http.StatusForbidden && strings.Contains(c.name, "rebound") && !strings.Contains(text, "--allow-host evil.example") {
			t.Errorf("%s: the next step is not said: %s", c.name, text)
		}
	}
}

// TestLargeHeader: nobody makes us keep a large request in memory.
func TestLargeHeader(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	storetest.NoError(t, err)
	defer conn.Close()
	go func() { // it may be refused in the middle
		_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", strings.TrimPrefix(b.url, "http://"), strings.Repeat("x", 2*maxHeader))
	}()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("a header of %d bytes is answered with %q", 2*maxHeader, line)
	}
}

// TestViews: every view is answered, says what there is, and shows hostile names as text.
func TestViews(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	for path, c := range map[string]page{
		"/":                                     {200, []string{"A run is crawling demo", "0 of 120", `<span class="code">Texas</span> <span class="number">0%</span> <span class="label">of 60 searches done</span> <span class="label">being crawled now</span>`, `http-equiv="refresh" content="5"`, `src="/static/page.js"`, "5.0%"}},
		"/queue":                                {200, []string{`http-equiv="refresh" content="60"`, "reloads every 60 s"}},
		"/?by=coverage":                         {200, []string{`<span class="number">5.0%</span> <span class="label">of the site&#39;s listings seen`, `<span class="code">California</span> <span class="number">not known</span>`}},
		"/?by=freshness":                        {200, []string{`<span class="code">California</span> <span class="number">not known</span>`}},
		"/?by=success":                          {200, []string{"States"}},
		"/?by=new":                              {200, []string{"States"}},
		"/?by=<b>":                              {404, []string{"The map can&#39;t show &#34;&lt;b&gt;&#34;"}},
		"/states":                               {200, []string{`<a href="/states/TX">Texas</a>`}},
		"/states/tx":                            {200, []string{`<th scope="col" class="n">Texas</th>`, `<a href="/queue?categories=`, "&lt;script&gt;alert(1)&lt;/script&gt;\\" + "u202e&lt;b&gt;"}},
		"/states/AK":                            {200, []string{"Nothing is planned there"}},
		"/states/ZZ":                            {404, []string{"There is no state"}},
		"/states/" + url.PathEscape("<script>"): {404, []string{"&lt;SCRIPT&gt;"}},
		"/states?a=TX&b=CA": {200, []string{
			`class="n">Texas</th>`, `class="n">California</th>`,
			`<th scope="col" class="n">Texas</th><th scope="col" class="n">California</th>`, `<th scope="row">targets</th><td class="n">60</td><td class="n">60</td>`,
			`<th scope="row">done</th><td class="n">0.0%</td><td class="n">0.0%</td>`, `<th scope="row">troubled</th><td class="n">0</td><td class="n">0</td>`,
			`<th scope="row">listings</th><td class="n">2</td><td class="n">0</td>`, `<th scope="row">coverage</th><td class="n">5.0%</td><td class="n">–</td>`,
			`<th scope="row">success</th><td class="n">0.0%</td><td class="n">–</td>`,
		}},
		"/states?a=" + strings.Repeat("x", 5000): {404, []string{"There is no state"}},
		"/nothing":                               {404, []string{"There is no page /nothing."}},
	} {
		b.answers(t, path, c)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<p>plain\n\ttext</p>\n": "<p>plain\n\ttext</p>\n",
		"Café ✓ ▸ 東京 – ·":        "Café ✓ ▸ 東京 – ·",
		"a\u202eb\u2066c":        `a\u202eb\u2066c`,
		"a\x1b[31mb\x00\r\n":     `a\x1b[31mb\x00\r` + "\n",
		"a\u200bb\u0085":         `a\u200bb\u0085`,
		"bad \xff":               `bad \xff`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

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
	if text := logged.String(); !strings.Contains(text, "index out of range") || !strings.Contains(text, "TestDefect") {
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
