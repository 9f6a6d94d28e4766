package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// TestParseProxyAsWritten: a bare word is no proxy.
func TestParseProxyAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"foo": false, "proxy.example": false, "me:sekret@proxy.example": false, " foo ": false, "proxy.example/": false, "[::1]": false, "proxy.example:": false, "": false,
		"foo:80": true, "me:sekret@proxy.example:8080": true, "http://foo": true, "socks5://foo": true, "[::1]:80": true,
	} {
		_, _, err := parseProxy(text)
		if (err == nil) != want || err != nil && (!errors.Is(err, fetch.ErrBadProxy) || strings.Contains(err.Error(), "sekret")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	list, err := parseProxies(strings.NewReader("\ufefffoo\r\n# bar\nme:sekret@a # ours\nb:1 # ours\nftp://c\nhttp://d\n"))
	if len(list) != 2 || list[0].Name != "http://b:1" || list[1].Name != "http://d:80" {
		t.Errorf("took %v", list)
	}
	for _, line := range []string{"line 1: ", "line 3: ", "line 5: "} {
		if err == nil || !strings.Contains(err.Error(), line) || strings.Contains(err.Error(), "sekret") {
			t.Errorf("error %v lacks %s", err, line)
		}
	}
}

func TestNoneActive(t *testing.T) {
	t.Parallel()
	off := health.Proxy{ID: 3}
	resting := health.Proxy{ID: 4, Enabled: true, CooldownUntil: noon.Add(time.Hour)}
	sooner := health.Proxy{ID: 5, Enabled: true, CooldownUntil: noon.Add(time.Minute)}
	const start = "--proxy-policy require: no proxy is active "
	for want, known := range map[string][]health.Proxy{
		"(0 known): add one with `ypcrawl proxies add`":             nil,
		"(1 known: 1 disabled): `ypcrawl proxies enable 3` enables": {off},
		"(3 known: 1 disabled, 2 in cooldown, the first until " + moment(noon, sooner.CooldownUntil) + "): `ypcrawl proxies enable 3 4 5` enables": {off, resting, sooner},
	} {
		if got := noneActive(known, noon).Error(); !strings.HasPrefix(got, start+want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
