package demo

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

//go:embed html/*.html
var markup embed.FS

// stock is what the directories of one process share, whatever their seeds and
// epochs. It never changes once it is made.
type stock struct {
	gaz     *gazetteer.Gazetteer
	first   *atlas            // the places of epoch 0
	spares  map[string]*place // by slug: the places that later epochs may add
	cats    map[string]int    // slug to index in trades
	inverse uint64
	set     *templates
	tpl     map[string]template
	cards   [numSkins]template
	lds     template
	pool    sync.Pool // of *scratch
}

// newStock reads the places and the markup.
func newStock(g *gazetteer.Gazetteer, places int) (*stock, error) {
	all := g.All()
	if len(all) >= nationwide {
		return nil, fmt.Errorf("%d places, ids have room for %d", len(all), nationwide)
	}
	s := &stock{gaz: g, inverse: idInverse(), cats: make(map[string]int)}
	s.first = newAtlas(takePlaces(all, places))
	meet(s.first.byState)
	s.spares = takeSpares(all, s.first)
	for i := range trades {
		s.cats[yp.CategorySlug(trades[i].name)] = i
	}
	if err := s.compile(); err != nil {
		return nil, err
	}
	s.pool.New = func() any { return &scratch{page: newPage(s.set)} }
	return s, nil
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
func (s *stock) compile() error {
	s.set = &templates{byText: make(map[string]int)}
	s.tpl = make(map[string]template)
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
		if s.tpl[name], err = s.set.parse(name, full); err != nil {
			return err
		}
		if name == "card_modern" {
			if s.cards[skinEntity], err = s.set.parse(name, entityQuoted(full)); err != nil {
				return err
			}
		}
	}
	s.cards[skinModern], s.cards[skin2019], s.cards[skin2013] = s.tpl["card_modern"], s.tpl["card_2019"], s.tpl["card_2013"]
	s.lds = s.tpl["jsonld"]
	return nil
}
