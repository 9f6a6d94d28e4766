package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// robotsAt serves robots.txt as a table of addresses says: a redirect to what begins with "to ", a status, or the
// file itself. All else is a page.
func robotsAt(table map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch answer := table[scheme(r)+"://"+r.Host+r.URL.RequestURI()].(type) {
		case nil:
			_, _ = io.WriteString(w, "page")
		case int:
			w.WriteHeader(answer)
		case string:
			var to string
			if n, _ := fmt.Sscanf(answer, "to %s", &to); n == 1 {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, answer)
		}
	}
}

const forbidsA = "User-agent: *\nDisallow: /a\n"

// robots.txt may be on another host, and what it says there is said of the first one (RFC 9309, 2.3.1.2).
func TestRobotsElsewhere(t *testing.T) {
	t.Parallel()
	const at, page = "http://acme.com/robots.txt", "http://acme.com/a"
	for _, tt := range []struct {
		name, base string
		table      map[string]any
		want       error
		asked      []string
	}{
		{
			name:  "its rules count",
			table: map[string]any{at: "to http://other.org/files/r.txt", "http://other.org/files/r.txt": forbidsA},
			want:  ErrDisallowed, asked: []string{at, "http://other.org/files/r.txt"},
		},
		{
			name:  "at another port",
			table: map[string]any{at: "to http://acme.com:8080/r", "http://acme.com:8080/r": forbidsA},
			want:  ErrDisallowed, asked: []string{at, "http://acme.com:8080/r"},
		},
		{
			name: "five steps",
			table: map[string]any{
				at: "to http://a.org/1", "http://a.org/1": "to http://b.org/2", "http://b.org/2": "to http://a.org/3",
				"http://a.org/3": "to http://acme.com/4", "http://acme.com/4": "to http://b.org/5", "http://b.org/5": forbidsA,
			},
			want: ErrDisallowed, asked: []string{at, "http://a.org/1", "http://b.org/2", "http://a.org/3", "http://acme.com/4", "http://b.org/5"},
		},
		{
			name: "six steps are no file",
			table: map[string]any{
				at: "to http://a.org/1", "http://a.org/1": "to http://b.org/2", "http://b.org/2": "to http://a.org/3",
				"http://a.org/3": "to http://acme.com/4", "http://acme.com/4": "to http://b.org/5", "http://b.org/5": "to http://a.org/6",
			},
			asked: []string{at, "http://a.org/1", "http://b.org/2", "http://a.org/3", "http://acme.com/4", "http://b.org/5", page},
		},
		{
			name:  "a home page is no file",
			table: map[string]any{at: "to http://other.org/", "http://other.org/": "\ufeff\n<!doctype html><pre>\n" + forbidsA},
			asked: []string{at, "http://other.org/", page},
		},
		{
			name:  "404 is no file",
			table: map[string]any{at: "to http://other.org/r", "http://other.org/r": 404},
			asked: []string{at, "http://other.org/r", page},
		},
		{
			name:  "503 allows nothing for now",
			table: map[string]any{at: "to http://other.org/r", "http://other.org/r": 503},
			want:  ErrRobotsUnavailable, asked: []string{at, "http://other.org/r"},
		},
		{
			name: "up to https", base: "https://example.com",
			table: map[string]any{"https://example.com/robots.txt": "to https://www.example.com/r", "https://www.example.com/r": forbidsA},
			want:  ErrDisallowed, asked: []string{"https://example.com/robots.txt", "https://www.example.com/r"},
		},
		{
			name: "never down to http elsewhere", base: "https://example.com",
			table: map[string]any{"https://example.com/robots.txt": "to http://other.org/r", "http://other.org/r": forbidsA},
			want:  ErrRobotsUnavailable, asked: []string{"https://example.com/robots.txt"},
		},
		{
			name:  "from another host to a private one",
			table: map[string]any{at: "to http://other.org/r", "http://other.org/r": "to http://127.0.0.1/r"},
			want:  ErrRobotsUnavailable, asked: []string{at, "http://other.org/r"},
		},
		{
			name:  "from another host to localhost",
			table: map[string]any{at: "to http://other.org/r", "http://other.org/r": "to http://localhost./r"},
			want:  ErrRobotsUnavailable, asked: []string{at, "http://other.org/r"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, Config{}, robotsAt(tt.table))
			base := tt.base
			if base == "" {
				base = "http://acme.com"
			}
			if _, err := w.get(t, base, "/a"); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			w.asked(t, tt.asked...)
		})
	}
}

// Only a robots.txt may lead to another host.
func TestPageElsewhere(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{}, leads(map[string]string{"http://acme.com/a": "http://other.org/"}))
	if _, err := w.get(t, "http://acme.com", "/a"); !errors.Is(err, ErrRedirectedAway) {
		t.Errorf("error %v", err)
	}
	w.asked(t, "http://acme.com/robots.txt", "http://acme.com/a")
}

// A name of another host that leads into a private network is not asked, whoever resolves it.
func TestRobotsElsewherePrivate(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{resolver: (&fakeDNS{names: map[string][]string{"evil.com": {"127.0.0.1"}}}).resolver()}, nil)
	s.Config.Handler = script(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.base.Host {
			t.Errorf("asked as %s", r.Host)
		}
		http.Redirect(w, r, "http://evil.com:"+s.base.Port()+"/robots.txt", http.StatusFound)
	})
	if e := s.failure(t, "/a"); !errors.Is(e, ErrRobotsUnavailable) || !errors.Is(e, ErrPrivate) {
		t.Errorf("error %v", e)
	}
}

// Each step takes its turn at the host that it goes to, and a Crawl-delay there is one of the first host.
func TestRobotsElsewhereIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{DelayMin: 2 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
			switch r.Host + r.URL.Path {
			case "acme.com/robots.txt":
				http.Redirect(w, r, "http://other.org/1", http.StatusFound)
			case "other.org/1":
				http.Redirect(w, r, "http://other.org/2", http.StatusFound)
			case "other.org/2":
				_, _ = io.WriteString(w, "User-agent: *\nCrawl-delay: 10")
			}
		})
		noErr(t, s.get(t.Context(), "/a"))
		noErr(t, s.get(t.Context(), "/b"))
		s.expect(t, "0s /robots.txt", "0s /1", "2s /2", "10s /a", "20s /b")
		if d, _ := s.client.Waiting("other.org"); d > 2*time.Second {
			t.Errorf("the other host waits %s", d)
		}
	})
}

// A hold of the host that has the file is not waited for behind the backs of those who want a page.
func TestRobotsElsewhereHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{}, script(status(302, "Location", "http://other.org/r"), text("")))
		s.client.Hold("other.org", time.Hour, "a penalty")
		err := s.get(t.Context(), "/a")
		if e := asError(t, err); !errors.Is(e, ErrRobotsUnavailable) || e.RetryAfter != time.Hour {
			t.Errorf("error %v", err)
		}
		until, _ := s.client.HeldUntil("acme.com")
		storetest.Equal(t, time.Until(until), time.Hour, "the first host is held")
	})
}
