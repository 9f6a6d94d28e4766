package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp/gazetteer"
)

// cmdServeDemo is `serve-demo [latency=50ms] [robots=none|all] [answer=401] [header=NAME:VALUE]... [429=0.1]...`: a demo
// directory in this process, its address in $URL, host and port of it in $ADDR. With answer, each page has that status, and these
// headers, alone.
func cmdServeDemo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, true, "serve-demo [latency=TIME] [robots=none|all] [answer=CODE] [header=NAME:VALUE]... [KIND=SHARE]...")
	cfg, robots, code, header := demo.Config{Fail: map[string]float64{}}, "", 0, http.Header{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		var err error
		switch name {
		case "latency":
			cfg.Latency, err = time.ParseDuration(value)
		case "answer":
			code, err = strconv.Atoi(value)
		case "header":
			field, text, _ := strings.Cut(value, ":")
			header.Add(field, text)
		case "robots":
			robots = map[string]string{"none": "User-agent: *\nDisallow: /\n", "all": "User-agent: *\nAllow: /\n"}[value]
		default:
			cfg.Fail[name], err = strconv.ParseFloat(value, 64)
		}
		ts.Check(err)
	}
	g, err := gazetteer.Load()
	ts.Check(err)
	dir, err := demo.New(cfg, g)
	ts.Check(err)
	st := stateOf(ts)
	st.asked.Store(0)
	serve(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/robots.txt":
			st.count()
		case robots != "":
			_, _ = fmt.Fprint(w, robots)
			return
		}
		if code != 0 && r.URL.Path != "/robots.txt" {
			maps.Copy(w.Header(), header)
			http.Error(w, "no", code)
			return
		}
		dir.ServeHTTP(w, r)
	}))
}

// cmdFetch is `fetch CODE URL`: prints what the page that is served at URL says.
func cmdFetch(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "fetch CODE URL")
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(args[1])
	ts.Check(err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	_, _ = ts.Stdout().Write(text)
	if got := strconv.Itoa(answer.StatusCode); got != args[0] {
		ts.Fatalf("%s is answered with %s, want %s", args[1], got, args[0])
	}
}

// cmdFreeAddress is `free-address VARIABLE`: an address of this machine at which nobody listens now.
func cmdFreeAddress(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "free-address VARIABLE")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	ts.Check(l.Close())
}

// evil is what a name may hold to act on a terminal: a colour, a title, bidi and
// C1 controls.
const evil = "Evil\x1b[31m\x1b]0;owned\x07\u202e\u009b2J\u200b"

const hostilePage = `<html><head><title>Plumbers - The Real Yellow Pages</title></head><body><div id="main-header"></div>
<div id="main-content"><div class="search-results organic">%s</div></div></body></html>`

const hostileCard = `<div class="result" id="lid-%d"><div class="v-card"><h2><a class="business-name" href="/austin-tx/mip/evil-%d">
<span>%s</span></a></h2><div class="phones phone primary">(512) 555-01%02d</div>
<div class="street-address">%d Main %s St</div><div class="locality">Austin, TX 78701</div></div></div>`

// cmdServeFiles is `serve-files FOLDER`: the address is in $URL. Beside the
// folder's files there are pages that no script can hold, and $EVIL.
func cmdServeFiles(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "serve-files FOLDER")
	ts.Setenv("EVIL", evil)
	cards := ""
	for i := 1; i <= 2; i++ {
		cards += fmt.Sprintf(hostileCard, i, i, evil, i, i, evil)
	}
	for name, page := range map[string]string{
		"hostile.html": fmt.Sprintf(hostilePage, cards),
		"broken.html":  "<html><title>" + evil + "</title><body>" + evil + "</body></html>",
		"big.html":     fmt.Sprintf(hostilePage, strings.Repeat("<p>page</p>", 1_200_000)),
	} {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), name), []byte(page), 0o600))
	}
	serve(ts, http.FileServer(http.Dir(ts.MkAbs(args[0]))))
}

func serve(ts *testscript.TestScript, h http.Handler) {
	s := httptest.NewServer(h)
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
	ts.Setenv("ADDR", strings.TrimPrefix(s.URL, "http://"))
}

// cmdServeHook is `serve-hook FILE [STATUS]`: its address is in $HOOK; each request becomes a line
// of the file, "PATH BODY", and is answered with the status, 200 by default.
func cmdServeHook(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1 || len(args) == 2, "serve-hook FILE [STATUS]")
	status := http.StatusOK
	if len(args) == 2 {
		var err error
		status, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, nil, 0o600))
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			var f *os.File
			if f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, err = fmt.Fprintf(f, "%s %s\n", r.URL.RequestURI(), strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", " / "))
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			status = http.StatusTeapot // which no test wants
		}
		w.WriteHeader(status)
	}))
	ts.Defer(s.Close)
	ts.Setenv("HOOK", s.URL)
}

// cmdAsked is `asked N`: so many pages were asked for since the last time; `asked
// N+` waits until there are as many.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "asked N[+]")
	if least, ok := strings.CutSuffix(args[0], "+"); ok {
		n, err := strconv.ParseInt(least, 10, 64)
		ts.Check(err)
		awaitRequests(ts, n)
		return
	}
	if got := stateOf(ts).asked.Swap(0); strconv.FormatInt(got, 10) != args[0] {
		ts.Fatalf("%d pages were asked for, want %s", got, args[0])
	}
}

func awaitRequests(ts *testscript.TestScript, n int64) {
	st, late := stateOf(ts), time.After(30*time.Second)
	for st.asked.Load() < n {
		select {
		case <-st.request:
		case <-late:
			ts.Fatalf("%d pages were asked for, want %d", st.asked.Load(), n)
		}
	}
	st.asked.Store(0)
}

// cmdPrivate is `[!] private FOLDER`: all below it, and the folder, is its owner's alone.
func cmdPrivate(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, len(args) == 1, "[!] private FOLDER")
	files, wide := 0, []string{}
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		files++
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			wide = append(wide, fmt.Sprint(info.Mode(), " ", path))
		}
		return err
	})
	ts.Check(err)
	if files < 4 || neg != (len(wide) > 0) {
		ts.Fatalf("of %d files below %s others can read %q", files, args[0], wide)
	}
}
