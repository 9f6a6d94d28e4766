package crawl_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// secret is the password of every proxy.
const secret = "s3cr3t-of-the-proxy"

// proxy is a real HTTP proxy on loopback.
type proxy struct {
	*httptest.Server
	refuse int    // the status with which it answers everything itself; 0 = it works
	header string // of those answers
	wait   string // their Retry-After

	hangUp int // on so many first requests

	mu    sync.Mutex
	asked []string // paths
}

func newProxy(t *testing.T, refuse int) *proxy {
	p := &proxy{refuse: refuse}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.URL.Path)
	starts := len(p.asked) <= p.hangUp
	p.mu.Unlock()
	if starts {
		w.Header().Set("X-Squid-Error", "ERR_SHUTTING_DOWN 0")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if user, password, _ := parseProxyAuth(r); user != "agent" || password != secret || !r.URL.IsAbs() {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if p.refuse != 0 && r.URL.Path != "/robots.txt" {
		if name, value, ok := strings.Cut(p.header, ": "); ok {
			w.Header().Set(name, value)
		}
		if p.wait != "" {
			w.Header().Set("Retry-After", p.wait)
		}
		status(p.refuse, "<html>no</html>")(w, r)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.Header.Del("Proxy-Authorization")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		if name, value, ok := strings.Cut(p.header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func parseProxyAuth(r *http.Request) (user, password string, ok bool) {
	q := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	return q.BasicAuth()
}

// way is a proxy as the operator names it; one without a server is dead.
func way(t *testing.T, id int64, p *proxy, failures int) fetch.Proxy {
	host := unused(t)
	if p != nil {
		host = p.Listener.Addr().String()
	}
	u, name, err := fetch.ParseProxy("http://agent:" + secret + "@" + host)
	storetest.NoError(t, err)
	return fetch.Proxy{ID: id, URL: u, Name: name, Consecutive: failures}
}

// scores counts what a pool tells of its proxies.
type scores struct {
	mu   sync.Mutex
	last map[int64]fetch.ProxyState
	sum  map[int64][2]int // successes, failures
}

func (s *scores) add(st fetch.ProxyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[st.ID] = st
	n := s.sum[st.ID]
	s.sum[st.ID] = [2]int{n[0] + st.Successes, n[1] + st.Failures}
}

// through gives an engine a pool.
func (s *scores) through(policy fetch.Policy, proxies ...fetch.Proxy) func(*crawl.Config) {
	s.last, s.sum = map[int64]fetch.ProxyState{}, map[int64][2]int{}
	return func(c *crawl.Config) {
		client, ok := c.Fetch.(*fetch.Client)
		if !ok {
			panic("no client to go through")
		}
		c.Pool = fetch.NewPool(client, fetch.PoolConfig{Policy: policy, Proxies: proxies, Identities: fetch.Browsers(), Changed: s.add})
	}
}

const proxyRow = `SELECT CASE outcome WHEN 'success' THEN 'ok' ELSE error_class END, ifnull(proxy, 'direct'), via, proxy_failed, retry_seq
	FROM requests WHERE type = 'listing' ORDER BY id`

// TestProxies: a block, or a proxy that fails, is answered by going another way within
// the attempt; with none left to go, that is the end of the attempt, or of the run.
func TestProxies(t *testing.T) {
	t.Parallel()
	parallel(t, "rotate with the identity on a 403", func(t *testing.T) {
		w := setup(t, layout{})
		blocked, works := newProxy(t, 403), newProxy(t, 0)
		a, b := way(t, 1, blocked, 0), way(t, 2, works, 0)
		var s scores
		var log bytes.Buffer
		w.done(s.through(fetch.PolicyRequire, a, b), func(c *crawl.Config) { c.Logger = zerolog.New(&log) })
		w.is(1, yp.Done, 1, "")
		w.same("rows", w.table(proxyRow), []string{"http_403 " + a.Name + " proxy 0 0", "ok " + b.Name + " proxy 0 1"})
		all := w.attempted("done SUCCESS 200: rotated retry committed")
		if all[0].Proxy != b.Name || !strings.Contains(all[0].Steps[0].Detail, b.Name) {
			t.Errorf("attempt %+v", all[0])
		}
		if agents := w.table("SELECT user_agent FROM crawl_attempts"); !strings.HasPrefix(agents[0], "Mozilla/5.0 (") {
			t.Errorf("User-Agent %q", agents)
		}
		if ids := w.table("SELECT identity FROM requests WHERE type = 'listing' ORDER BY id"); ids[0] == ids[1] || ids[1] != all[0].Identity || ids[0] == "honest" {
			t.Errorf("identities %v", ids)
		}
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[0 1] 2:[1 0]]", "scores")
		if w.source() != "" || len(w.asked()) != 1 {
			t.Errorf("in force %q after %v", w.source(), w.asked())
		}
		w.discreet(log.String())
		w.tidy()
	})
	parallel(t, "that all meet a 403: the attempt fails", func(t *testing.T) {
		w := setup(t, layout{})
		var s scores
		ways := make([]fetch.Proxy, 2)
		for i := range ways {
			ways[i] = way(t, int64(i+1), newProxy(t, 403), 0)
		}
		w.done(s.through(fetch.PolicyRequire, ways...))
		w.is(1, waiting, 0, yp.CodeBlockedProxy)
		w.same("rows", w.table(proxyRow), []string{"http_403 " + ways[0].Name + " proxy 0 0", "http_403 " + ways[1].Name + " proxy 0 1"})
		w.attempted("failed BLOCKED_PROXY 403: rotated retry rotated")
		if got := w.source(); !strings.HasPrefix(got, "held ") {
			t.Errorf("in force %q: two blocks in a row are a penalty", got)
		}
	})
	for _, robots := range []bool{true, false} {
		parallel(t, fmt.Sprintf("that are dead are passed over and blamed, robots.txt wanted: %v", robots), func(t *testing.T) {
			w := setup(t, layout{})
			w.fetch.IgnoreRobots = !robots
			dead, works := way(t, 1, nil, 0), way(t, 2, newProxy(t, 0), 0)
			var s scores
			w.done(s.through(fetch.PolicyPrefer, dead, works))
			w.attempted("done SUCCESS 200: rotated retry committed")
			rows := []string{"connection_refused " + dead.Name + " proxy 1 0", "ok " + works.Name + " proxy 0 1"}
			if robots {
				rows = []string{"ok " + works.Name + " proxy 0 0"} // the page was not asked for through the dead one
			}
			w.same("rows", w.table(proxyRow), rows)
			if s.sum[1] != [2]int{0, 1} || s.sum[2] != [2]int{1, 0} || s.last[1].Consecutive != 1 {
				t.Errorf("scores %v", s.sum)
			}
			storetest.Equal(t, w.table("SELECT status, samples_1h FROM connectivity_profiles")[0], "healthy 1", "the source, which is not to blame,")
			w.discreet("")
		})
		parallel(t, fmt.Sprintf("that are required and all dead end the run, robots.txt wanted: %v", robots), func(t *testing.T) {
			w := setup(t, layout{cities: 3})
			w.fetch.IgnoreRobots = !robots
			var s scores
			err := w.crawl(w.engine(s.through(fetch.PolicyRequire, way(t, 1, nil, 9), way(t, 2, nil, 9))))
			endedBy(t, err, crawl.ErrNoProxies)
			endedBy(t, err, fetch.ErrNoProxies)
			w.requested()
			w.counts("targets are planned", 3, "SELECT count(*) FROM targets WHERE status = 'PLANNED'")
			w.same("attempts", w.table("SELECT DISTINCT ended FROM crawl_attempts"), []string{"released"})
			if s.last[1].CooldownUntil.IsZero() || s.last[2].CooldownUntil.IsZero() {
				t.Errorf("they do not rest: %+v", s.last)
			}
			w.discreet(err.Error())
		})
	}
	parallel(t, "that are preferred and all dead: the crawl goes on directly", func(t *testing.T) {
		w := setup(t, layout{cities: 3})
		var s scores
		w.done(s.through(fetch.PolicyPrefer, way(t, 1, nil, 0), way(t, 2, nil, 0)))
		for id := range 3 {
			w.is(int64(id+1), yp.Done, 1, "")
		}
		w.same("rows", w.table("SELECT via FROM requests WHERE outcome = 'success' AND type = 'listing'"), times(3, "browser"))
		if s.sum[1] != [2]int{0, yp.ProxyFailures} || s.sum[2] != s.sum[1] {
			t.Errorf("scores %v", s.sum)
		}
		w.same("how the attempts ended", w.table("SELECT ended || ' ' || ifnull(error_code, '') || ' ' || count(*) FROM crawl_attempts GROUP BY ended ORDER BY 1"), []string{
			"done SUCCESS 3", fmt.Sprintf("released  %d", yp.ProxyFailures),
		})
		w.counts("failures charged to the source", 0, "SELECT sum(consecutive_failures) FROM sources")
	})
	const squid = "X-Squid-Error: ERR_CONNECT_FAIL 111"
	parallel(t, "that say themselves that they can't reach the source: one of them has failed", func(t *testing.T) {
		w := setup(t, layout{})
		broken, works := newProxy(t, 503), newProxy(t, 0)
		broken.header = squid
		a, b := way(t, 1, broken, 0), way(t, 2, works, 0)
		var s scores
		w.done(s.through(fetch.PolicyRequire, a, b))
		w.is(1, yp.Done, 1, "")
		w.same("rows", w.table(proxyRow), []string{"http_5xx " + a.Name + " proxy 1 0", "ok " + b.Name + " proxy 0 1"})
		w.attempted("done SUCCESS 200: rotated retry committed")
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[0 1] 2:[1 0]]", "scores")
		w.inForce("")
	})
	parallel(t, "that all say so: the source has failed, and they have not", func(t *testing.T) {
		w := setup(t, layout{})
		ways := make([]fetch.Proxy, 2)
		for i := range ways {
			p := newProxy(t, 503)
			p.header = squid
			ways[i] = way(t, int64(i+1), p, 0)
		}
		var s scores
		w.done(s.through(fetch.PolicyRequire, ways...))
		w.is(1, waiting, 0, yp.CodeNetworkError)
		w.same("rows", w.table("SELECT error_class, http_status, proxy_failed FROM requests WHERE type = 'listing' ORDER BY id"),
			[]string{"http_5xx 503 1", "http_5xx 503 0", "http_5xx 503 0", "http_5xx 503 0", "http_5xx 503 0"})
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[0 1]]", "scores")
		if says := w.row(1).Error; !strings.Contains(says, `it says "ERR_CONNECT_FAIL 111", and so do other ways`) {
			t.Errorf("last_error %q", says)
		}
	})
	parallel(t, "that say so of robots.txt: their word is kept, and the source is held", func(t *testing.T) {
		w := setup(t, layout{})
		w.town.Close()
		ways := make([]fetch.Proxy, 2)
		for i := range ways {
			p := newProxy(t, 0) // it answers 502 where it can't reach a host
			p.header = squid
			ways[i] = way(t, int64(i+1), p, 0)
		}
		var s scores
		err := w.crawl(w.engine(s.through(fetch.PolicyRequire, ways...), func(c *crawl.Config) { c.Patience = time.Second }))
		var blocked *crawl.BlockedError
		if !errors.As(err, &blocked) || blocked.Availability.Reason != "robots.txt is unavailable" {
			t.Errorf("the run ended with %v", err)
		}
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[0 1]]", "scores")
		storetest.Equal(t, s.last[1].LastError, "http_5xx: status 502: ERR_CONNECT_FAIL 111", "last error")
		w.same("robots.txt", w.table("SELECT error_class, http_status, proxy_failed FROM requests WHERE type = 'robots' ORDER BY id"), []string{"http_5xx 502 1", "http_5xx 502 0"})
	})
	parallel(t, "that forbid the source: they have failed", func(t *testing.T) {
		w := setup(t, layout{})
		forbids, works := newProxy(t, 403), newProxy(t, 0)
		forbids.header = "X-Squid-Error: ERR_ACCESS_DENIED 0"
		a, b := way(t, 1, forbids, 0), way(t, 2, works, 0)
		var s scores
		w.done(s.through(fetch.PolicyRequire, a, b))
		w.same("rows", w.table(proxyRow), []string{"http_403 " + a.Name + " proxy 1 0", "ok " + b.Name + " proxy 0 1"})
		w.counts("blocks of the host", 0, "SELECT count(*) FROM hosts WHERE blocks > 0")
	})
	parallel(t, "do not change where a redirect to a private address leads", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, redirectTo("http://169.254.169.254/latest/meta-data"))
		ways := make([]fetch.Proxy, 4)
		for i := range ways {
			ways[i] = way(t, int64(i+1), newProxy(t, 0), 0)
		}
		var s scores
		w.done(s.through(fetch.PolicyRequire, ways...))
		w.is(1, waiting, 0, yp.CodeUnknown)
		w.askedTimes(1)
		w.attempted("failed UNKNOWN_ERROR 302")
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[1 0]]", "scores")
	})
	parallel(t, "that start anew are waited for, and told of once", func(t *testing.T) {
		w := setup(t, layout{cities: 3})
		w.fetch.IgnoreRobots = true
		starts := newProxy(t, 0)
		starts.hangUp = yp.ProxyFailures
		var log bytes.Buffer
		out := zerolog.SyncWriter(&log)
		w.fetch.Logger = zerolog.New(out)
		var s scores
		w.done(s.through(fetch.PolicyRequire, way(t, 1, starts, 0)), func(c *crawl.Config) { c.Logger = zerolog.New(out) })
		for id := range 3 {
			w.is(int64(id+1), yp.Done, 1, "")
		}
		storetest.Equal(t, fmt.Sprint(s.sum), "map[1:[3 10]]", "scores")
		storetest.Equal(t, strings.Count(log.String(), `"level":"warn"`), 1, "warnings")
	})
	parallel(t, "that accept and never answer are blamed, not the source", func(t *testing.T) {
		w := setup(t, layout{})
		w.fetch.HeaderTimeout, w.fetch.DialTimeout = 100*time.Millisecond, 100*time.Millisecond
		ln, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the system does
		storetest.NoError(t, err)
		t.Cleanup(func() { _ = ln.Close() })
		u, name, err := fetch.ParseProxy("http://" + ln.Addr().String())
		storetest.NoError(t, err)
		var s scores
		endedBy(t, w.crawl(w.engine(s.through(fetch.PolicyRequire, fetch.Proxy{ID: 1, URL: u, Name: name, Consecutive: 6}))), crawl.ErrNoProxies)
		if s.sum[1] != [2]int{0, 4} || s.last[1].CooldownUntil.IsZero() {
			t.Errorf("scores %v", s.sum)
		}
		w.requested()
		if n := w.number("SELECT sum(consecutive_failures) FROM sources"); n != 0 || w.source() != "" {
			t.Errorf("the source is charged with %d failures, in force %q", n, w.source())
		}
	})
	parallel(t, "of which one is told to come back later: it rests, and the crawl goes on by the others", func(t *testing.T) {
		w := setup(t, layout{cities: 12})
		burnt := way(t, 1, newProxy(t, 429), 0)
		ways := []fetch.Proxy{burnt, way(t, 2, newProxy(t, 0), 0), way(t, 3, newProxy(t, 0), 0)}
		var s scores
		began := time.Now()
		w.done(s.through(fetch.PolicyRequire, ways...), workers(3))
		took(t, began, 0, 20*time.Second)
		w.counts("targets are done", 12, "SELECT count(*) FROM targets WHERE status = 'DONE'")
		w.same("what came by it", w.table("SELECT DISTINCT error_class FROM requests WHERE type = 'listing' AND proxy = ?", burnt.Name), []string{"http_429"})
		w.counts("hosts slowed down or held", 0, "SELECT count(*) FROM hosts WHERE delay_ms > 0 OR held_until IS NOT NULL")
		if rest := s.last[1].CooldownUntil.Sub(began); rest < yp.DefaultRetryAfter || rest > yp.DefaultRetryAfter+20*time.Second {
			t.Errorf("it rests for %s", rest)
		}
		storetest.Equal(t, s.sum[1][1], 0, "failures of it")
	})
	parallel(t, "that are required and all told to come back soon are waited for", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, inTurn(tooMany("1"), ok(page("", shops(1, 3)...))))
		var s scores
		began := time.Now()
		w.done(s.through(fetch.PolicyRequire, way(t, 1, newProxy(t, 0), 0)))
		took(t, began, time.Second, 20*time.Second)
		w.is(1, yp.Done, 1, "")
		w.attempted("done SUCCESS 200: retry committed")
	})
	parallel(t, "that are required and told to come back later than the run waits end it", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, tooMany("3600"))
		var s scores
		endedBy(t, w.crawl(w.engine(s.through(fetch.PolicyRequire, way(t, 1, newProxy(t, 0), 0)))), crawl.ErrNoProxies)
		w.is(1, yp.Planned, 0, "")
	})
	parallel(t, "before a source that never answers are neither blamed nor praised", func(t *testing.T) {
		w := setup(t, layout{})
		w.fetch.HeaderTimeout = 100 * time.Millisecond
		w.fetch.IgnoreRobots = true
		w.on(target, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var s scores
		w.done(s.through(fetch.PolicyRequire, way(t, 1, newProxy(t, 0), 3)))
		w.is(1, waiting, 0, yp.CodeTimeout)
		storetest.Equal(t, len(s.sum), 0, "proxies with a score")
	})
}

// discreet holds the database, the logs and a text to keep the password to themselves.
func (w *world) discreet(text string) {
	w.t.Helper()
	if strings.Contains(text, secret) {
		w.t.Errorf("the password stands in %q", text)
	}
	files, err := filepath.Glob(w.db.Path() + "*")
	storetest.NoError(w.t, err)
	logs, err := filepath.Glob(filepath.Join(w.walDir, "*"))
	storetest.NoError(w.t, err)
	for _, f := range append(files, logs...) {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			w.t.Error(err)
		}
		for _, form := range []string{secret, url.QueryEscape(secret)} {
			if bytes.Contains(b, []byte(form)) {
				w.t.Errorf("the password stands in %s", f)
			}
		}
	}
}
