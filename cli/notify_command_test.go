package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	p := &frame.Invocation{}
	for _, text := range []string{"https://hc.example/token?x=1", "curl -H 'Auth: token' h", "x", "http://me:token@h"} {
		p.Secrets = append(p.Secrets, secretOf(text))
	}
	for word, want := range map[string]string{
		"https://hc.example/token?x=1":        "https://hc.example/xxxxx",
		"--ping=https://hc.example/token?x=1": "--ping=https://hc.example/xxxxx",
		"curl -H 'Auth: token' h":             "xxxxx",
		"--notify=curl -H 'Auth: token' h":    "--notify=xxxxx",
		"--notify=http://me:token@h":          "--notify=http://h/xxxxx",
		"max":                                 "max",
		"http://me:token@other":               "http://me:xxxxx@other",
	} {
		if got := p.Hide(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	if got := p.HideAll("a max of curl -H 'Auth: token' h, https://hc.example/token?x=1"); got != "a max of xxxxx, xxxxx" {
		t.Errorf("got %s", got)
	}
}

// TestCrawlWaitsForNobody: a crawl comes to its last page while the receivers of its ping and
// its messages hang, and do not answer before that page was asked for.
func TestCrawlWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir := directory(t, "")
	var mu sync.Mutex
	asked, all := 0, make(chan struct{})
	source := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			mu.Lock()
			if asked++; asked == 4 {
				close(all)
			}
			mu.Unlock()
		}
		dir.ServeHTTP(w, r)
	})
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
	if code := s.crawl(source, "4", "--ping", hangs.URL, "--notify", hangs.URL+"/n"); code != ExitOK {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	if len(early) > 0 || len(got) != 3 || <-got != "/start" || <-got != "/n" || <-got != "/" {
		t.Errorf("%d gave up before the last page was asked for, %d more were left", len(early), len(got))
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
	s := newSeat(t)
	began := time.Now()
	code := s.crawl(directory(t, "layout"), "4", "--ping", hook.URL+"/p", "--notify", hook.URL+"/hangs")
	took := time.Since(began)
	if code != ExitLayout {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	hook.CloseClientConnections()
	hook.Close() // nobody asks any more
	close(asked)
	paths := map[string]int{}
	for path := range asked {
		paths[path]++
	}
	if paths["/p/start"] != 1 || paths["/p/fail"] != 1 || paths["/hangs"] == 0 {
		t.Errorf("asked for %v", paths)
	}
	if took > time.Minute { // 10 s, and what the machine takes for the rest
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(s.err.String(), "a message could not be delivered") {
		t.Errorf("nothing is said of the message: %s", s.err.String())
	}
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(s.dir, "yp.db")})
	if got := storetest.Table(t, db, "SELECT event FROM messages WHERE sent_at IS NULL"); len(got) != 2 {
		t.Errorf("kept: %v", got)
	}
}
