package demo

import (
	"maps"
	"sync"
)

// maxURLs bounds how many distinct URLs are counted one by one.
const maxURLs = 1_000_000

// Stats is what the directory has been asked for since it started, or since
// the counts were reset. /__stats shows it as JSON.
type Stats struct {
	Requests  int            `json:"requests"`       // all but those for /__stats
	ByKind    map[string]int `json:"by_kind"`        // listing, search, detail, robots, …
	ByStatus  map[int]int    `json:"by_status"`      // as sent; a timeout counts as 0
	ByFailure map[string]int `json:"by_failure"`     // injected failures
	Distinct  int            `json:"distinct_urls"`  // at most 1,000,000 are told apart
	Uncounted int            `json:"uncounted_urls"` // requests for URLs beyond that
	URLs      map[string]int `json:"urls"`           // path and query → requests, failed ones included
}

// counts gathers Stats.
type counts struct {
	limit int // distinct URLs
	mu    sync.Mutex
	s     Stats
}

func (c *counts) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s = Stats{ByKind: make(map[string]int), ByStatus: make(map[int]int), ByFailure: make(map[string]int), URLs: make(map[string]int)}
}

// request counts a request and returns how many there were for the URL before.
func (c *counts) request(url, kind string) (before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Requests++
	c.s.ByKind[kind]++
	before, known := c.s.URLs[url]
	if !known && len(c.s.URLs) >= c.limit {
		c.s.Uncounted++
		return c.s.Requests
	}
	c.s.URLs[url] = before + 1
	return before
}

// answer counts how a request ended.
func (c *counts) answer(status int, failure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.ByStatus[status]++
	if failure != "" {
		c.s.ByFailure[failure]++
	}
}

func (c *counts) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Distinct = len(s.URLs)
	s.ByKind, s.ByStatus, s.ByFailure, s.URLs = maps.Clone(s.ByKind), maps.Clone(s.ByStatus), maps.Clone(s.ByFailure), maps.Clone(s.URLs)
	return s
}

// Stats returns what the directory has been asked for.
func (d *Directory) Stats() Stats { return d.stats.snapshot() }
