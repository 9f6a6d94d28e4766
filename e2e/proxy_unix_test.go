//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

var pageAddress = regexp.MustCompile(`(?:[Tt]he page|[Dd]ashboard): (http://[^/]+)/`)

// dashboard is ypcrawl in a process of its own, serving the page.
type dashboard struct {
	url  string
	cmd  *exec.Cmd
	done chan struct{}
}

// startPage starts a command that serves the page, and waits for its address.
func startPage(t testing.TB, dir string, args ...string) *dashboard {
	t.Helper()
	p := &dashboard{cmd: command(dir, nil, args...), done: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	storetest.NoError(t, err)
	storetest.NoError(t, p.cmd.Start())
	found := make(chan string, 1)
	var said bytes.Buffer
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if m := pageAddress.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
	})
	select {
	case p.url = <-found:
	case <-p.done:
		t.Fatalf("ended before it served the page:\n%s", said.String())
	case <-time.After(time.Minute):
		t.Fatal("no page")
	}
	return p
}

// freePort is an address of this machine that nobody has now.
func freePort(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	storetest.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// startProxy runs a server in the foreground until the test ends, and waits until it takes connections at an address.
func startProxy(t *testing.T, program, config, address string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", program)) // not on everybody's PATH
	}
	if err != nil {
		without(t, "no "+program+": apt-get install "+program)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "proxy.conf")
	storetest.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(config, "DIR", dir)), 0o644))
	cmd := exec.Command(path, append(args, file)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &said, &said, dir
	storetest.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s: %s", program, &said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// behindNginx is a server of nginx with its defaults that shows the page at an address as /yp/, and as /named/ under the name
// by which it was asked.
func behindNginx(t *testing.T, page string) (url string) {
	t.Helper()
	address := freePort(t)
	startProxy(t, "nginx", fmt.Sprintf(`daemon off; master_process off; pid DIR/pid; error_log stderr;
events {}
http {
	access_log off; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
	server {
		listen %s;
		location /yp/ { proxy_pass %[2]s/; }
		location /named/ { proxy_pass %[2]s/; proxy_set_header Host $host; }
	}
}
`, address, page), address, "-e", "stderr", "-c")
	return "http://" + address
}

// get asks for an address under a name.
func get(ctx context.Context, t *testing.T, url, host, accept string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	storetest.NoError(t, err)
	r.Host = host
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultTransport.RoundTrip(r)
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// TestBehindNginx: events come as they are sent, and the page is served under the public name where that is allowed.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.NoError(t, command(dir, nil, "proxies", "add", "http://127.0.0.1:9").Run())
	front := behindNginx(t, startPage(t, dir, "dashboard", "--listen", "0", "--allow-host", "crawl.example.com").url)
	for _, c := range []struct {
		path, host string
		status     int
		has        string
	}{
		{"/yp/", "", 200, `href="./static/page.css"`},
		{"/yp/static/page.css", "", 200, "color-scheme"},
		{"/yp/healthz", "anything.example", 200, "ok"},
		{"/named/", "crawl.example.com", 200, `href="./static/page.css"`},
		{"/named/", "evil.example", 403, "--allow-host evil.example"},
	} {
		answer := get(t.Context(), t, front+c.path, c.host, "text/html")
		text, err := io.ReadAll(answer.Body)
		storetest.NoError(t, err)
		if answer.StatusCode != c.status || !strings.Contains(string(text), c.has) {
			t.Errorf("%s for %s: %d, want %d with %q:\n%s", c.path, c.host, answer.StatusCode, c.status, c.has, text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second) // a sign of life comes every 5 s
	defer cancel()
	lines, beats := bufio.NewScanner(get(ctx, t, front+"/yp/", "", "text/event-stream").Body), 0
	for beats < 2 && lines.Scan() {
		if lines.Text() == "event: beat" {
			beats++
		}
	}
	if beats < 2 {
		t.Errorf("%d signs of life: %v", beats, lines.Err())
	}
}

// TestBehindHAProxy: its check with GET, by HTTP/1.0 and without a Host as it is by default, finds the program well.
func TestBehindHAProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.NoError(t, command(dir, nil, "proxies", "add", "http://127.0.0.1:9").Run())
	page, stats := startPage(t, dir, "dashboard", "--listen", "0").url, freePort(t)
	startProxy(t, "haproxy", fmt.Sprintf(`defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
listen stats
	bind %s
	stats enable
	stats uri /
backend crawl
	option httpchk GET /healthz
	server one %s check inter 100ms
`, stats, strings.TrimPrefix(page, "http://")), stats, "-db", "-f")
	checked := regexp.MustCompile(`(?m)^crawl,one,.*,(L[0-9][A-Z]+),([0-9]*),`)
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		text, err := io.ReadAll(get(t.Context(), t, "http://"+stats+"/;csv", "", "").Body)
		storetest.NoError(t, err)
		m := checked.FindStringSubmatch(string(text))
		if m == nil && time.Now().Before(until) {
			continue
		}
		if m == nil || m[1] != "L7OK" || m[2] != "200" {
			t.Errorf("the check ends with %q:\n%s", m, text)
		}
		return
	}
}
