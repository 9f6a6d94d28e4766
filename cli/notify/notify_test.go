package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"ypcrawl/yp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a sender whose waits are short.
func quick() *Sender {
	s := NewSender(zerolog.New(io.Discard))
	s.Waits = []time.Duration{20 * time.Millisecond}
	return s
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

var example = Message{
	Event: SourceClosed, At: yp.Stamp{Time: time.Date(2026, 11, 22, 10, 0, 0, 123456789, time.UTC)}, Source: "demo", Severity: Critical, Title: "demo is quarantined",
	Text: "the site blocks", Figures: map[string]float64{"share": 0.25, "targets": 27000}, Run: 7, Database: "/home/me/texas.db",
}

const exampleJSON = `{"version":2,"event":"source_closed","at":"2026-11-22T10:00:00.123Z","source":"demo","severity":"critical","title":"demo is quarantined",` +
	`"text":"the site blocks","figures":{"share":0.25,"targets":27000},"run":7,"database":"texas.db"}` + "\n"

func parcel(t *testing.T, m Message) Parcel {
	t.Helper()
	body, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return Stored(body)
}

// TestSend: a message and pings as they arrive, by a request and by a command.
func TestSend(t *testing.T) {
	t.Parallel()
	address, seen := receiver(t, nil)
	file := filepath.Join(t.TempDir(), "got")
	for _, c := range []struct {
		to     string
		parcel Parcel
		want   asked
	}{
		{address + "/hook?key=k", parcel(t, example), asked{"/hook?key=k", exampleJSON, "application/json"}},
		{address + "/uuid", Ping("start", "it starts"), asked{"/uuid/start", "it starts", "text/plain; charset=utf-8"}},
		{address + "/uuid", Ping("", "done, /home/me/x.db"), asked{"/uuid", "done, x.db", "text/plain; charset=utf-8"}},
	} {
		if err := quick().Send(t.Context(), to(t, c.to), c.parcel); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != c.want {
			t.Errorf("got  %+v\nwant %+v", got, c.want)
		}
	}
	if err := quick().Send(t.Context(), to(t, `cat >'`+file+`'; echo "$YPCRAWL_EVENT: $YPCRAWL_TITLE" >>'`+file+`'`), parcel(t, example)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := exampleJSON + "source_closed: demo is quarantined\n"; err != nil || string(got) != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

// TestHostileTexts: what came from a page is cut, and controls no terminal.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	p := parcel(t, Message{Event: RunEnded, Title: "x\x1b[31m" + strings.Repeat("é", 500), Text: "open /home/me/a b/yp.db: " + strings.Repeat("\u202e", 9000)})
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

// TestDeliver: what fails is tried again while there is time, what no other try mends is not.
func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		codes []int // the last one again and again
		want  string
		tries int64
	}{
		"at once":     {[]int{204}, "", 1},
		"after two":   {[]int{500, 429, 200}, "", 3},
		"not there":   {[]int{404}, "it answered 404 Not Found", 1},
		"a redirect":  {[]int{302}, "a redirect to http://127.0.0.1, which is not followed", 1},
		"never again": {[]int{503}, "it answers 503 Service Unavailable", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			address, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				n := int(tries.Add(1))
				if c.tries == 0 && n == 3 {
					cancel()
				}
				w.Header().Set("Location", "http://127.0.0.1/elsewhere")
				w.WriteHeader(c.codes[min(n, len(c.codes))-1])
			})
			err := quick().Deliver(ctx, to(t, address), Ping("", "x"))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) && ctx.Err() == nil {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := tries.Load(); c.tries > 0 && n != c.tries || c.tries == 0 && n < 3 {
				t.Errorf("%d tries", n)
			}
		})
	}
}

// TestErrors: errors tell the cause and no more of a destination than its name; link-local
// addresses are never reached.
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
		"http://169.254.169.254": "is an address that ypcrawl never contacts", "exit 3; ": "it ended with exit status 3", "sleep 60; ": "it did not end within 50ms and was killed",
	} {
		s := quick()
		if s.Timeout, s.CommandTimeout = time.Minute, time.Minute; strings.Contains(want, "50ms") {
			s.Timeout, s.CommandTimeout = 50*time.Millisecond, 50*time.Millisecond
		}
		err := s.Send(t.Context(), to(t, strings.Replace(address, "://", "://me:sekret@", 1)+"/sekret?k=sekret"), parcel(t, example))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sekret") || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > maxReason {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestEndlessAnswer: an answer of a gigabyte is not read.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	address, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := quick().Send(ctx, to(t, address), Ping("", "x")); err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestCommandTime: a command that is begun has its time, also when nobody waits for another try any more; one that
// is to stop has less, and none is begun too late.
func TestCommandTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "done")
	begin := func(change func(s *Sender)) error {
		s := NewSender(zerolog.New(io.Discard))
		change(s)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return s.Deliver(ctx, Destination{command: "sleep 0.3; echo >'" + file + "'"}, Parcel{})
	}
	if err := begin(func(*Sender) {}); err != nil {
		t.Errorf("it was not given its time: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	close(stopped)
	err := begin(func(s *Sender) { s.Stopped, s.StoppedTimeout = stopped, 60*time.Millisecond })
	if want := "it did not end within 60ms of a signal to stop, and was killed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewSender(zerolog.New(io.Discard)).Send(ctx, Destination{command: "echo >'" + file + "'"}, Parcel{}); err == nil {
		t.Error("a command was begun when there was no time left")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a command that was killed, or not begun, has written")
	}
}
