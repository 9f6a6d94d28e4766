package storetest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// World is what is planned in a small database: each city × category × source is a target, in this order, with ids from 1.
// Its rows are those that a plan writes (checkpoint's TestPlanted compares them); storetest can't plan itself, as tests of
// what plans are made of import it.
type World struct {
	Sources    []Source                              // default: demo
	Cities     []yp.City                             // see Cities
	Categories []yp.Category                         // default: plumbers and dentists
	Pages      [4]int                                // of a target of each tier, by its number; 0 = all
	Planned    func(city, category, source int) bool // whether it is a target, by the indexes; nil = all are
}

// Source is a site by its name. A definition (YAML) is stored of those that an operator added: "" = none.
type Source struct{ Name, BaseURL, Definition string }

// Demo is the source that a World has by default. Nothing listens at its address.
var Demo = Source{Name: "demo", BaseURL: "http://127.0.0.1:1"}

// TierPages are the pages that most tests plan: three of a large city, one of a small one.
var TierPages = [4]int{0, 3, 2, 1}

const (
	plantSource   = `INSERT INTO sources (name, base_url, definition, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT (name) DO NOTHING`
	plantCategory = `INSERT INTO categories (slug, name) VALUES (?1, ?2) ON CONFLICT (slug) DO NOTHING`
	plantCity     = `INSERT INTO cities (slug, name, state, population, tier) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`
	plantTarget   = `
	INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
	SELECT s.id, c.id, k.id, c.state, c.population, c.tier, ?4, ?5 FROM sources s, cities c, categories k
	WHERE s.name = ?1 AND c.slug = ?2 AND k.slug = ?3
	ON CONFLICT DO NOTHING`
)

// Cities are n of each state, the largest first, of all three tiers in turn. Their slugs are "city-0-ca" and so on.
func Cities(n int, states ...string) (cities []yp.City) {
	for i := range n {
		for _, st := range states {
			cities = append(cities, yp.City{
				Slug: fmt.Sprintf("city-%d-%s", i, strings.ToLower(st)), Name: fmt.Sprintf("City %d", i), State: st, Population: 1_000_000 - i, Tier: 1 + i%3,
			})
		}
	}
	return cities
}

// Categories have the slugs that discover gives them.
func Categories(names ...string) (all []yp.Category) {
	for _, name := range names {
		all = append(all, yp.Category{Slug: yp.CategorySlug(name), Name: name})
	}
	return all
}

// Plant writes the world's rows; what is there already stays. It returns what of the first source is planned.
func (w World) Plant(t Tester, db *store.DB) store.Scope {
	t.Helper()
	if w.Sources == nil {
		w.Sources = []Source{Demo}
	}
	if w.Categories == nil {
		w.Categories = Categories("Plumbers", "Dentists")
	}
	NoError(t, db.Write(context.Background(), w.write))
	var scope store.Scope
	NoError(t, db.Read().QueryRowContext(context.Background(), `SELECT id FROM sources WHERE name = ?`, w.Sources[0].Name).Scan(&scope.SourceID))
	for _, c := range w.Cities {
		if !slices.Contains(scope.States, c.State) {
			scope.States = append(scope.States, c.State)
		}
	}
	return scope
}

func (w World) write(tx *store.Tx) error {
	for _, s := range w.Sources {
		if err := tx.Run(plantSource, s.Name, s.BaseURL, store.Text(s.Definition), tx.Now); err != nil {
			return err
		}
	}
	for _, c := range w.Categories {
		if err := tx.Run(plantCategory, c.Slug, c.Name); err != nil {
			return err
		}
	}
	for i, c := range w.Cities {
		if err := tx.Run(plantCity, c.Slug, c.Name, c.State, c.Population, c.Tier); err != nil {
			return err
		}
		if err := w.writeTargets(tx, i); err != nil {
			return err
		}
	}
	return nil
}

func (w World) writeTargets(tx *store.Tx, city int) error {
	c := w.Cities[city]
	for k, category := range w.Categories {
		for s, source := range w.Sources {
			if w.Planned != nil && !w.Planned(city, k, s) {
				continue
			}
			if err := tx.Run(plantTarget, source.Name, c.Slug, category.Slug, w.Pages[c.Tier], tx.Now); err != nil {
				return err
			}
		}
	}
	return nil
}

// OpenClock opens a new database whose clock moves when it is told to.
func OpenClock(tb testing.TB) (*store.DB, *Clock) {
	tb.Helper()
	c := new(Clock)
	return OpenConfig(tb, store.Config{Path: filepath.Join(tb.TempDir(), "test.db"), Now: c.Now}), c
}

// Cards are listings of which a page tells id and name ("N" and the id).
func Cards(ids ...string) (all []yp.Listing) {
	for _, id := range ids {
		all = append(all, yp.Listing{ID: id, Name: "N" + id})
	}
	return all
}

// Page is a page with such cards; the next one is at "/2" and so on.
func Page(number int, last bool, ids ...string) yp.Page {
	return yp.Page{Number: number, Last: last, Raw: len(ids), NextURL: fmt.Sprint("/", number+1), Listings: Cards(ids...)}
}
