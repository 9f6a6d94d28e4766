package crawl_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
)

// Answers of directories that misbehave (docs/site-facts.md, sections 7 and 8).

// with adds header fields, "Name: value", to an answer.
func with(h http.HandlerFunc, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			w.Header().Set(name, value)
		}
		h(w, r)
	}
}

// tooMany is a 429 that says when to come back.
func tooMany(retryAfter string) http.HandlerFunc {
	return with(status(http.StatusTooManyRequests, "slow down"), "Retry-After: "+retryAfter)
}

// inDate is a 429 that says it as an HTTP date.
func inDate(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UTC().Truncate(time.Second)
		w.Header().Set("Date", now.Format(http.TimeFormat))
		tooMany(now.Add(d).Format(http.TimeFormat))(w, r)
	}
}

// truncated announces more than it sends.
func truncated(w http.ResponseWriter, _ *http.Request) {
	body := page("", shops(1, 3)...)
	w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
	_, _ = w.Write([]byte(body))
	panic(http.ErrAbortHandler)
}

// reset closes the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// resetInBody resets the connection, as TCP knows it, in the middle of a body.
func resetInBody(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n<html><body>"))
	time.Sleep(10 * time.Millisecond) // so that the head is read before the reset overtakes it
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// trickle sends its headers byte by byte and never gets to their end.
func trickle(w http.ResponseWriter, r *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	for i := 0; ; i++ {
		text := "HTTP/1.1 200 OK\r\nX-Slow: " + strings.Repeat("x", 1000)
		if _, err := conn.Write([]byte{text[min(i, len(text)-1)]}); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stall sends half of its body and falls silent.
func stall(w http.ResponseWriter, r *http.Request) {
	body := page("", shops(1, 3)...)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write([]byte(body[:len(body)/2]))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func garbled(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	ok("<html>this is not gzip</html>")(w, r)
}

func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	block := bytes.Repeat([]byte("<p>0123456789</p>"), 1<<12)
	for sent := 0; sent < 50<<20; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func redirectTo(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// challenge is the answer of a host that has had enough.
func challenge(w http.ResponseWriter, r *http.Request) {
	with(status(http.StatusForbidden, "<html><title>Just a moment...</title></html>"), "cf-mitigated: challenge")(w, r)
}

// loginPage wants to know who asks; nothing on it is the directory's.
func loginPage() string {
	return `<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1>
<form action="/session" method="post"><input name="user"><input name="password" type="password"><button>Sign in</button></form>` +
		strings.Repeat("<p>Members only.</p>", 60) + `</body></html>`
}

// layoutChanged is a page of the site whose cards have other names.
func layoutChanged() string {
	return strings.ReplaceAll(page("", shops(1, 3)...), `class="result"`, `class="tile"`)
}

// latin1 is a text of the site's in ISO 8859-1 that says it is UTF-8.
func latin1(text string) http.HandlerFunc {
	var body []byte
	for _, r := range text {
		body = append(body, byte(r))
	}
	return ok(string(body))
}

func inUTF16(text string) http.HandlerFunc {
	body := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		body = append(body, byte(u), byte(u>>8))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-16")
		_, _ = w.Write(body)
	}
}
