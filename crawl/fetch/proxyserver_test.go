package fetch

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// secret is a password that every layer would like to write in another way.
const secret = `s3cr:t/pä?w%rd#`

// proxyServer is a real proxy on loopback: http and https with CONNECT and
// forwarding, or SOCKS5.
type proxyServer struct {
	scheme         string
	user, password string            // wanted, unless user is ""
	hosts          map[string]string // where "www.example.com:443" really is; others are refused
	status         int               // the answer to every request instead of serving it
	socksCode      byte              // the same of SOCKS5
	silent         bool              // it accepts connections and says nothing
	mute           bool              // it hears the request and says nothing
	says           string            // what it says to every connection, and hangs up
	tunnel         string            // what it says when a tunnel is open; "" = what most say

	ln net.Listener
	wg sync.WaitGroup

	mu       sync.Mutex
	changed  sync.Cond // conns
	dead     bool
	conns    map[net.Conn]bool
	accepted int
	asked    []string // "CONNECT www.example.com:443", "GET http://…", "SOCKS www.example.com:443"
	agents   []string // the User-Agent of each HTTP request that it saw
}

func (p *proxyServer) start(t testing.TB, scheme string) *proxyServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	p.scheme, p.ln, p.conns, p.changed.L = scheme, ln, map[net.Conn]bool{}, &p.mu
	p.wg.Go(p.accept)
	t.Cleanup(p.kill)
	return p
}

func (p *proxyServer) url() *url.URL {
	u := &url.URL{Scheme: p.scheme, Host: p.ln.Addr().String()}
	if p.user != "" {
		u.User = url.UserPassword(p.user, p.password)
	}
	return u
}

// kill ends the proxy with all its connections.
func (p *proxyServer) kill() {
	p.mu.Lock()
	p.dead = true
	_ = p.ln.Close()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// keep registers a connection to be killed with the proxy.
func (p *proxyServer) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	p.changed.Broadcast()
	return true
}

func (p *proxyServer) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	p.changed.Broadcast()
}

// until waits until n connections are open, to the proxy and by it.
func (p *proxyServer) until(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.conns) != n {
		p.changed.Wait()
	}
}

func (p *proxyServer) note(list *[]string, s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, s)
}

func (p *proxyServer) accept() {
	for {
		conn, err := p.ln.Accept()
		if err != nil {
			return
		}
		if !p.keep(conn) {
			return
		}
		p.mu.Lock()
		p.accepted++
		p.mu.Unlock()
		p.wg.Go(func() {
			defer p.drop(conn)
			p.serve(conn)
		})
	}
}

func (p *proxyServer) serve(conn net.Conn) {
	switch {
	case p.silent:
		_, _ = io.Copy(io.Discard, conn)
		return
	case p.says != "":
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, p.says)
		return
	case p.scheme == "https":
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate()}, MinVersion: tls.VersionTLS12})
		defer secure.Close()
		p.http(secure)
	case p.scheme == "http":
		p.http(conn)
	default:
		p.socks(conn)
	}
}

// dial connects to the host that was asked for.
func (p *proxyServer) dial(addr string) (net.Conn, error) {
	at, ok := p.hosts[addr]
	if !ok {
		return nil, io.EOF
	}
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	if !p.keep(conn) {
		return nil, net.ErrClosed
	}
	return upward{conn, p}, nil
}

// upward is a connection to a host, forgotten when it is closed.
type upward struct {
	net.Conn
	p *proxyServer
}

func (u upward) Close() error { u.p.drop(u.Conn); return nil }

func (p *proxyServer) http(conn net.Conn) {
	br := bufio.NewReader(conn)
	forward := &http.Transport{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) { return p.dial(addr) }, DisableCompression: true}
	defer forward.CloseIdleConnections()
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		p.note(&p.asked, r.Method+" "+r.RequestURI)
		p.note(&p.agents, r.UserAgent())
		status := p.status
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)); p.user != "" && r.Header.Get("Proxy-Authorization") != want {
			status = http.StatusProxyAuthRequired
		}
		switch {
		case p.mute:
			_, _ = io.Copy(io.Discard, conn)
			return
		case status != 0:
			// Much as real ones do, it tells what it was sent.
			body := "refused: " + r.Header.Get("Proxy-Authorization")
			_, _ = io.WriteString(conn, "HTTP/1.1 "+strconv.Itoa(status)+" no to "+r.Header.Get("Proxy-Authorization")+
				"\r\nProxy-Authenticate: Basic realm=x\r\nSet-Cookie: proxy=1\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		case r.Method == http.MethodConnect:
			p.connect(conn, r.Host)
			return
		default:
			if !p.forward(conn, forward, r) {
				return
			}
		}
	}
}

