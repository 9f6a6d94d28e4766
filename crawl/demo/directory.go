package demo

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

var (
	// ErrFailSpec says that a kind of failure is not known.
	ErrFailSpec = errors.New("bad failure specification")
	// ErrEpoch says that there is no such epoch.
	ErrEpoch = errors.New("no such epoch")
	// ErrNotLoopback says that an address would be reachable from other
	// machines without naming it outright.
	ErrNotLoopback = errors.New("not a loopback address")
)

// Config says what the directory holds and how it misbehaves.
type Config struct {
	Seed    int64              // 0 is a seed like any other
	Epoch   int                // how many steps of change lie behind it, 0 to MaxEpoch; see SetEpoch
	Places  int                // the largest places of every state; 0 = 40, below 0 = all
	Latency time.Duration      // added before every answer; 0 = none
	Fail    map[string]float64 // probability of each kind of failure: 429, 503, challenge, timeout, truncate, cut, layout; nil = none
	Logger  zerolog.Logger     // one debug line per request; the zero value discards
}

// Directory is the demo directory. It is an http.Handler and safe for
// concurrent use.
type Directory struct {
	cfg       Config
	first     *atlas         // the places of epoch 0
	spares    []*place       // the places that come next in size, which later epochs may add
	cats      map[string]int // slug to index in trades
	templates *template.Template
	now       atomic.Pointer[edition]
	stats     counts
}

// New builds the directory of a gazetteer's places. Errors wrap ErrFailSpec or
// ErrEpoch when the configuration is at fault.
func New(cfg Config, g *gazetteer.Gazetteer) (*Directory, error) {
	if err := checkFail(cfg.Fail); err != nil {
		return nil, err
	}
	if err := checkEpoch(cfg.Epoch); err != nil {
		return nil, err
	}
	all := g.All()
	if len(all) >= nationwide {
		return nil, fmt.Errorf("build the demo directory: %d places, ids have room for %d", len(all), nationwide)
	}
	d := &Directory{cfg: cfg, cats: make(map[string]int), templates: newTemplates()}
	d.first = newAtlas(takePlaces(all, cmp.Or(cfg.Places, defaultPlaces), nil))
	d.spares = takePlaces(all, numSpares, d.first.bySlug)
	for _, p := range slices.Concat(d.first.places, d.spares) {
		p.near = nearest(p, d.first.byState[p.State])
	}
	for i := range trades() {
		d.cats[yp.CategorySlug(trades()[i].Name)] = i
	}
	d.stats.s = Stats{ByFailure: make(map[string]int), URLs: make(map[string]int)}
	d.now.Store(d.editionOf(cfg.Epoch))
	return d, nil
}

// MaxEpoch is the last epoch. Every step before it costs some nanoseconds per
// business, so there must be an end.
const MaxEpoch = 100

// edition is the directory in one epoch. It never changes, so a request that
// began in it ends in it, whatever SetEpoch does meanwhile.
type edition struct {
	*Directory
	*atlas
	epoch int
}

func checkEpoch(n int) error {
	if n < 0 || n > MaxEpoch {
		return fmt.Errorf("%w: want a number from 0 to %d", ErrEpoch, MaxEpoch)
	}
	return nil
}

// editionOf makes the edition of an epoch.
func (d *Directory) editionOf(epoch int) *edition {
	return &edition{Directory: d, atlas: d.first.after(d.cfg.Seed, epoch, d.spares), epoch: epoch}
}

// SetEpoch moves the directory to an epoch, forth or back: requests that come
// from now on are answered from it, those under way from the one they began in.
// What an epoch holds follows from the seed and the gazetteer alone. Errors
// wrap ErrEpoch.
func (d *Directory) SetEpoch(n int) error {
	if err := checkEpoch(n); err != nil {
		return fmt.Errorf("set the epoch of the demo directory: %w", err)
	}
	d.now.Store(d.editionOf(n))
	return nil
}
