package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/notify"
	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	p := &Program{secrets: []string{"https://hc.example/token?x=1", "curl -H 'Auth: token' h", "x", "http://me:token@h"}}
	for word, want := range map[string]string{
		"https://hc.example/token?x=1":        "https://hc.example/xxxxx",
		"--ping=https://hc.example/token?x=1": "--ping=https://hc.example/xxxxx",
		"curl -H 'Auth: token' h":             "xxxxx",
		"--notify=curl -H 'Auth: token' h":    "--notify=xxxxx",
		"--notify=http://me:token@h":          "--notify=http://h/xxxxx",
		"max":                                 "max",
		"http://me:token@other":               "http://me:xxxxx@other",
	} {
		if got := p.hide(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	if got := p.hideAll("a max of curl -H 'Auth: token' h, https://hc.example/token?x=1"); got != "a max of xxxxx, xxxxx" {
		t.Errorf("got %s", got)
	}
}

// TestCrawlWaitsForNobody: a crawl comes to its last page while the receivers of its ping and
// its messages hang, and do not answer before that page was asked for.
func TestCrawlWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir, err := newDirectory(demo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const targets = 4
	var mu sync.Mutex
	asked, all := 0, make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			mu.Lock()
			if asked++; asked == targets {
				close(all)
			}
			mu.Unlock()
		}
		dir.ServeHTTP(w, r)
	}))
	t.Cleanup(source.Close)
	early, got := make(chan string, 10), make(chan string, 10)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-all:
			got <- r.URL.Path
		case <-r.Context().Done():
			early <- r.URL.Path
		}
	}))
	t.Cleanup(hangs.Close)
	s := newSeat(t)
	code := s.types(t.Context(), "", "run", "--source", "demo", "--base-url", source.URL, "--states", "CA", "--max-cities", fmt.Sprint(targets), "--categories", "Plumbers",
		"--max-pages", "1", "--ping", hangs.URL, "--notify", hangs.URL+"/n", "--notify-private")
	if code != ExitOK {
		t.Fatalf("exit %d: %s", code, s.err.text())
	}
	if len(early) > 0 || len(got) != 2 || <-got != "/start" || <-got != "/" {
		t.Errorf("%d gave up before the last page was asked for, %d more were left", len(early), len(got))
	}
}

// reported is a observer over a run of one source with a receiver of its messages.
type reported struct {
	*observer
	got chan notify.Message
}

// newReported makes one whose command line has these flags.
func newReported(t *testing.T, args ...string) *reported {
	t.Helper()
	x := &reported{got: make(chan notify.Message, 20)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err == nil {
			x.got <- m
		}
	}))
	t.Cleanup(hook.Close)
	db := storetest.Open(t)
	k := &database{checkpoint.New(db), report.New(db)}
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	id, err := k.Source(t.Context(), "demo", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	row, err := k.StartRun(t.Context(), id, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = row.Finish(context.WithoutCancel(t.Context()), checkpoint.OutcomeDone, 0) })
	app := &cli.App{Name: "ypcrawl", Writer: io.Discard, ErrWriter: io.Discard, Flags: globalFlags(), Commands: []*cli.Command{{
		Name: "run", Flags: notifyFlags(), Action: func(c *cli.Context) error {
			p := &Program{}
			a, err := p.newAnnouncer(c, zerolog.New(io.Discard))
			if err != nil {
				return err
			}
			one := &sourceRun{src: src}
			one.scope.SourceID = id
			a.start()
			r := &run{p: p, c: c, out: a, keeper: k, row: row, sources: []*sourceRun{one}, began: db.Now()}
			x.observer = &observer{announcer: a, r: r, ids: []int64{id}, results: func() []crawl.Result { return nil }, quit: make(chan struct{})}
			return nil
		},
	}}}
	words := append([]string{"ypcrawl", "--config", "", "run", "--notify-private", "--notify", hook.URL}, args...)
	if words, err = Prepare(app, words); err == nil {
		err = app.Run(words)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// want ends the observer and expects the titles of what was reported, in any order.
func (x *reported) want(t *testing.T, titles ...string) {
	t.Helper()
	x.waiting.Wait()
	x.sender.Close(10 * time.Second)
	close(x.got)
	left := map[string]bool{}
	for _, title := range titles {
		left[title] = true
	}
	for m := range x.got {
		if !left[m.Title] {
			t.Errorf("reported: %+v", m)
		}
		delete(left, m.Title)
	}
	for title := range left {
		t.Errorf("not reported: %s", title)
	}
}

func TestDroppedIsReported(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		flags         []string
		dropped, seen int64
		title         string
	}{
		"above":     {nil, 10, 180, "10 listings of demo dropped: 5.3 %"},
		"at":        {nil, 10, 190, ""},
		"few":       {nil, 9, 1, ""},
		"none seen": {nil, 10, 0, "10 listings of demo dropped: 100.0 %"},
		"chosen":    {[]string{"--notify-dropped", "50%"}, 10, 10, ""},
		"not on":    {[]string{"--notify-on", "layout"}, 10, 10, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newReported(t, tt.flags...)
			e := ending{Result: crawl.Result{Source: "demo", Stats: crawl.Stats{Dropped: tt.dropped, Accepted: tt.seen}}, sourceRun: x.r.sources[0]}
			x.tellDropped(t.Context(), e)
			x.tellDropped(t.Context(), e) // once
			if tt.title == "" {
				x.want(t)
			} else {
				x.want(t, tt.title)
			}
		})
	}
}

