package fetch

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ypcrawl/yp"
)

// What Squid 5.7, tinyproxy 1.11 and Privoxy 3.0.34 answered on loopback (pages cut after 1,600
// bytes) to plain requests and to CONNECT: the proxy's own failure, with its word.
func TestRecordedProxies(t *testing.T) {
	t.Parallel()
	want := map[string]struct {
		status    int
		says      string
		unreached bool
	}{
		"squid-unreached":             {503, "ERR_CONNECT_FAIL 111", true},
		"squid-forbidden":             {403, "ERR_ACCESS_DENIED 0", false},
		"squid-password":              {407, "", false},
		"squid-connect-unreached":     {503, "ERR_CONNECT_FAIL 111", true},
		"squid-connect-no-name":       {500, "ERR_CANNOT_FORWARD 0", true},
		"squid-connect-forbidden":     {403, "ERR_ACCESS_DENIED 0", false},
		"tinyproxy-unreached":         {500, "tinyproxy: Unable to connect", true},
		"tinyproxy-forbidden":         {403, "tinyproxy: Filtered", false},
		"tinyproxy-password":          {407, "", false},
		"tinyproxy-connect-no-name":   {500, "tinyproxy: Unable to connect", true},
		"tinyproxy-connect-forbidden": {403, "tinyproxy: Filtered", false},
		"privoxy-unreached":           {503, "Privoxy: Connect failed", true},
		"privoxy-no-name":             {404, "Privoxy: No such domain", true},
		"privoxy-forbidden":           {403, "Privoxy: Request blocked by Privoxy", false},
		"privoxy-connect-no-name":     {404, "Privoxy: No such domain", true},
	}
	files, err := filepath.Glob("testdata/proxies/*.http")
	noErr(t, err)
	if len(files) != len(want) {
		t.Errorf("%d files", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".http")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says, err := os.ReadFile(file)
			noErr(t, err)
			to := "http"
			if strings.Contains(name, "-connect-") {
				to = "https"
			}
			site := newTarget(t, to, func(http.ResponseWriter, *http.Request) {})
			c := newProxied(t, noRobots())
			s := session(t, c, newProxy(&proxyServer{says: string(says)}, site).start(t, "http"))
			_, err = fetchVia(t, c, s, site, "/a")
			e, w := asError(t, err), want[name]
			if !e.Proxy || e.Status != w.status || e.Says != w.says || e.Unreached != w.unreached || e.Cause() != yp.CauseProxy {
				t.Errorf("%+v", e)
			}
			if w.says != "" && !strings.Contains(e.Error(), s.Proxy()+`: it says "`+w.says+`"`) {
				t.Errorf("told as %v", e)
			}
			if wait, why := c.Waiting("www.example.com"); wait != 0 || why != "" {
				t.Errorf("the host waits %s for %q", wait, why)
			}
		})
	}
}

// Pages tell, too, where a proxy was told to keep its headers to itself, or to send others.
func TestPagesOfProxies(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{
		"squid-unreached": "ERR_CONNECT_FAIL", "tinyproxy-unreached": "tinyproxy: 500 unable to connect", "privoxy-unreached": "Privoxy: 503 - connect failed (privoxy@localhost)", // in lower case, as titles are compared
	} {
		says, err := os.ReadFile("testdata/proxies/" + name + ".http")
		noErr(t, err)
		_, page, _ := bytes.Cut(says, []byte("\r\n\r\n"))
		if o, its := madeByProxy(503, "503 Service Unavailable", http.Header{}, page); !its || o.word != word || !o.unreached {
			t.Errorf("%s: %+v, %v", name, o, its)
		}
	}
}

