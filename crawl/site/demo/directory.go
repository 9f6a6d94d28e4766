package demo

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp/gazetteer"
)

// Config says what the directory holds and how it misbehaves.
type Config struct {
	Seed    int64              // 0 is a seed like any other
	Epoch   int                // how many steps of change lie behind it, 0 to MaxEpoch; see SetEpoch
	Places  int                // the largest places of every state; 0 = 40, below 0 = all
	Latency time.Duration      // added before every answer; 0 = none
	Fail    map[string]float64 // probability of each kind of failure, see ParseFail; nil = none

	// RetryAfter is what a 429 and a 503 tell, in whole seconds; 0 = 1 s by a 429 and
	// nothing by a 503, below 0 = nothing by either.
	RetryAfter time.Duration

	Logger zerolog.Logger // one debug line per request; the zero value discards
}

// Directory is the demo directory. It is an http.Handler and safe for
// concurrent use.
type Directory struct {
	*stock
	cfg   Config
	now   atomic.Pointer[edition]
	stats counts
}

// New builds the directory of a gazetteer's places. Errors wrap ErrFailSpec or
// ErrEpoch when the configuration is at fault.
func New(cfg Config, g *gazetteer.Gazetteer) (*Directory, error) {
	all, err := NewMany(cfg, g, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// NewMany builds n directories that differ in their seeds, cfg.Seed and the
// ones after it. They share all that does not follow from a seed: the places
// and the markup, which is nearly all of the memory.
func NewMany(cfg Config, g *gazetteer.Gazetteer, n int) ([]*Directory, error) {
	if err := checkFail(cfg.Fail); err != nil {
		return nil, err
	}
	if err := checkEpoch(cfg.Epoch); err != nil {
		return nil, err
	}
	s, err := newStock(g, cmp.Or(cfg.Places, defaultPlaces))
	if err != nil {
		return nil, fmt.Errorf("build the demo directory: %w", err)
	}
	all := make([]*Directory, n)
	for i := range all {
		all[i] = &Directory{stock: s, cfg: cfg}
		all[i].cfg.Seed += int64(i)
		all[i].stats.limit = maxURLs
		all[i].stats.reset()
		all[i].now.Store(all[i].editionOf(cfg.Epoch))
	}
	return all, nil
}