func TestFewerListingsAreReported(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		flags []string
		was   int64
		now   selected
		title string
	}{
		"fewer":         {nil, 1000, selected{accepted: 799, Done: 9, Failed: 1}, "demo: 799 listings, 20.1 % fewer than before"},
		"a bit fewer":   {nil, 1000, selected{accepted: 800}, ""},
		"more":          {nil, 1000, selected{accepted: 2000}, ""},
		"first pass":    {nil, 0, selected{accepted: 2000}, ""},
		"small":         {nil, 49, selected{}, ""},
		"not through":   {nil, 1000, selected{accepted: 10, Planned: 1}, ""},
		"in the gap":    {nil, 1000, selected{accepted: 10, InGap: 1}, ""},
		"chosen":        {[]string{"--notify-fewer", "5%"}, 1000, selected{accepted: 900}, "demo: 900 listings, 10.0 % fewer than before"},
		"none are left": {nil, 50, selected{}, "demo: 0 listings, 100.0 % fewer than before"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newReported(t, tt.flags...)
			one := x.r.sources[0]
			one.shown = tt.was
			x.tellFewer(t.Context(), ending{Result: crawl.Result{Source: "demo"}, sourceRun: one, now: tt.now})
			if tt.title == "" {
				x.want(t)
			} else {
				x.want(t, tt.title)
			}
		})
	}
}

func TestBusyDatabaseIsReported(t *testing.T) {
	t.Parallel()
	for tries, titles := range map[int64][]string{20: nil, 21: {"the database is often busy: 21 % more tries to claim targets"}} {
		x := newReported(t)
		x.results = func() []crawl.Result {
			return []crawl.Result{{Stats: crawl.Stats{Claims: 60, BusyTries: tries}}, {Stats: crawl.Stats{Claims: 40}}}
		}
		x.tellBusy(t.Context())
		x.want(t, titles...)
	}
}

func TestEndIsReported(t *testing.T) {
	t.Parallel()
	blocked := fmt.Errorf("wrapped: %w", &crawl.BlockedError{Source: "demo"})
	for name, tt := range map[string]struct {
		err   error
		title string
	}{
		"done":        {nil, ""},
		"interrupted": {crawl.ErrInterrupted, ""},
		"budget":      {crawl.ErrBudget, ""},
		"layout":      {crawl.ErrLayout, "ypcrawl run ended early: layout"},
		"no proxies":  {crawl.ErrNoProxies, "ypcrawl run ended early: no proxies"},
		"blocked":     {blocked, "ypcrawl run ended early: blocked"},
		"error":       {os.ErrClosed, "ypcrawl run ended early: error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newReported(t)
			x.tellEnd(t.Context(), tt.err)
			x.tellFailed(ExitError, os.ErrClosed) // it was reported already, or it was no failure
			if tt.title == "" {
				x.want(t)
			} else {
				x.want(t, tt.title)
			}
		})
	}
}

