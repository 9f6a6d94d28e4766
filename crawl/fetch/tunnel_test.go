package fetch

import (
	"fmt"
	"net/http"
	"testing"

	"ypcrawl/store/storetest"
)

// Any 2xx to CONNECT opens the tunnel, and has no body whatever it announces (RFC 9110, 9.3.6).
func TestTunnelAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0 200 Connection established\r\nProxy-agent: x\r\n\r\n",
		"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 201 Created\r\n\r\n",
		"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 206 Partial\r\n\r\n",
		"HTTP/1.1 299 x\r\n\r\n",
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(fmt.Sprintf("%.16q by %s", answer, scheme), func(t *testing.T) {
				t.Parallel()
				site := newTarget(t, "https", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "page") })
				p := (&proxyServer{hosts: site.hosts(), tunnel: answer}).start(t, scheme)
				c := newProxied(t, patiently(noRobots()))
				body, err := fetchVia(t, c, session(t, c, p), site, "/a")
				noErr(t, err)
				storetest.Equal(t, body, "page")
			})
		}
	}
}
