package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

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
