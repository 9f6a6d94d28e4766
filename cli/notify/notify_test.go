package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"ypcrawl/yp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a configuration for servers on loopback whose waits are short.
func quick(log io.Writer) Config {
	return Config{Private: true, Waits: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}, Logger: zerolog.New(log)}
}

// asked is a request as a server has seen it.
type asked struct{ path, body, kind string }

// receiver is a server that keeps what it is asked and answers as asked for.
func receiver(t *testing.T, answer http.HandlerFunc) (address string, seen chan asked) {
	t.Helper()
	seen = make(chan asked, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- asked{r.URL.RequestURI(), string(body), r.Header.Get("Content-Type")}
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

func to(t *testing.T, raw string) Destination {
	t.Helper()
	d, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// logged is a log that several goroutines write.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

var example = Message{
	Event: yp.NoticeQuarantine, At: time.Date(2026, 11, 22, 10, 0, 0, 123456789, time.UTC), Source: "demo", Severity: Critical, Title: "demo is quarantined",
	Text: "the site blocks", Figures: map[string]float64{"share": 0.25, "targets": 27000}, Run: 7, Database: "/home/me/texas.db",
}

const exampleJSON = `{"version":1,"event":"quarantine","at":"2026-11-22T10:00:00.123Z","source":"demo","severity":"critical","title":"demo is quarantined",` +
	`"text":"the site blocks","figures":{"share":0.25,"targets":27000},"run":7,"database":"texas.db"}` + "\n"

func TestMessage(t *testing.T) {
	t.Parallel()
	address, seen := receiver(t, nil)
	s := NewSender(quick(io.Discard))
	done := make(chan bool, 1)
	if err := Send([]*Queue{s.Add(to(t, address+"/hook?key=k"))}, example, func(ok bool) { done <- ok }); err != nil {
		t.Fatal(err)
	}
	s.Close(10 * time.Second)
	if got, want := <-seen, (asked{"/hook?key=k", exampleJSON, "application/json"}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !<-done {
		t.Error("reported as not delivered")
	}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	p, err := Message{Event: yp.NoticeRunFailed, Title: "x\x1b[31m" + strings.Repeat("é", 500), Text: "open /home/me/a b/yp.db: " + strings.Repeat("\u202e", 9000)}.parcel()
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	if err := json.Unmarshal(p.Body, &m); err != nil {
		t.Fatal(err)
	}
	if len(p.Body) > maxTitle+maxText+1000 || strings.ContainsAny(m.Title+m.Text, "\x1b\u202e") || len(p.Title) > maxTitle {
		t.Errorf("%d bytes: %q", len(p.Body), m.Title)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"database /home/me/yp.db: disk full":                          "database yp.db: disk full",
		`open "/srv/x/logs/yp_wal/worker.jsonl": no`:                  `open "worker.jsonl": no`,
		"Get \"https://me:pw@a.example/token/x?key=1#y\": no":         "Get \"https://a.example\": no",
		"https://hc-ping.com/1f2e and socks5://u:p@h:1/x and/or 9/10": "https://hc-ping.com and socks5://h:1 and/or 9/10",
		"yp.db, logs/yp_wal, 3 pages/s":                               "yp.db, logs/yp_wal, 3 pages/s",
		`C:\Users\me\yp.db is locked`:                                 "yp.db is locked",
		"one\ntwo /a/b/c":                                             "one\ntwo c",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://u:pw@hc.example:8443/token?x=1": "https://hc.example:8443",
		" http://h ":                             "http://h",
		"curl -d @- https://hc.example/token":    "command",
		"./tell.sh":                              "command",
	} {
		if d, err := Parse(raw); err != nil || d.Name() != want {
			t.Errorf("%q: %q, %v", raw, d.Name(), err)
		}
	}
	for _, raw := range []string{"", "  ", "ftp://secret/x", "https://", "http:///secret", "https://secret\x7f/"} {
		if d, err := Parse(raw); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %q, %v", raw, d.Name(), err)
		}
	}
	if _, err := ParseAddress("curl x"); !errors.Is(err, ErrNoAddress) {
		t.Error(err)
	}
}

// TestRetries: what may mend itself is tried again, the rest is not.
func TestRetries(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		codes []int
		tries int
		ok    bool
	}{
		"fails twice":         {[]int{500, 503, 200}, 3, true},
		"too many requests":   {[]int{429, 204}, 2, true},
		"fails for good":      {[]int{500, 500, 500, 500, 200}, 4, false},
		"not found":           {[]int{404, 200}, 1, false},
		"forbidden":           {[]int{403, 200}, 1, false},
		"continues elsewhere": {[]int{307, 200}, 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, out := 0, &logged{}
			address, seen := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://169.254.169.254/latest/meta-data")
				w.WriteHeader(tt.codes[n])
				n++
			})
			s := NewSender(quick(out))
			done := make(chan bool, 1)
			if err := Send([]*Queue{s.Add(to(t, address+"/sekret"))}, example, func(ok bool) { done <- ok }); err != nil {
				t.Fatal(err)
			}
			if got := <-done; got != tt.ok {
				t.Errorf("delivered: %v", got)
			}
			s.Close(10 * time.Second)
			if len(seen) != tt.tries {
				t.Errorf("%d tries, want %d", len(seen), tt.tries)
			}
			if reported := strings.Contains(out.String(), "not delivered"); reported == tt.ok || strings.Contains(out.String(), "sekret") || strings.Contains(out.String(), "meta-data") {
				t.Errorf("log: %s", out)
			}
		})
	}
}

