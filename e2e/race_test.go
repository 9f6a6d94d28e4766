//go:build race

package e2e

// Under the race detector SQLite is some ten times slower: there the suite kills
// less often and crawls less. The plain run does the full count.
const (
	randomKills   = 5
	campaignKills = 4
	deliveryKills = 4
	chainKills    = 3
	sharedKills   = 3
	sourcesKills  = 4
	crashSources  = 3
	troubleKills  = 3
	formKills     = 3
	pointStep     = 3
)

// scripts are those that crawl with several workers or processes: what other commands do
// is as well tested without the detector, which makes each of them ten times as slow.
var scripts = []string{"run", "stop", "failures", "fleet", "details", "discover", "proxies"}
