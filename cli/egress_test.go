package cli

import (
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/health"
)

func TestNoneActive(t *testing.T) {
	t.Parallel()
	off := health.Proxy{ID: 3}
	resting := health.Proxy{ID: 4, Enabled: true, CooldownUntil: noon.Add(time.Hour)}
	sooner := health.Proxy{ID: 5, Enabled: true, CooldownUntil: noon.Add(time.Minute)}
	const start = "--proxy-policy require: no proxy is active "
	for want, known := range map[string][]health.Proxy{
		"(0 known): add one with `ypcrawl proxies add`":       nil,
		"(1 known: 1 disabled): `ypcrawl proxies list` shows": {off},
		"(3 known: 1 disabled, 2 in cooldown, the first until " + moment(noon, sooner.CooldownUntil) + "): `ypcrawl proxies list` shows": {off, resting, sooner},
	} {
		if got := noneActive(known, noon).Error(); !strings.HasPrefix(got, start+want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
