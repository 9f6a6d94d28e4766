package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// Values as the HTML standard reads them, and as Chromium does.
func TestParseRefresh(t *testing.T) {
	const none = "none"
	for value, want := range map[string]string{
		"0;url=/a": "0s /a", "0; url=/a": "0s /a", "0;URL=/a": "0s /a", "0;uRl = /a": "0s /a", " \t0 ; url\n=\f/a ": "0s /a",
		"0;url='/a'": "0s /a", `0;url="/a"`: "0s /a", `0;url="/a" b`: "0s /a", "0;url='/a": "0s /a", `0;url="/a'b"`: "0s /a'b", `0;url=' /a '`: "0s /a",
		"0, url=/a": "0s /a", "0,/a": "0s /a", "0 url=/a": "0s /a", "0 /a": "0s /a", "0;/a": "0s /a", "0;'/a'": "0s /a", `0; "/a"x`: "0s /a",
		"0;url=a=b;c,d": "0s a=b;c,d", "0;;/a": "0s ;/a", "0;url": "0s url", "0;url/a": "0s url/a", "0;urls=/a": "0s urls=/a", "0;u": "0s u",
		"0;ur=/a": "0s ur=/a", "0;up/a": "0s up/a", "0;url=url=/a": "0s url=/a", "0;/url=b": "0s /url=b", "0;u'/a'": "0s u'/a'",
		"0": "0s ", "0;": "0s ", "0;url=": "0s ", "0;url=''": "0s ", "0,": "0s ", "5": "5s ", " 300 ": "5m0s ",
		"0.0;url=/a": "0s /a", "0.9;url=/a": "0s /a", ".5;url=/a": "0s /a", ".;url=/a": "0s /a", "00;url=/a": "0s /a", "1.5.5;url=/a": "1s /a",
		"5;url=/a": "5s /a", "05;url=/a": "5s /a", "86401;/a": "24h0m0s /a", "99999999999999999999;/a": "24h0m0s /a",
		"0;url=https://acme.com/a": "0s https://acme.com/a", "0;url=//acme.com/é": "0s //acme.com/é",

		"": none, " ": none, "url=/a": none, "/a": none, ";url=/a": none, "-1;url=/a": none, "+0;url=/a": none, "0x;url=/a": none,
		"0url=/a": none, "a0;url=/a": none, "0:url=/a": none, "\u00a00;url=/a": none, "0\u00a0;url=/a": none,
	} {
		got := none
		if w, ok := parseRefresh(value); ok {
			got = fmt.Sprint(w.after, " ", w.to)
		}
		storetest.Equal(t, got, want, fmt.Sprintf("%q", value))
	}
}

func FuzzRefresh(f *testing.F) {
	for _, value := range []string{"0;url='/a'", "0, url=/a", " 5 /a", ".5", "0;url=\"", "0;\"a'b", "99999999999999999999999", "0;URL\n=\t'x"} {
		f.Add(value, `<meta http-equiv=refresh content="0;url=/a">`)
	}
	f.Fuzz(func(t *testing.T, value, page string) {
		w, ok := parseRefresh(value)
		if !ok && w.to != "" || w.after < 0 || w.after > maxRefresh*time.Second || !strings.Contains(value, w.to) || strings.Trim(w.to, whiteSpace) != w.to {
			t.Errorf("%q: %+v, %v", value, w, ok)
		}
		for _, quote := range []string{`"`, "'"} { // the same in the form that leaves nothing open
			if strings.Contains(w.to, quote) || !ok {
				continue
			}
			again, ok := parseRefresh(fmt.Sprintf("%d; url = %s%s%s", int(w.after.Seconds()), quote, w.to, quote))
			if !ok || again != w {
				t.Errorf("%q: %+v, and written anew %+v", value, w, again)
			}
		}
		if w, ok := metaRefresh([]byte(page)); ok && !strings.Contains(strings.ToLower(page), "<meta") {
			t.Errorf("%+v was found in %q, which has none", w, page)
		}
		r := &Response{Status: 200, URL: &url.URL{Scheme: "https", Host: "acme.com", Path: "/"}, Header: http.Header{"Refresh": {value}}, Body: []byte(page)}
		if refresh, ok := r.refresh(); ok && (refresh.To.Host == "" || refresh.To.Fragment != "" || refresh.To.Scheme != "http" && refresh.To.Scheme != "https") {
			t.Errorf("%q on %q leads to %v", value, page, refresh.To)
		}
	})
}