// TestGuard: no address of a private network is dialled unless it is permitted, and one of
// link-local never, whatever it is called.
func TestGuard(t *testing.T) {
	t.Parallel()
	address, seen := receiver(t, nil)
	port := address[strings.LastIndex(address, ":"):]
	tests := map[string]struct {
		address string
		private bool
		want    string
	}{
		"loopback":                 {"http://127.0.0.1" + port, false, "an address of a private network: allow it with --notify-private"},
		"by name":                  {"http://localhost" + port, false, "an address of a private network"},
		"in IPv6":                  {"http://[::ffff:127.0.0.1]" + port, false, "an address of a private network"},
		"permitted":                {"http://localhost" + port, true, ""},
		"metadata":                 {"http://169.254.169.254/", false, "is not a public address"},
		"metadata, with permitted": {"http://169.254.169.254/", true, "is not a public address"},
		"this network":             {"http://0.0.0.0" + port, true, "is not a public address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := quick(io.Discard)
			cfg.Private = tt.private
			err := Try(t.Context(), cfg, to(t, tt.address+"/sekret"), example)
			if tt.want == "" && err == nil {
				<-seen
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(permanent)) || strings.Contains(err.Error(), "sekret") {
				t.Errorf("got %v", err)
			}
			if len(seen) > 0 {
				t.Error("the server was asked")
			}
		})
	}
}

// TestErrors: errors tell the cause and no more of the address than its host.
func TestErrors(t *testing.T) {
	t.Parallel()
	silent, _ := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	rude, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte("no HTTP \x1b[31m" + strings.Repeat("x", 5000) + "\r\n"))
			_ = conn.Close()
		}
	})
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for address, want := range map[string]string{
		silent: "no answer within 50ms", rude: "malformed HTTP", "http://127.0.0.1:1": "connection refused", secure.URL: "certificate",
	} {
		cfg := quick(io.Discard)
		cfg.Timeout = 50 * time.Millisecond
		if address == secure.URL {
			cfg.Timeout = 10 * time.Second
		}
		err := Try(t.Context(), cfg, to(t, strings.Replace(address, "://", "://me:sekret@", 1)+"/sekret?k=sekret"), example)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sekret") || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > maxReason {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestEndlessAnswer: an answer of a gigabyte is not read.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	wrote := make(chan int, 1)
	address, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		n, chunk := 0, make([]byte, 64<<10)
		for n < 1<<30 {
			m, err := w.Write(chunk)
			if n += m; err != nil {
				break
			}
		}
		wrote <- n
	})
	if err := Try(t.Context(), quick(io.Discard), to(t, address), example); err != nil {
		t.Error(err)
	}
	if n := <-wrote; n > 64<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// TestSlowDestination: one that hangs keeps neither the poster nor the others waiting; what is
// too much is dropped, counted and said, and the end is bounded.
func TestSlowDestination(t *testing.T) {
	t.Parallel()
	hangs, asked := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	good, seen := receiver(t, nil)
	log := &logged{}
	cfg := quick(log)
	cfg.Queue, cfg.Timeout = 3, time.Hour
	s := NewSender(cfg)
	slow, fast := s.Add(to(t, hangs)), s.Add(to(t, good))
	results := make(chan bool, 20)
	post := func() {
		if err := Send([]*Queue{slow, fast}, example, func(ok bool) { results <- ok }); err != nil {
			t.Fatal(err)
		}
	}
	post()
	<-asked // the first hangs there, and will do so for an hour
	for range 5 {
		post() // returns at once, or this test never ends
		<-seen
	}
	<-seen
	s.Close(2 * time.Second) // cuts off the one that hangs
	for range 6 {
		if !<-results {
			t.Error("reported as not delivered, though one destination took it")
		}
	}
	if !strings.Contains(log.String(), "too many others wait") || !strings.Contains(log.String(), `"messages":6`) {
		t.Errorf("log: %s", log)
	}
	slow.Post(Parcel{}) // after the end it is dropped, and no panic
}

func TestPing(t *testing.T) {
	t.Parallel()
	for verdict, path := range map[Verdict]string{Succeeded: "/uuid?x=1", Failed: "/uuid/fail?x=1", Neither: "/uuid/log?x=1"} {
		address, seen := receiver(t, nil)
		s := NewSender(quick(io.Discard))
		p := NewPing(s, to(t, address+"/uuid?x=1"))
		p.Start("run")
		p.End(verdict, "it ended, database /home/me/yp.db"+strings.Repeat(".", 20_000))
		s.Close(10 * time.Second)
		if got := <-seen; got.path != "/uuid/start?x=1" || got.body != "run" {
			t.Errorf("%q: start %+v", verdict, got)
		}
		if got := <-seen; got.path != path || !strings.HasPrefix(got.body, "it ended, database yp.db..") || len(got.body) > maxPing {
			t.Errorf("%q: end %s, %d bytes", verdict, got.path, len(got.body))
		}
	}
}

// TestPingOrder: a start that fails until the end is not tried again behind it.
func TestPingOrder(t *testing.T) {
	t.Parallel()
	address, seen := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/start") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	cfg := quick(io.Discard)
	cfg.Waits = []time.Duration{time.Hour}
	s := NewSender(cfg)
	p := NewPing(s, to(t, address))
	p.Start("")
	if got := <-seen; got.path != "/start" {
		t.Fatal(got)
	}
	p.End(Succeeded, "")
	if got := <-seen; got.path != "/" {
		t.Errorf("after the start: %+v", got)
	}
	s.Close(10 * time.Second)
	if len(seen) > 0 {
		t.Errorf("then: %+v", <-seen)
	}
}

func TestTryPing(t *testing.T) {
	t.Parallel()
	address, seen := receiver(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := TryPing(ctx, quick(io.Discard), to(t, address+"/u"), "hello"); err != nil {
		t.Error(err)
	}
	if got := <-seen; got.path != "/u/log" || got.body != "hello" {
		t.Errorf("%+v", got)
	}
}
