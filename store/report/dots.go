package report

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Places are where listings are.
type Places struct {
	Dots     []Dot  // cells of a grid that have any, at the mean of what is in them: some thousands at most
	Towns    []Town // those with most listings first
	Listings int64  // that were read
	Nowhere  int64  // of them: neither their own place nor that of their city is known
	Partial  bool   // the time was over: those that were read are the newest
}

// Dot is how many listings are in a cell, and where.
type Dot struct {
	Lat, Lon float64
	Listings int64
}

// Town is a city of listings. Without Placed it is not known where it is.
type Town struct {
	Name, State, Country string
	Dot
	Placed bool
}

// Bounds of what is kept while listings are read.
const (
	mostCells  = 8192
	mostTowns  = 50_000
	firstScale = 128 // cells a degree
)

// townsOfSearches are asked where nothing else says where a listing is: what narrows it is added, as in
//
//	SELECT …, lat, lon FROM v_listings WHERE 1 AND rating >= ? AND lat IS NULL AND city IS NULL ORDER BY id DESC
const (
	placeColumns     = `SELECT ifnull(city, ''), ifnull(state, searched_state), country, lat, lon FROM v_listings WHERE `
	searchedColumns  = `SELECT ifnull(searched_city, ''), searched_state, country, lat, lon FROM v_listings WHERE `
	placedCities     = `SELECT name, state, country, lat, lon FROM cities WHERE lat IS NOT NULL`
	withoutPlace     = `lat IS NULL AND city IS NULL`
	withPlace        = `(lat IS NOT NULL OR city IS NOT NULL)`
	newestListings   = ` ORDER BY id DESC`
	reserveForTowns  = 5 // a part of the time
	rowsBetweenLooks = 256
)

// cell is a sum of places.
type cell struct {
	lat, lon float64
	n        int64
}

func (c *cell) add(lat, lon float64, n int64) {
	c.lat, c.lon, c.n = c.lat+lat*float64(n), c.lon+lon*float64(n), c.n+n
}

func (c *cell) dot() Dot {
	return Dot{math.Round(c.lat/float64(c.n)*1e4) / 1e4, math.Round(c.lon/float64(c.n)*1e4) / 1e4, c.n}
}

type townName struct{ name, state, country string }

// key is the same for spellings of one name: "St. Louis" and "st louis".
func (t townName) key() townName { return townName{yp.Slug(t.name), t.state, t.country} }

type town struct {
	own   cell  // of its listings whose own place is known
	other int64 // listings whose own place is not known
}

// placeCounter counts listings by places, in bounded memory: where cells are too many, they grow to the double.
type placeCounter struct {
	cells map[[2]int32]*cell
	scale float64
	towns map[townName]*town
	all   Places
}

func (p *placeCounter) at(lat, lon float64, n int64) {
	key := [2]int32{int32(math.Floor(lat * p.scale)), int32(math.Floor(lon * p.scale))}
	c := p.cells[key]
	if c == nil {
		c = &cell{}
		p.cells[key] = c
	}
	if c.add(lat, lon, n); len(p.cells) > mostCells {
		p.grow()
	}
}

func (p *placeCounter) grow() {
	p.scale /= 2
	cells := make(map[[2]int32]*cell, len(p.cells)/2)
	for key, c := range p.cells {
		to := [2]int32{key[0] >> 1, key[1] >> 1}
		if have := cells[to]; have != nil {
			have.lat, have.lon, have.n = have.lat+c.lat, have.lon+c.lon, have.n+c.n
		} else {
			cells[to] = c
		}
	}
	p.cells = cells
}

// row takes a listing.
func (p *placeCounter) row(name townName, lat, lon sql.NullFloat64) {
	p.all.Listings++
	t := p.towns[name]
	if t == nil && name.name != "" && len(p.towns) < mostTowns {
		t = &town{}
		p.towns[name] = t
	}
	switch {
	case lat.Valid:
		p.at(lat.Float64, lon.Float64, 1)
		if t != nil {
			t.own.add(lat.Float64, lon.Float64, 1)
		}
	case t == nil:
		p.all.Nowhere++
	default:
		t.other++
	}
}

