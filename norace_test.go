//go:build !race

package main

const (
	defaultKills = 100 // how many times the random crash test kills unless told otherwise
	sharedPlaces = 25  // of each state, in the test of two processes
)

// pointTimes says at which arrival at a named point the crawl is killed there.
var pointTimes = [...]int{1, 6, 17}