// TestClosedSourceIsReported: a state that stands is reported once, and anew when it began anew.
func TestClosedSourceIsReported(t *testing.T) {
	t.Parallel()
	x := newReported(t, "--notify-every", "0")
	quarantine := func(since time.Duration) {
		storetest.Execute(t, x.r.keeper.DB(), `INSERT OR REPLACE INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
			VALUES (1, 'quarantined', 'cf_challenge', '`+storetest.Ago(since)+`', '`+storetest.Ahead(time.Hour)+`', 'x')`)
		x.look(t.Context(), x.r.keeper.DB().Now())
		x.look(t.Context(), x.r.keeper.DB().Now())
		x.waiting.Wait()
	}
	quarantine(2 * time.Hour)
	quarantine(time.Hour)
	if len(x.got) != 2 {
		t.Errorf("%d messages, want 2", len(x.got))
	}
	m := <-x.got
	if m.Event != yp.NoticeQuarantine || m.Source != "demo" || m.Severity != notify.Critical || m.Run != x.r.row.ID || !strings.HasPrefix(m.Text, "The source is not crawled until 20") {
		t.Errorf("got %+v", m)
	}
	x.want(t, m.Title)
}

// TestNotifySettings: what a settings file says of run reaches the commands that have the flag.
func TestNotifySettings(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(hook.Close)
	path := configure(t, "ping: "+hook.URL+"/secret\nnotify-private: true\nnotify: [\"true\"]\n")
	s := newSeat(t)
	s.out, s.err = &screenOf{tty: tty{width: 100}}, &screenOf{tty: tty{width: 100}}
	for _, command := range []string{"recover", "export"} {
		p := &Program{Schema: s.schema, Streams: Streams{In: strings.NewReader(""), Out: s.out, Err: s.err, Getenv: env(nil)}}
		if code := p.Run(t.Context(), []string{"ypcrawl", "--db", filepath.Join(s.dir, "no.db"), "--config", path, command}); code != ExitError {
			t.Errorf("%s: exit %d: %s", command, code, s.err.text())
		}
		if start, end := <-asked, <-asked; start != "/secret/start" || end != "/secret/fail" {
			t.Errorf("%s: %s, %s", command, start, end)
		}
	}
	if strings.Contains(s.err.text(), "secret") {
		t.Errorf("got %s", s.err.text())
	}
}

// TestHangingReceiverAtTheEnd: one that takes no message costs the last ping nothing, and the
// command no more than its ten seconds; the message is due again for the next start.
func TestHangingReceiverAtTheEnd(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked <- r.URL.Path; r.URL.Path == "/hangs" {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(hook.Close)
	dir, err := newDirectoryFailing("layout")
	if err != nil {
		t.Fatal(err)
	}
	source := httptest.NewServer(dir)
	t.Cleanup(source.Close)
	s := newSeat(t)
	began := time.Now()
	code := s.types(t.Context(), "", "run", "--source", "demo", "--base-url", source.URL, "--states", "CA", "--max-cities", "4", "--categories", "Plumbers",
		"--max-pages", "1", "--ping", hook.URL+"/p", "--notify", hook.URL+"/hangs", "--notify-private", "--notify-on", "layout")
	took := time.Since(began)
	if code != ExitLayout {
		t.Fatalf("exit %d: %s", code, s.err.text())
	}
	hook.CloseClientConnections()
	hook.Close() // nobody asks any more
	close(asked)
	paths := map[string]int{}
	for path := range asked {
		paths[path]++
	}
	if paths["/p/start"] != 1 || paths["/p/fail"] != 1 || paths["/hangs"] != 1 {
		t.Errorf("asked for %v", paths)
	}
	if took > time.Minute { // 10 s, and what the machine takes for the rest
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(s.err.text(), "pings or notifications were not delivered") {
		t.Errorf("nothing is said of the message: %s", s.err.text())
	}
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(s.dir, "yp.db")})
	if got := storetest.Table(t, db, "SELECT event, ifnull(delivered_at, 'not delivered') FROM notices WHERE at <> ''"); len(got) != 1 || !strings.Contains(got[0], "not delivered") {
		t.Errorf("kept: %v", got)
	}
}
