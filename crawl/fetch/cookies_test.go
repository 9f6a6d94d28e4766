package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"ypcrawl/store/storetest"
)

// asksFor redirects to an address unless the request carries a cookie ("a=1"), and sets cookies with it.
func asksFor(cookie, to string, set ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Cookie"), cookie) {
			_, _ = io.WriteString(w, "page")
			return
		}
		w.Header()["Set-Cookie"] = set
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// A page that can only be had with the cookie of its own redirect is had, and loops end.
func TestCookieOfARedirect(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	counts := func(name string) http.HandlerFunc { // a new value, or a new name, at each answer
		return func(w http.ResponseWriter, r *http.Request) {
			n := fmt.Sprint(answers.Add(1))
			http.SetCookie(w, &http.Cookie{Name: strings.ReplaceAll(name, "#", n), Value: n})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}
	}
	twoSteps := func(w http.ResponseWriter, r *http.Request) {
		switch c := r.Header.Get("Cookie"); {
		case !strings.Contains(c, "a=1"):
			asksFor("none", "/a", "a=1")(w, r)
		default:
			asksFor("b=1", "/a", "b=1")(w, r)
		}
	}
	for _, tt := range []struct {
		name     string
		answer   http.HandlerFunc // of acme.com/a
		page     bool
		requests int
	}{
		{"to itself", asksFor("a=1", "/a", "a=1; Path=/"), true, 2},
		{"to itself, by the whole address", asksFor("a=1", "http://acme.com/a", "a=1"), true, 2},
		{"to itself, with a fragment", asksFor("a=1", "/a#top", "a=1"), true, 2},
		{"two cookies at once", asksFor("a=1; b=2", "/a", "a=1", "b=2"), true, 2},
		{"two cookies, one after the other", twoSteps, true, 3},
		{"by way of another address", asksFor("a=1", "/back", "a=1; Path=/"), true, 3},
		{"by way of another host", asksFor("a=1", "http://www.acme.com/back", "a=1"), true, 3},
		{"that does not go with /a", asksFor("a=1", "/a", "a=1; Path=/b"), false, 1},
		{"of another host", asksFor("a=1", "/a", "a=1; Domain=other.com"), false, 1},
		{"of all of .com", asksFor("a=1", "/a", "a=1; Domain=com"), false, 1},
		{"that goes with https only", asksFor("a=1", "/a", "a=1; Secure"), false, 1},
		{"that is over", asksFor("a=1", "/a", "a=1; Max-Age=0"), false, 1},
		{"that is none", asksFor("a=1", "/a", "=; ;"), false, 1},
		{"none", asksFor("a=1", "/a"), false, 1},
		{"that is not what it wants", asksFor("x=1", "/a", "a=1"), false, 2},
		{"another value each time", counts("a"), false, 2},
		{"another name each time", counts("a#"), false, MaxRedirects + 1},
		{"to and fro, whatever it sends", asksFor("x=1", "/back", "a=1"), false, MaxRedirects + 1},
	} {
		for _, id := range []Identity{Honest(""), Browsers()[0]} {
			inBubble(t, tt.name+" as "+id.Name, func(t *testing.T) {
				s := newPipeSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/back" {
						http.Redirect(w, r, "http://acme.com/a", http.StatusFound)
						return
					}
					tt.answer(w, r)
				})
				session := open(t, s.client, nil, id)
				r, err := s.client.Get(t.Context(), Request{URL: "http://acme.com/a", Session: session})
				r.Release()
				if (err == nil) != tt.page || err != nil && !errors.Is(err, ErrTooManyRedirects) {
					t.Errorf("error %v", err)
				}
				storetest.Equal(t, len(s.hits), tt.requests, "requests")
			})
		}
	}
}

// A cookie goes where cookiejar lets it go, and the honest session has forgotten it at the next page.
func TestCookiesOfAnExchange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []string
		s := newPipeSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
			got = append(got, strings.TrimSpace(r.Host+r.URL.Path+" "+r.Header.Get("Cookie")))
			switch r.URL.Path {
			case "/a":
				for _, set := range []string{"own=1", "all=2; Domain=acme.com; Path=/", "deep=3; Path=/b/c", "safe=4; Secure", "its=5; HttpOnly"} {
					w.Header().Add("Set-Cookie", set)
				}
				http.Redirect(w, r, "http://m.acme.com/b", http.StatusFound)
			case "/b":
				http.Redirect(w, r, "http://acme.com/b/c", http.StatusFound)
			default:
				w.Header().Set("Set-Cookie", "page=6; Path=/")
			}
		})
		for range 2 {
			noErr(t, s.get(t.Context(), "/a"))
		}
		noErr(t, s.get(t.Context(), "/"))
		once := []string{"acme.com/a", "m.acme.com/b all=2", "acme.com/b/c deep=3; own=1; all=2; its=5"}
		storetest.Diff(t, got, append(append(once, once...), "acme.com/"), "requests")
	})
}

// A browser's session that holds a cookie which is over asks again when it is taken back.
func TestCookieTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
			switch c := r.Header.Get("Cookie"); {
			case c == "" && r.URL.Path == "/":
				http.SetCookie(w, &http.Cookie{Name: "old", Value: "1", Path: "/"})
			case c != "":
				http.SetCookie(w, &http.Cookie{Name: "old", Path: "/", MaxAge: -1})
				http.Redirect(w, r, "/a", http.StatusFound)
			}
		})
		session := open(t, s.client, nil, Browsers()[0])
		for _, path := range []string{"/", "/a"} {
			mustGet(t, s.client, Request{URL: "http://acme.com" + path, Session: session})
		}
		s.expect(t, "0s /", "0s /a", "0s /a")
	})
}

// Over TLS a Secure cookie goes along.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	s := newTLSSite(t, asksFor("a=1", "/a", "a=1; Secure; HttpOnly; SameSite=Lax"))
	storetest.Equal(t, s.page(t, "/a"), "page", "page")
}

// A robots.txt that wants its cookie first is read.
func TestCookieOfRobots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Cookie"), "a=1") {
				_, _ = io.WriteString(w, "User-agent: *\nDisallow: /a")
				return
			}
			asksFor("a=1", r.URL.Path, "a=1")(w, r)
		})
		if err := s.get(t.Context(), "/a"); !errors.Is(err, ErrDisallowed) {
			t.Errorf("error %v", err)
		}
	})
}
