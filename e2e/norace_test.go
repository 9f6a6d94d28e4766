//go:build !race

package e2e

const (
	defaultKills = 30 // how many times the random crash test kills unless told otherwise
	sharedPlaces = 25 // of each state, in the test of two processes
	crashSources = 10 // sources that a crash test crawls at once
	detailKills  = 6  // kills of a crawl with details
	chainKills   = 8  // kills of the whole chain, unless told otherwise
	troubleKills = 10 // kills of a crawl whose site is in trouble
	pointStep    = 1  // every how manyth named point `details` is killed at
)

// scripts are the command scripts to run; none = all of testdata/script.
var scripts []string

// pointTimes says at which arrival at a named point the crawl is killed there.
var pointTimes = [...]int{1, 6, 17}