// Places says where the listings of a choice are: at the place that their own page gives, else in their city, else in the city that
// was searched. Reading ends when the time is over.
func (k *Reader) Places(ctx context.Context, choice Choice, limit time.Duration) (*Places, error) {
	l, end := Find("listings list"), time.Now().Add(limit)
	if err := k.known(ctx, choice); err != nil {
		return nil, err
	}
	w, err := k.narrow(ctx, l, choice)
	if err != nil {
		return nil, err
	}
	p := &placeCounter{cells: map[[2]int32]*cell{}, scale: firstScale, towns: map[townName]*town{}}
	where := strings.Join(w.parts, " AND ") + " AND "
	err = k.at(ctx, func(k *Reader) error {
		err := p.read(ctx, k, placeColumns+where+withPlace+newestListings, w.args, end.Add(-limit/reserveForTowns))
		if err == nil {
			err = p.read(ctx, k, searchedColumns+where+withoutPlace+newestListings, w.args, end)
		}
		if err == nil {
			err = p.place(ctx, k)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range p.cells {
		p.all.Dots = append(p.all.Dots, c.dot())
	}
	slices.SortFunc(p.all.Dots, func(a, b Dot) int {
		return cmp.Or(cmp.Compare(b.Listings, a.Listings), cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon))
	})
	return &p.all, nil
}

var errTimeOver = errors.New("the time is over")

// read counts the listings of a statement until the time is over.
func (p *placeCounter) read(ctx context.Context, k *Reader, query string, args []any, end time.Time) error {
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	n := 0
	var name townName
	var lat, lon sql.NullFloat64
	err := k.each(limited, query, args, func(rows *sql.Rows) error {
		if n++; n%rowsBetweenLooks == 0 && time.Now().After(end) {
			return errTimeOver
		}
		if err := rows.Scan(&name.name, &name.state, &name.country, &lat, &lon); err != nil {
			return err
		}
		p.row(name, lat, lon)
		return nil
	})
	if ctx.Err() == nil && (errors.Is(err, errTimeOver) || limited.Err() != nil) {
		p.all.Partial = true
		return nil
	}
	return err
}

// place finds the places of cities, and of the listings in them whose own place is not known.
func (p *placeCounter) place(ctx context.Context, k *Reader) error {
	known := map[townName]cell{}
	if slices.ContainsFunc(mapValues(p.towns), func(t *town) bool { return t.other > 0 }) {
		err := k.each(ctx, placedCities, nil, func(rows *sql.Rows) error {
			var name townName
			var c cell
			err := rows.Scan(&name.name, &name.state, &name.country, &c.lat, &c.lon)
			c.n = 1
			known[name.key()] = c
			return err
		})
		if err != nil {
			return err
		}
	}
	for name, t := range p.towns {
		at, found := t.own, t.own.n > 0
		if city, ok := known[name.key()]; ok && t.other > 0 {
			at, found = city, true
		}
		one := Town{name.name, name.state, name.country, Dot{Listings: t.own.n + t.other}, found}
		if found {
			d := at.dot()
			one.Lat, one.Lon = d.Lat, d.Lon
			if t.other > 0 {
				p.at(d.Lat, d.Lon, t.other)
			}
		} else {
			p.all.Nowhere += t.other
		}
		p.all.Towns = append(p.all.Towns, one)
	}
	slices.SortFunc(p.all.Towns, func(a, b Town) int {
		return cmp.Or(cmp.Compare(b.Listings, a.Listings), cmp.Compare(a.Name, b.Name), cmp.Compare(a.State, b.State), cmp.Compare(a.Country, b.Country))
	})
	return nil
}

func mapValues(m map[townName]*town) (all []*town) {
	for _, t := range m {
		all = append(all, t)
	}
	return all
}
