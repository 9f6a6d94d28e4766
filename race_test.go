//go:build race

package main

// Under the race detector SQLite is some ten times slower: there the suite kills
// less often and crawls less. The plain run does the full count.
const (
	defaultKills = 8
	sharedPlaces = 4
	convoySize   = 3
	detailKills  = 2
	pointStep    = 3
	troubleKills = 4
)

var pointTimes = [...]int{6}