// What counts is in the head, where a browser without scripts reads it.
func TestFindRefresh(t *testing.T) {
	const meta, none = `<meta http-equiv="refresh" content="0;url=/b">`, "none"
	for _, tt := range []struct{ name, kind, header, page, want string }{
		{"alone", "", "", meta, "0s https://acme.com/b"},
		{"in a head", "text/html; charset=utf-8", "", "<!doctype html>\n<html><head><title>a < b</title>" + meta + "</head><body>Please wait", "0s https://acme.com/b"},
		{"any letters, any order", "", "", `<META CONTENT='0;URL=/b' NAME=x HTTP-EQUIV=ReFresh />`, "0s https://acme.com/b"},
		{"without quotes", "", "", "<meta http-equiv=refresh content=0;url=/b>", "0s https://acme.com/b"},
		{"characters by name", "", "", `<meta http-equiv=refresh content="0;url=/b?x=1&amp;y=2&#38;z">`, "0s https://acme.com/b?x=1&y=2&z"},
		{"behind the head", "", "", "<head></head>" + meta, "0s https://acme.com/b"},
		{"behind script, style, comment, link", "", "", "<!-- <body> --><script>if(a<b){'<body>'}</script><style>p{}</style><link rel=x>" + meta, "0s https://acme.com/b"},
		{"a '>' within a value", "", "", `<meta content="0;url=/b>c" http-equiv=refresh>`, "0s https://acme.com/b%3Ec"},
		{"a mark before it", "", "", "\ufeff \n" + meta, "0s https://acme.com/b"},
		{"relative", "", "", `<meta http-equiv=refresh content="0;url=c">`, "0s https://acme.com/x/c"},
		{"relative to the base", "", "", `<base target=_top><base href=""><base href="/y/">` + `<meta http-equiv=refresh content="0;url=c">`, "0s https://acme.com/y/c"},
		{"before the base", "", "", `<meta http-equiv=refresh content="0;url=c"><base href="/y/">`, "0s https://acme.com/x/c"},
		{"a fragment", "", "", `<meta http-equiv=refresh content="0;url=#top">`, "0s https://acme.com/x/a"},
		{"without an address", "", "", `<base href="/y/"><meta http-equiv=refresh content=300>`, "5m0s https://acme.com/x/a"},
		{"the first counts", "", "", `<meta http-equiv=refresh content=x><meta http-equiv=refresh>` + meta + `<meta http-equiv=refresh content="0;url=/c">`, "0s https://acme.com/b"},
		{"a header", "", "0;url=/b", "<p>Please wait", "0s https://acme.com/b"},
		{"a header of a text", "text/plain", "5; /b", "", "5s https://acme.com/b"},
		{"a header of other letters", "", "0;url=/caf\xe9", "", "0s https://acme.com/caf%E9"},
		{"the header comes first", "", "0;url=/h", meta, "0s https://acme.com/h"},
		{"but if it is none", "", "x", meta, "0s https://acme.com/b"},

		{"in the body", "", "", "<body>" + meta, none},
		{"behind a text", "", "", "<head>a" + meta, none},
		{"behind an element of the body", "", "", "<head><div></div>" + meta, none},
		{"in an image", "", "", "<svg>" + meta + "</svg>", none},
		{"in noscript", "", "", "<noscript>" + meta + "</noscript>", none},
		{"in template", "", "", "<template><template></template>" + meta + "</template>", none},
		{"behind a template that has no end", "", "", "<template>" + meta, none},
		{"in a comment", "", "", "<!--" + meta + "-->", none},
		{"in a script", "", "", "<script>'" + meta + "'</script>", none},
		{"in a title", "", "", "<title>" + meta + "</title>", none},
		{"in a text", "text/plain", "", meta, none},
		{"another name", "", "", `<meta name="refresh" content="0;url=/b">`, none},
		{"to no web address", "", "", `<meta http-equiv=refresh content="0;url=javascript:alert(1)">`, none},
		{"to nowhere", "", "", `<meta http-equiv=refresh content="0;url=https://a b/">`, none},
		{"far behind", "", "", "<script>" + strings.Repeat("/", refreshReach) + "</script>" + meta, none},
		{"none", "", "", "<p>refresh", none},
	} {
		h := http.Header{}
		for name, value := range map[string]string{"Content-Type": tt.kind, "Refresh": tt.header} {
			if value != "" {
				h.Set(name, value)
			}
		}
		r, got := &Response{Status: 200, URL: parse(t, "https://acme.com/x/a"), Header: h, Body: []byte(tt.page)}, none
		if refresh, ok := r.refresh(); ok {
			got = fmt.Sprint(refresh.After, " ", refresh.To)
		}
		storetest.Equal(t, got, tt.want, tt.name)
		if r.Status = 404; tt.want != none {
			_, ok := r.refresh()
			storetest.Equal(t, ok, false, tt.name, "on a 404")
		}
	}
}

