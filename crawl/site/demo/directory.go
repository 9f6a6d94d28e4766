package demo

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

//go:embed html/*.html
var markup embed.FS

// Config says what the directory holds and how it misbehaves.
type Config struct {
	Seed    int64              // 0 is a seed like any other
	Places  int                // the largest places of every state; 0 = 40, below 0 = all
	Latency time.Duration      // added before every answer; 0 = none
	Fail    map[string]float64 // probability of each kind of failure, see ParseFail; nil = none
	Logger  zerolog.Logger     // one debug line per request; the zero value discards
}

// Directory is the demo directory. It is an http.Handler and safe for
// concurrent use.
type Directory struct {
	cfg     Config
	gaz     *gazetteer.Gazetteer
	places  []*place
	bySlug  map[string]*place
	byIndex map[int]*place
	byState map[string][]*place
	cats    map[string]int // slug to index in trades
	inverse uint64
	set     *templates
	tpl     map[string]template
	cards   [numSkins]template
	lds     template
	pool    sync.Pool // of *scratch
	stats   counts
}

// New builds the directory of a gazetteer's places.
func New(cfg Config, g *gazetteer.Gazetteer) (*Directory, error) {
	if err := checkFail(cfg.Fail); err != nil {
		return nil, err
	}
	all := g.All()
	if len(all) >= nationwide {
		return nil, fmt.Errorf("build the demo directory: %d places, ids have room for %d", len(all), nationwide)
	}
	d := &Directory{
		cfg: cfg, gaz: g, inverse: idInverse(), cats: make(map[string]int),
		bySlug: make(map[string]*place), byIndex: make(map[int]*place), byState: make(map[string][]*place),
	}
	d.places = takePlaces(all, cmp.Or(cfg.Places, defaultPlaces))
	for _, p := range d.places {
		d.bySlug[p.Slug], d.byIndex[p.index] = p, p
		d.byState[p.State] = append(d.byState[p.State], p)
	}
	meet(d.byState)
	for i := range trades {
		d.cats[yp.CategorySlug(trades[i].name)] = i
	}
	d.stats.limit = maxURLs
	d.stats.reset()
	if err := d.compile(); err != nil {
		return nil, fmt.Errorf("build the demo directory: %w", err)
	}
	d.pool.New = func() any { return &scratch{page: newPage(d.set)} }
	return d, nil
}

// scratch is what one request builds its answer in.
type scratch struct {
	page *page
	out  []byte
	keys []key
	ads  []key
	biz  []business
}

// compile reads the templates.
func (d *Directory) compile() error {
	d.set = &templates{byText: make(map[string]int)}
	d.tpl = make(map[string]template)
	parts := chromeParts()
	for _, name := range []string{
		"shell_top", "shell_bottom", "results_top", "results_bottom", "no_results", "not_found", "list", "detail", "challenge",
		"card_modern", "card_2019", "card_2013", "ad_center", "ad_aside", "jsonld",
	} {
		text, err := markup.ReadFile("html/" + name + ".html")
		if err != nil {
			return fmt.Errorf("read template: %w", err)
		}
		full := string(text)
		for mark, part := range parts {
			full = strings.ReplaceAll(full, mark, part)
		}
		if d.tpl[name], err = d.set.parse(name, full); err != nil {
			return err
		}
		if name == "card_modern" {
			if d.cards[skinEntity], err = d.set.parse(name, entityQuoted(full)); err != nil {
				return err
			}
		}
	}
	d.cards[skinModern], d.cards[skin2019], d.cards[skin2013] = d.tpl["card_modern"], d.tpl["card_2019"], d.tpl["card_2013"]
	d.lds = d.tpl["jsonld"]
	return nil
}