func (p *proxyServer) connect(conn net.Conn, addr string) {
	up, err := p.dial(addr)
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	_, _ = io.WriteString(conn, cmp.Or(p.tunnel, "HTTP/1.1 200 Connection established\r\n\r\n"))
	p.splice(conn, up)
}

func (p *proxyServer) forward(conn net.Conn, by http.RoundTripper, r *http.Request) bool {
	r.RequestURI = ""
	r.Header.Del("Proxy-Authorization")
	resp, err := by.RoundTrip(r)
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return true
	}
	defer resp.Body.Close()
	return resp.Write(conn) == nil
}

func (p *proxyServer) splice(conn, up net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(up, conn)
		_ = up.Close()
	})
	_, _ = io.Copy(conn, up)
	_ = conn.Close()
	wg.Wait()
}

func (p *proxyServer) socks(conn net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(conn, b)
		return b
	}
	methods := read(int(read(2)[1]))
	if p.mute {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	if p.user == "" {
		_, _ = conn.Write([]byte{5, 0})
	} else {
		if !slices.Contains(methods, 2) {
			_, _ = conn.Write([]byte{5, 0xff})
			return
		}
		_, _ = conn.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		if password := string(read(int(read(1)[0]))); user != p.user || password != p.password {
			_, _ = conn.Write([]byte{1, 1})
			return
		}
		_, _ = conn.Write([]byte{1, 0})
	}
	var host string
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	case 4:
		host = net.IP(read(16)).String()
	}
	addr := net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2)))))
	p.note(&p.asked, "SOCKS "+addr)
	up, err := p.dial(addr)
	code := p.socksCode
	if err != nil {
		code = 4
	}
	if code != 0 {
		_, _ = conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		if up != nil {
			_ = up.Close()
		}
		return
	}
	_, _ = conn.Write(append([]byte{5, 0, 0, 3, 9}, "localhost\x00\x50"...))
	p.splice(conn, up)
}

// certificate is one for example.com and its subdomains, and 127.0.0.1.
var certificate = sync.OnceValue(func() tls.Certificate {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates[0]
})

func roots(t testing.TB) *x509.CertPool {
	t.Helper()
	cert, err := x509.ParseCertificate(certificate().Certificate[0])
	noErr(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

// target is a web server that keeps account of what it is asked for. It is www.example.com to those
// who ask a proxy for that, and nobody else can find it (noDNS).
type target struct {
	*httptest.Server
	base *url.URL

	mu   sync.Mutex
	hits []string
}

func newTarget(t testing.TB, scheme string, h http.HandlerFunc) *target {
	t.Helper()
	s := &target{base: &url.URL{Scheme: scheme, Host: "www.example.com"}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits = append(s.hits, r.URL.Path)
		s.mu.Unlock()
		h(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if scheme == "https" {
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// hosts is for a proxy that is to know the target.
func (s *target) hosts() map[string]string {
	port := map[string]string{"http": "80", "https": "443"}[s.base.Scheme]
	at := s.Listener.Addr().String()
	return map[string]string{"www.example.com:" + port: at, "m.example.com:" + port: at, at: at}
}

func (s *target) seen() (hits []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.hits))
}

// noDNS fails the test when a name is looked up here.
func noDNS(t testing.TB) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name was looked up directly")
		return nil, io.EOF
	}}
}

// newProxied returns a client that would report any name looked up by itself.
func newProxied(t testing.TB, cfg Config) *Client {
	t.Helper()
	cfg.resolver, cfg.Roots = noDNS(t), roots(t)
	c := newClient(t, cfg)
	return c
}

func session(t testing.TB, c *Client, p *proxyServer) *Session {
	t.Helper()
	return open(t, c, p.url(), Honest(c.cfg.UserAgent))
}

// open makes a session through a proxy, nil = directly.
func open(t testing.TB, c *Client, proxy *url.URL, id Identity) *Session {
	t.Helper()
	var m *member
	if proxy != nil {
		m = &member{Proxy: Proxy{URL: proxy, Name: proxy.Redacted()}}
	}
	s, err := c.open(m, id)
	noErr(t, err)
	return s
}

// fetchVia gets a page of the target and returns its body.
func fetchVia(t testing.TB, c *Client, s *Session, site *target, path string) (string, error) {
	t.Helper()
	r, err := c.Get(t.Context(), Request{URL: path, Base: site.base, Session: s})
	if err != nil {
		return "", err
	}
	defer r.Release()
	return string(r.Body), nil
}

// tells looks for the secret in any of the forms that it may take.
func tells(text string) bool {
	for _, form := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("u", secret).String(),
		base64.StdEncoding.EncodeToString([]byte("scout:" + secret)), "s3cr",
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}
