//go:build !race

package e2e

// What the crash tests do unless -crash.kills asks for a long series.
const (
	randomKills   = 10 // of a crawl of searches
	campaignKills = 8  // of whatever may run on a file
	deliveryKills = 12 // of exports under a name
	chainKills    = 4  // of the whole chain
	sharedKills   = 4  // of one of two processes
	sourcesKills  = 5  // of a crawl of several sources
	crashSources  = 6  // so many
	troubleKills  = 5  // of a crawl whose site is in trouble
	formKills     = 10 // of a crawl of a directory of another form
	pointStep     = 1  // every how manyth named point a crawl is killed at
)

// scripts are the command scripts to run; none = all of testdata/script.
var scripts []string
