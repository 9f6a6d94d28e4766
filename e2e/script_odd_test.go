package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp/gazetteer"
)

// oddAnswers write an answer of the demo directory as servers do that know HTTP from hearsay.
var oddAnswers = map[string]func(status int, fields, body string) string{
	"header": func(status int, fields, body string) string { // each line of it one that net/http refuses
		return fmt.Sprintf("http/1.1 %d\r\n folded: first\r\nno field\r\n: x\r\nStrict‐Transport: x\r\nX: a\x01b\r\nY: a\rb\r\nTransfer-Encoding: identity\r\n%sContent-Length: %d, %[3]d\r\n\r\n%s", status, fields, len(body), body)
	},
	"feeds": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.1 %d\nTransfer-Encoding: chunked\n%s\n%s", status, fields, chunks(body, "\n"))
	},
	"old": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.0 %d\r\nTransfer-Encoding: chunked\r\n%s\r\n%s", status, fields, chunks(body, "\r\n"))
	},
	"lost": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.1 %d\r\n%s\r\n%s", status, fields, chunks(body, "\r\n"))
	},
	"cut": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.1 %d\r\nConnection: close\r\n%s\r\n%s", status, fields, strings.TrimSuffix(chunks(body, "\r\n"), "0\r\n\r\n"))
	},
	"nul": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.1 %d\r\nX: a\x00b\r\n%sContent-Length: %d\r\n\r\n%s", status, fields, len(body), body)
	},
	"extra": func(status int, fields, body string) string {
		return fmt.Sprintf("HTTP/1.1 %d\r\n%sContent-Length: %d\r\n\r\n%s<!-- cached -->", status, fields, len(body), body)
	},
}

// chunks is a body in chunks of 300 bytes.
func chunks(body, end string) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(300, len(body))
		fmt.Fprintf(&b, "%x%s%s%s", n, end, body[:n], end)
		body = body[n:]
	}
	return b.String() + "0" + end + end
}

// cmdServeOdd is `serve-odd KIND`: the demo directory, its answers written as oddAnswers says; the address is in $URL.
// Only "cut" and "old" close a connection that they were not asked to.
func cmdServeOdd(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1 && oddAnswers[args[0]] != nil, "serve-odd KIND")
	g, err := gazetteer.Load()
	ts.Check(err)
	dir, err := demo.New(demo.Config{}, g)
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("URL", "http://"+l.Addr().String())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serveOdd(conn, dir, args[0]) })
		}
	})
	ts.Defer(func() {
		_ = l.Close()
		serving.Wait()
	})
}

func serveOdd(conn net.Conn, dir http.Handler, kind string) {
	defer func() { _ = conn.Close() }()
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		r.Header.Del("Accept-Encoding")
		w := httptest.NewRecorder()
		dir.ServeHTTP(w, r)
		var fields strings.Builder
		w.Header().Del("Content-Length")
		_ = w.Header().Write(&fields)
		_, err = conn.Write([]byte(oddAnswers[kind](w.Code, fields.String(), w.Body.String())))
		if err != nil || r.Close || kind == "cut" || kind == "old" {
			return
		}
	}
}