// Whose answer it is, by its headers and by the way that it came: S = the proxy's, with the site's
// server in its place, which is as near as a test comes to a proxy that answers so.
func TestWhoseAnswer(t *testing.T) {
	t.Parallel()
	const (
		plain  = 1 << iota // http through an http proxy
		tunnel             // https through it
		socks              // http through a SOCKS proxy
		none               // directly
	)
	for _, tt := range []struct {
		header, says string
		status       int
		proxys       int // the ways by which it is the proxy's
		unreached    bool
	}{
		{"X-Squid-Error: ERR_CONNECT_FAIL 111", "ERR_CONNECT_FAIL 111", 503, plain, true},
		{"X-Squid-Error: ERR_ACCESS_DENIED 0", "ERR_ACCESS_DENIED 0", 403, plain, false},
		{"X-Squid-Error: ERR_SHUTTING_DOWN 0", "ERR_SHUTTING_DOWN 0", 503, plain, false},
		{"X-Squid-Error: ERR_DNS_FAIL 0", "ERR_DNS_FAIL 0", 404, plain, false},
		{"X-Squid-Error: 302:http://login.proxy.example/", "302:http://login.proxy.example/", 302, plain, false},
		{"Proxy-Status: squid.test; error=connection_refused", "connection_refused", 502, plain, true},
		{`Proxy-Status: cdn.example; received-status=200, "our proxy"; error=dns_error; rcode="NXDOMAIN"; details="error=x"`, "dns_error", 502, plain, true},
		{`Proxy-Status: p;details="; error=connection_refused"; error=http_request_denied`, "http_request_denied", 403, plain, false},
		{`Proxy-Status: p; error=proxy_internal_error`, "proxy_internal_error", 500, plain, false},
		{`Proxy-Status: p; received-status=503`, "", 503, 0, false},
		{`Proxy-Status: p; details="error=connection_refused"`, "", 503, 0, false},
		{"X-Brd-Error: Proxy Error: server error", "Proxy Error: server error", 502, plain | tunnel | socks, false},
		{"X-Brd-Err-Code: policy_20050", "policy_20050", 403, plain | tunnel | socks, false},
		{"X-Luminati-Error: Auth failed", "Auth failed", 502, plain | tunnel | socks, false},
		{"X-Crawlera-Error: banned", "banned", 503, plain | tunnel | socks, false},
		{"X-Error-Description: Restricted target", "Restricted target", 403, plain, false},
		{"X-Brd-Error:", "", 503, 0, false},
		{"Server: tinyproxy/1.8.3", "tinyproxy: Service Unavailable", 503, plain, true},
		{"Server: nginx", "", 503, 0, false},
		{"Proxy-Authenticate: Basic realm=x", "", 407, plain, false},
		{"X-Brd-Error: x", "", 200, 0, false}, // a page is a page
	} {
		for way, scheme := range map[int]string{plain: "http", tunnel: "http", socks: "socks5", none: ""} {
			to := "http"
			if way == tunnel {
				to = "https"
			}
			site := newTarget(t, to, func(w http.ResponseWriter, _ *http.Request) {
				name, value, _ := strings.Cut(tt.header, ":")
				w.Header().Set(name, strings.TrimSpace(value))
				w.Header().Set("Location", "/b")
				w.Header().Set("Set-Cookie", "from=proxy")
				w.Header().Set("Retry-After", "100")
				w.WriteHeader(tt.status)
			})
			c, req := newProxied(t, noRobots()), Request{URL: "/a", Base: site.base}
			if scheme == "" {
				req.Base = parse(t, site.URL)
			} else {
				req.Session = open(t, c, newProxy(&proxyServer{}, site).start(t, scheme).url(), Honest(""))
			}
			r, err := c.Get(t.Context(), req)
			if err == nil {
				if r.Release(); tt.status != 200 && tt.status != 404 || tt.proxys&way != 0 {
					t.Errorf("%s by %d: a page", tt.header, way)
				}
				continue
			}
			e := asError(t, err)
			its := tt.proxys&way != 0
			if e.Proxy != its || its && (e.Says != tt.says || e.Unreached != tt.unreached) || !its && e.Says != "" {
				t.Errorf("%s by %d: %+v", tt.header, way, e)
			}
			if _, why := c.Waiting(HostKey(req.Base)); its && why != "" {
				t.Errorf("%s by %d: the host is held: %s", tt.header, way, why)
			}
			if its && req.Session.jar != nil && len(req.Session.jar.Cookies(req.Base)) > 0 {
				t.Errorf("%s by %d: the proxy's cookie is kept", tt.header, way)
			}
			if tt.status == 407 && way == none && e.Cause() != yp.CauseAuth {
				t.Errorf("407 without a proxy: %v", e)
			}
		}
	}
}

// A word that repeats user or password is not told, and of others only plain characters are.
func TestTellable(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "http", Host: "proxy:1", User: url.UserPassword("scout", secret)}
	s := &Session{gateway: &gateway{url: u}}
	for word, want := range map[string]string{
		"ERR_CONNECT_FAIL 111":                                                "ERR_CONNECT_FAIL 111",
		"no such user: scout":                                                 "",
		"bad password " + secret:                                              "",
		"bad password " + url.QueryEscape(secret):                             "",
		"x" + strings.ToUpper(url.PathEscape(secret)):                         "",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("scout:"+secret)): "",
		"\x1b[31mred\x07 <b>x</b>\n":                                          "31mred b x /b",
		strings.Repeat("a", 500):                                              yp.Clip(strings.Repeat("a", 500), 80),
	} {
		if got := s.tellable(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// What a proxy says of the host counts for the host where another way fails alike.
func TestWays(t *testing.T) {
	t.Parallel()
	down := func() *Error { return &Error{Status: 503, Class: yp.ClassHTTP5xx, Proxy: true, Unreached: true} }
	refused := func() *Error { return &Error{Class: yp.ClassConnectionRefused} }
	var w ways
	hosts := func(way string, e *Error) bool {
		w.note("www.example.com", way, e)
		return e != nil && !e.Proxy
	}
	if first := hosts("a", down()); first || hosts("a", down()) {
		t.Error("one proxy says so alone")
	}
	if w.note("m.example.com", "b", down()); hosts("c", &Error{Status: 403, Class: yp.ClassHTTP403, Proxy: true}) || hosts("a", down()) {
		t.Error("of another host, and a refusal")
	}
	if !hosts("b", down()) || !hosts("a", down()) {
		t.Error("two proxies say so")
	}
	if hosts("b", nil); hosts("a", down()) {
		t.Error("another has reached it")
	}
	hosts(direct, refused())
	if !hosts("a", down()) {
		t.Error("it can't be reached directly")
	}
	hosts("b", &Error{Status: 404})
	hosts("b", &Error{Status: 403, Class: yp.ClassHTTP403})
	if hosts("a", down()) {
		t.Error("it has refused another, so it was reached")
	}
	w.failed["www.example.com"]["b"] = time.Now().Add(-alikeFor)
	if hosts("a", down()) {
		t.Error("long ago")
	}
	e := down()
	w.note("www.example.com", "c", e)
	if !e.Unreached || e.Cause() != yp.CauseNetwork || !strings.Contains(e.Error(), "so do other ways") {
		t.Errorf("%v", e)
	}
}