// The queries of links are in the charset of the page.
func TestRefreshInCharset(t *testing.T) {
	r := &Response{Status: 200, URL: parse(t, "https://acme.com/"), Charset: "windows-1252", Body: []byte(`<meta http-equiv=refresh content="0;url=/é?q=é">`)}
	refresh, _ := r.refresh()
	storetest.Equal(t, refresh.To.String(), "https://acme.com/%C3%A9?q=%E9", "address")
}

// refreshing serves pages that lead on as a table of addresses says; all others are what is asked for.
func refreshing(table map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		answer := table[scheme(r)+"://"+r.Host+r.URL.RequestURI()]
		if to, ok := strings.CutPrefix(answer, "302 "); ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if answer == "" {
			answer = "<p>what is asked for"
		}
		_, _ = io.WriteString(w, answer)
	}
}

func meta(value string) string {
	return `<html><head><meta http-equiv="refresh" content="` + value + `"></head></html>`
}

func TestRefreshIsFollowed(t *testing.T) {
	t.Parallel()
	const a = "http://example.com/a"
	for _, tt := range []struct {
		name  string
		table map[string]string
		final string // "" = it is an error
		want  error
		cause yp.Cause
		says  string
		asked []string
	}{
		{
			name: "at once", table: map[string]string{a: meta("0;url=/b")},
			final: "http://example.com/b", asked: []string{a, "http://example.com/b"},
		},
		{
			name: "to a subdomain and up to https", table: map[string]string{a: meta("0;url=https://www.example.com/b")},
			final: "https://www.example.com/b", asked: []string{a, "https://www.example.com/b"},
		},
		{
			name: "with redirects, five in all",
			table: map[string]string{
				a: "302 /1", "http://example.com/1": meta("0;url=/2"), "http://example.com/2": "302 /3", "http://example.com/3": meta("0;url=/4"), "http://example.com/4": "302 /5",
			},
			final: "http://example.com/5", asked: []string{a, "http://example.com/1", "http://example.com/2", "http://example.com/3", "http://example.com/4", "http://example.com/5"},
		},
		{
			name:  "in a round",
			table: map[string]string{a: meta("0;url=/b"), "http://example.com/b": meta("0;url=/a")},
			want:  ErrTooManyRedirects, cause: yp.CauseOther, says: "a refresh that is not followed: at once, to http://example.com/a: too many redirects",
			asked: []string{a, "http://example.com/b", a, "http://example.com/b", a, "http://example.com/b"},
		},
		{
			name: "later", table: map[string]string{a: meta("5;url=/b")},
			want: ErrRefresh, cause: yp.CauseOther, says: "a refresh that is not followed: after 5s, to http://example.com/b", asked: []string{a},
		},
		{
			name: "to itself", table: map[string]string{a: meta("0;url=http://EXAMPLE.com:80/a#b")},
			want: ErrRefresh, cause: yp.CauseOther, says: "a refresh that is not followed: at once, to itself", asked: []string{a},
		},
		{
			name: "to another site", table: map[string]string{a: meta("0;url=http://other.com/")},
			want: ErrRedirectedAway, cause: yp.CauseOther, says: "at once, to http://other.com/: leads to another site", asked: []string{a},
		},
		{
			name: "to another port", table: map[string]string{a: meta("0;url=http://example.com:8080/")},
			want: ErrRedirectedAway, cause: yp.CauseOther, asked: []string{a},
		},
		{
			name: "into a private network", table: map[string]string{a: meta("0;url=http://169.254.169.254/latest")},
			want: ErrPrivate, cause: yp.CauseOther, asked: []string{a},
		},
		{
			name: "to a challenge", table: map[string]string{a: meta("0;url=/.well-known/sgcaptcha/?r=%2Fa")},
			want: ErrChallenge, cause: yp.CauseBlocked, asked: []string{a},
		},
		{
			name: "of a challenge", table: map[string]string{a: "<title>Just a moment...</title>" + meta("0;url=/b")},
			want: ErrChallenge, cause: yp.CauseBlocked, asked: []string{a},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, noRobots(), refreshing(tt.table))
			r, err := w.client.Get(t.Context(), Request{URL: "/a", Base: parse(t, "http://example.com"), Leave: func(r *Response, _ Refresh) bool {
				return !strings.Contains(string(r.Body), "asked for")
			}})
			if err == nil {
				storetest.Equal(t, r.URL.String()+" "+string(r.Body), tt.final+" <p>what is asked for", "page")
				r.Release()
			}
			if !errors.Is(err, tt.want) || tt.want != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v that says %q", err, tt.want, tt.says)
			}
			w.asked(t, tt.asked...)
			if tt.cause == "" {
				return
			}
			if e := asError(t, err); e.Cause() != tt.cause || e.Status != 200 {
				t.Errorf("cause %s, status %d", e.Cause(), e.Status)
			}
		})
	}
}

