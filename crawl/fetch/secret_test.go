package fetch

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/store/storetest"
)

// hidden is a secret that every layer would like to write in another way.
const hidden = `k+3y/"<&>' \%41=ü`

// token is one that may be sent.
const token = `s3cr3t/+"<&>' \%41=`

func secretsFor(t testing.TB, origin string) *Secrets {
	t.Helper()
	s, err := NewSecrets(parse(t, origin), map[string]string{"TOKEN": token, "OTHER": "another-1"})
	noErr(t, err)
	return s
}

// forms are the ways in which an answer may write the token.
func forms() map[string]string {
	quoted, _ := json.Marshal(token)
	hex, uni := "", ""
	for _, c := range []byte(token) {
		hex += fmt.Sprintf("%%%02x", c)
		uni += fmt.Sprintf(`\u%04X`, c)
	}
	return map[string]string{
		"plain": token, "query": url.QueryEscape(token), "path": url.PathEscape(token), "query of a form": strings.ReplaceAll(url.QueryEscape(token), "%20", "+"),
		"all escaped": hex, "twice": url.QueryEscape(url.QueryEscape(token)), "JSON": string(quoted[1 : len(quoted)-1]), "JSON of numbers": uni,
		"JSON of slashes": strings.ReplaceAll(string(quoted[1:len(quoted)-1]), "/", `\/`), "HTML": html.EscapeString(token),
		"JSON in JSON": func() string { b, _ := json.Marshal(string(quoted)); return strings.Trim(string(b), `"\`) }(),
		"base64":       base64.StdEncoding.EncodeToString([]byte(token)), "base64 of addresses": base64.URLEncoding.EncodeToString([]byte(token)),
		"bare base64":    base64.RawStdEncoding.EncodeToString([]byte(token)),
		"escaped base64": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(token))),
	}
}

// TestClean: a secret is its name however it is written, and all else stays as it is.
func TestClean(t *testing.T) {
	t.Parallel()
	s := secretsFor(t, "https://x.example")
	for name, form := range forms() {
		for _, around := range [][2]string{{"", ""}, {"a ", " b"}, {`"`, `"`}, {"?k=", "&p=2"}} {
			got := string(s.clean([]byte(around[0] + form + around[1])))
			if got != around[0]+"${TOKEN}"+around[1] {
				t.Errorf("%s: %s within %q: %s", name, form, around, got)
			}
		}
	}
	for before := range 4 { // base64 of a text that holds it
		for after := range 4 {
			text := base64.StdEncoding.EncodeToString([]byte("user"[:before] + token + "more"[:after]))
			got := string(s.clean([]byte("x " + text + " y")))
			if !strings.Contains(got, "${TOKEN}") || len(got) > len("x ${TOKEN} y")+before*2+after*2+6 {
				t.Errorf("%d before, %d behind: %s", before, after, got)
			}
		}
	}
	for before := range 3 { // base64 of an address that holds it
		for _, escaped := range []string{url.QueryEscape(token), url.PathEscape(token)} {
			text := base64.RawURLEncoding.EncodeToString([]byte("?kk="[before:] + escaped + "&p=2"))
			if got := s.clean([]byte(text)); !strings.Contains(string(got), "${TOKEN}") || len(got) > len("${TOKEN}")+18 {
				t.Errorf("an address after %d bytes: %s", before, got)
			}
		}
	}
	for _, text := range []string{"", "a", token[:len(token)-1], token[1:], "%", `\`, `\\`, `\u00`, "&", "&#", "&#x41;", "%2", "%25", "another-2"} {
		if got := s.clean([]byte(text)); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	storetest.Equal(t, string(s.clean([]byte(token+token+"another-1"))), "${TOKEN}${TOKEN}${OTHER}")
}

func TestNewSecrets(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]error{
		"short": errSecretShort, hidden: errSecretBytes, " padded": errSecretBytes, "line\nbreak": errSecretBytes, "has${X}": errSecretName,
		strings.Repeat("x", maxSecret+1): errSecretLong,
	} {
		_, err := NewSecrets(parse(t, "https://x.example"), map[string]string{"TOKEN": value})
		if !errors.Is(err, want) || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// repeater is a server that wants the token, and repeats it in its answers.
type repeater struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // of each request all that it holds
}

func newRepeater(t *testing.T, secure bool, answer http.HandlerFunc) *repeater {
	t.Helper()
	r := &repeater{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		query := req.URL.Query()
		r.mu.Lock()
		r.seen = append(r.seen, fmt.Sprint(req.URL.Path, " ", query, " ", req.Header["X-Key"], " ", string(body), " ", req.Header["Cookie"]))
		r.mu.Unlock()
		answer(w, req)
	})
	r.Server = httptest.NewUnstartedServer(handler)
	if secure {
		r.EnableHTTP2 = true
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

func (r *repeater) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.seen, "\n")
}

// knows reports whether a text holds a form of the token.
func knows(text string) bool {
	for _, form := range forms() {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// TestSecretSent: what a request names goes out, escaped for where it stands, and comes back as its name, in header, cookie,
// address and body; an address that was read is followed with it.
func TestSecretSent(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		srv := newRepeater(t, secure, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "k="+url.QueryEscape(token))
			w.Header().Set("X-Echo", strings.Join(r.Header["X-Key"], ""))
			if r.URL.Path == "/from" {
				http.Redirect(w, r, "/to/"+url.PathEscape(token)+"?k="+url.QueryEscape(token), http.StatusTemporaryRedirect)
				return
			}
			for _, form := range forms() {
				_, _ = fmt.Fprintln(w, form)
			}
		})
		s := secretsFor(t, srv.URL)
		cfg := noRobots()
		if secure {
			cfg.Roots = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
		c := newClient(t, cfg)
		for kind, want := range map[string]string{"application/json": `{"k":"` + string(appendQuoted(token)) + `"}`, "application/x-www-form-urlencoded": "k=" + url.QueryEscape(token)} {
			body := `{"k":"${TOKEN}"}`
			if !strings.HasSuffix(kind, "json") {
				body = "k=${TOKEN}"
			}
			r, err := c.Get(t.Context(), Request{
				Method: "POST", URL: "/from?k=${TOKEN}&o=$%7BOTHER%7D", Base: parse(t, srv.URL), Body: []byte(body), Secrets: s,
				Header: http.Header{"X-Key": {"Bearer ${TOKEN}"}, "Content-Type": {kind}},
			})
			noErr(t, err)
			if text := fmt.Sprint(r.URL, r.Header, string(r.Body)); knows(text) || !strings.HasSuffix(r.URL.String(), "?k=${TOKEN}") {
				t.Errorf("the answer holds it: %s", text)
			}
			storetest.Equal(t, strings.Count(string(r.Body), "${TOKEN}\n"), len(forms()), "names in the body")
			storetest.Equal(t, r.Header.Get("X-Echo"), "Bearer ${TOKEN}")
			r.Release()
			got := srv.got()
			for _, sent := range []string{
				fmt.Sprintf("/from map[k:[%s] o:[another-1]] [Bearer %[1]s] %s", token, want),
				fmt.Sprintf("/to/%s map[k:[%[1]s]] [Bearer %[1]s] %s", token, want),
			} {
				if !strings.Contains(got, sent) {
					t.Errorf("%s: it was not sent as %s:\n%s", kind, sent, got)
				}
			}
			if !strings.Contains(got, "k="+url.QueryEscape(token)) && !strings.Contains(got, "k="+token) {
				t.Errorf("the cookie is not sent as it came:\n%s", got)
			}
		}
	}
}

// TestSecretEscaped: a secret is escaped as the body is written in which it stands.
func TestSecretEscaped(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"text/plain": token, "application/json; charset=utf-8": string(appendQuoted(token)), "application/x-www-form-urlencoded": url.QueryEscape(token),
		"application/soap+xml": `s3cr3t/+&quot;&lt;&amp;&gt;&apos; \%41=`, "text/xml": `s3cr3t/+&quot;&lt;&amp;&gt;&apos; \%41=`,
	} {
		storetest.Equal(t, escapeIn(kind)(token), want, kind)
	}
}

func appendQuoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b[1 : len(b)-1]
}

// TestSecretElsewhere: to another origin goes no secret: neither after a redirect, nor where the source was moved, nor through
// a proxy that could read it.
func TestSecretElsewhere(t *testing.T) {
	t.Parallel()
	ask := func(base, address string, s *Secrets) Request {
		return Request{
			Method: "POST", URL: address, Base: &url.URL{Scheme: "http", Host: strings.TrimPrefix(base, "http://")}, Body: []byte("k=${TOKEN}"), Secrets: s,
			Header: http.Header{"X-Key": {"Bearer ${TOKEN}"}, "X-Client": {"web"}, "Content-Type": {"application/x-www-form-urlencoded"}},
		}
	}
	silent := func(t *testing.T, srv *repeater) {
		t.Helper()
		if got := srv.got(); knows(got) || strings.Contains(got, "Bearer") || got == "" {
			t.Errorf("it got %q", got)
		}
	}
	t.Run("a moved source", func(t *testing.T) {
		t.Parallel()
		srv := newRepeater(t, false, func(http.ResponseWriter, *http.Request) {})
		c := newClient(t, noRobots())
		for _, origin := range []string{"https://acme.example", "http://127.0.0.1:1", strings.Replace(srv.URL, "http:", "https:", 1), strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)} {
			mustGet(t, c, ask(srv.URL, "/q?k=${TOKEN}", secretsFor(t, origin)))
		}
		silent(t, srv)
	})
	t.Run("a redirect", func(t *testing.T) {
		t.Parallel()
		other := newRepeater(t, false, func(http.ResponseWriter, *http.Request) {})
		from := newRepeater(t, false, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/x?k="+url.QueryEscape(token), http.StatusFound)
		})
		c := newClient(t, noRobots())
		req := ask(from.URL, "/q?k=${TOKEN}", secretsFor(t, from.URL))
		req.Method, req.Body = "GET", nil
		if _, err := c.Get(t.Context(), req); err == nil || knows(err.Error()) || other.got() != "" {
			t.Errorf("%v, %q", err, other.got())
		}
		// Another host of the same site may be led to: without it.
		var hosts sync.Map
		w := newWeb(t, noRobots(), func(rw http.ResponseWriter, r *http.Request) {
			hosts.Store(r.Host, fmt.Sprint(r.URL.Query(), r.Header["X-Key"], r.Header["X-Client"]))
			if r.Host == "www.example.com" {
				http.Redirect(rw, r, "https://m.example.com/?k="+url.QueryEscape(token), http.StatusFound)
			}
		})
		req.Base, req.URL, req.Secrets = parse(t, "https://www.example.com"), "/?k=${TOKEN}", secretsFor(t, "https://www.example.com")
		mustGet(t, w.client, req)
		got, _ := hosts.Load("www.example.com")
		storetest.Equal(t, fmt.Sprint(got), fmt.Sprintf("map[k:[%s]] [Bearer %[1]s] [web]", token))
		got, _ = hosts.Load("m.example.com")
		storetest.Equal(t, fmt.Sprint(got), "map[k:[${TOKEN}]] [] [web]")
	})
	t.Run("a redirect and back", func(t *testing.T) {
		t.Parallel()
		var back string
		w := newWeb(t, noRobots(), func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.Host == "m.example.com":
				http.Redirect(rw, r, "https://www.example.com/search?q=${TOKEN}", http.StatusFound)
			case r.URL.Path == "/search":
				back = fmt.Sprint(r.URL.Query(), r.Header["X-Key"])
			default:
				http.Redirect(rw, r, "https://m.example.com/", http.StatusFound)
			}
		})
		req := ask("", "/?k=${TOKEN}", secretsFor(t, "https://www.example.com"))
		req.Method, req.Body, req.Base = "GET", nil, parse(t, "https://www.example.com")
		mustGet(t, w.client, req)
		storetest.Equal(t, back, "map[q:[${TOKEN}]] []")
	})
	t.Run("a proxy", func(t *testing.T) {
		t.Parallel()
		for _, scheme := range proxySchemes {
			for _, to := range []string{"http", "https"} {
				var got string
				site := newTarget(t, to, func(_ http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					got = fmt.Sprint(r.URL.RawQuery, " ", r.Header["X-Key"], " ", string(body))
				})
				p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
				c := newProxied(t, noRobots())
				req := ask("", "/q?k=${TOKEN}", secretsFor(t, site.base.String()))
				req.Base, req.Session = site.base, session(t, c, p)
				mustGet(t, c, req)
				if knows(got) != (to == "https") {
					t.Errorf("%s by a proxy of %s: %s", to, scheme, got)
				}
				// This machine's own server is another's there.
				at := parse(t, site.URL)
				if to == "https" {
					continue
				}
				req.Base, req.Secrets = at, secretsFor(t, at.String())
				got = "nothing"
				if _, err := c.Get(t.Context(), req); err == nil && knows(got) {
					t.Errorf("%s: through a proxy of %s: %s", at, scheme, got)
				}
			}
		}
	})
}

// TestSecretInErrors: no error quotes an answer with a secret.
func TestSecretInErrors(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no HTTP":      "HTTP/1.1 " + token + "\r\n\r\n",
		"a bad header": "HTTP/1.1 200 OK\r\n" + token + "\r\nContent-Length: 0\r\n\r\n",
		"a bad length": "HTTP/1.1 200 OK\r\nContent-Length: " + token + "\r\n\r\n",
		"a location":   "HTTP/1.1 302 Found\r\nLocation: https://" + url.PathEscape(token) + ".example/\r\nContent-Length: 0\r\n\r\n",
		"an address":   "HTTP/1.1 302 Found\r\nLocation: https://a.example/?k=" + url.QueryEscape(token) + "\r\nContent-Length: 0\r\n\r\n",
		"a refusal":    "HTTP/1.1 403 " + token + "\r\nContent-Length: 0\r\n\r\n",
	} {
		at := rawServer(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, answer)
			}
		})
		c := newClient(t, noRobots())
		for range 2 {
			_, err := c.Get(t.Context(), Request{URL: "/?k=${TOKEN}", Base: parse(t, at), Secrets: secretsFor(t, at)})
			if err != nil && (knows(err.Error()) || knows(fmt.Sprintf("%+v", err))) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSecretInRobots: robots.txt may repeat a secret, too: in what it says, in where it leads, and in what is wrong with it.
func TestSecretInRobots(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"a rule":     "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\nUser-agent: *\nDisallow: /*" + url.PathEscape(token) + "\nDisallow: /*k=\n",
		"an address": "HTTP/1.1 302 Found\r\nLocation: /robots.txt?k=" + url.QueryEscape(token) + "\r\nContent-Length: 0\r\n\r\n",
		"no HTTP":    "HTTP/1.1 " + token + "\r\n\r\n",
		"a refusal":  "HTTP/1.1 503 " + token + "\r\nContent-Length: 0\r\n\r\n",
	} {
		if _, body, ok := strings.Cut(answer, "%d\r\n\r\n"); ok {
			answer = strings.Replace(answer, "%d", fmt.Sprint(len(body)), 1)
		}
		at := rawServer(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, answer)
			}
		})
		var mu sync.Mutex
		var told bytes.Buffer
		cfg := Config{Logger: zerolog.New(&told).Level(zerolog.DebugLevel), Observe: func(o Observation) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&told, "%+v\n", o)
		}}
		c := newClient(t, cfg)
		_, err := c.Get(t.Context(), Request{URL: "/?k=${TOKEN}", Base: parse(t, at), Secrets: secretsFor(t, at), MaxHold: 1})
		c.Close()
		if text := fmt.Sprint(err, told.String()); err == nil || knows(text) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// FuzzClean: no text breaks the search, what is found leaves nothing, and a text without a secret stays as it is.
func FuzzClean(f *testing.F) {
	s, err := NewSecrets(&url.URL{Scheme: "https", Host: "x.example"}, map[string]string{"TOKEN": token})
	noErr(f, err)
	for _, form := range forms() {
		f.Add([]byte("a" + form + "b"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := s.clean(text)
		if knows(string(got)) {
			t.Fatalf("%q: %q", text, got)
		}
		if !strings.Contains(string(got), "${TOKEN}") && string(got) != string(text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