// A page stays where nobody wants to leave it, or where it has what is asked for.
func TestRefreshIsNotWanted(t *testing.T) {
	t.Parallel()
	w := newWeb(t, noRobots(), refreshing(map[string]string{"http://acme.com/a": meta("0;url=/b") + "cards"}))
	for _, leave := range []func(*Response, Refresh) bool{nil, func(r *Response, to Refresh) bool {
		return !strings.HasSuffix(string(r.Body), "cards") || to.To.Path != "/b"
	}} {
		r, err := w.client.Get(t.Context(), Request{URL: "http://acme.com/a", Leave: leave})
		noErr(t, err)
		storetest.Equal(t, r.URL.Path, "/a", "page")
		r.Release()
	}
	w.asked(t, "http://acme.com/a", "http://acme.com/a")
}

func leave(*Response, Refresh) bool { return true }

// Where a refresh leads robots.txt is asked, and the cookies that came with it go along.
func TestRefreshRobotsAndCookies(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private")
		case "/a":
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			w.Header().Set("Refresh", "0;url="+r.URL.RawQuery)
		default:
			c, err := r.Cookie("seen")
			_, _ = fmt.Fprint(w, c, err)
		}
	})
	r, err := w.client.Get(t.Context(), Request{URL: "http://acme.com/a?/b", Leave: leave})
	noErr(t, err)
	storetest.Equal(t, string(r.Body), "seen=1 <nil>", "cookie")
	r.Release()
	if e := mustFail(t, w.client, Request{URL: "http://acme.com/a?/private", Leave: leave}); !errors.Is(e, ErrDisallowed) {
		t.Errorf("error %v", e)
	}
	w.asked(t, "http://acme.com/robots.txt", "http://acme.com/a?/b", "http://acme.com/b", "http://acme.com/a?/private")
}

// A refresh takes its turn like any request.
func TestRefreshIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{DelayMin: 2 * time.Second, IgnoreRobots: true}, refreshing(map[string]string{"http://acme.com/a": meta("0;url=/b")}))
		r, err := s.client.Get(t.Context(), Request{URL: "http://acme.com/a", Leave: leave})
		noErr(t, err)
		r.Release()
		s.expect(t, "0s /a", "2s /b")
	})
}

func BenchmarkFindRefresh(b *testing.B) {
	page := []byte("<html><head>" + strings.Repeat(`<meta name="x" content="y"><link rel="preload" href="/a.js">`, 50) + "</head><body>" +
		strings.Repeat(`<div class="result"><a href="/x">Acme</a></div>`, 5000))
	for b.Loop() {
		if _, ok := findRefresh(nil, page); ok {
			b.Fatal("it has none")
		}
	}
}
