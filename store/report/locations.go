package report

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Locations are where listings are.
type Locations struct {
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

// Statements say where a listing is in one text, because each column of a million rows costs time: city, state, country and position,
// parted by a byte that no text has, for it is none of UTF-8. A position is one number, see position. Of a listing with neither
// position nor city the text is the id.
const (
	endOfField = "\xff"
	endOfRow   = "\xfe"

	placesOfAll = `
	WITH RECURSIVE part (upto) AS (
		SELECT max(id) FROM listings
		UNION ALL
		SELECT (SELECT max(id) FROM listings WHERE id <= upto - 1000) FROM part WHERE upto IS NOT NULL)
	SELECT ifnull((
		SELECT group_concat(place, x'fe') FROM (
			SELECT CASE WHEN lat IS NOT NULL THEN ifnull(city, '') || x'ff' || ifnull(state, found_state) || x'ff' || country || x'ff' ||
						(CAST(lat * 10000 + 900000.5 AS INTEGER) << 22 | CAST(lon * 10000 + 1800000.5 AS INTEGER))
					WHEN city IS NOT NULL THEN city || x'ff' || ifnull(state, found_state) || x'ff' || country || x'ff'
					ELSE id END AS place
			FROM listings
			WHERE id > upto - 1000
				AND id <= upto
				AND (?1 = 0 OR source_id = ?1)
				AND (?2 = '[]' OR ifnull(state, found_state) IN (SELECT value FROM json_each(?2)))
				AND (?3 = '' OR (dropped_at IS NULL) = (?3 = 'open')))), '') AS places
	FROM part WHERE upto IS NOT NULL`
	placesOfSome = `
	SELECT CASE WHEN lat IS NOT NULL THEN ifnull(city, '') || x'ff' || ifnull(state, searched_state) || x'ff' || country || x'ff' ||
				(CAST(lat * 10000 + 900000.5 AS INTEGER) << 22 | CAST(lon * 10000 + 1800000.5 AS INTEGER))
			WHEN city IS NOT NULL THEN city || x'ff' || ifnull(state, searched_state) || x'ff' || country || x'ff'
			ELSE id END AS places
	FROM v_listings WHERE `
	placesOfSearches = `
	SELECT ifnull(searched_city, '') || x'ff' || searched_state || x'ff' || country || x'ff' AS places
	FROM v_listings WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC`
	placedCities    = `SELECT name, state, country, lat, lon FROM cities WHERE lat IS NOT NULL`
	newestListings  = ` ORDER BY id DESC`
	reserveForTowns = 5 // a part of the time
)

// position reads a number of the statements: latitude and longitude in steps of a ten-thousandth of a degree, from the south pole and
// from 180° west.
func position(text string) (lat, lon float64, known bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return float64(n>>22)/1e4 - 90, float64(n&(1<<22-1))/1e4 - 180, err == nil
}

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
	cells    map[[2]int32]*cell
	scale    float64
	towns    map[string]*town // by city, state and country, as the statements have them
	searched []int64          // listings that are asked for where they were searched
	all      Locations
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

// rows takes the places of listings.
func (p *placeCounter) rows(text string) {
	for text != "" {
		var row string
		row, text, _ = strings.Cut(text, endOfRow)
		i := strings.LastIndex(row, endOfField)
		if i < 0 {
			id, _ := strconv.ParseInt(row, 10, 64) // it is one
			p.searched = append(p.searched, id)
			continue
		}
		p.all.Listings++
		lat, lon, known := position(row[i+1:])
		switch t := p.town(row[:i]); {
		case known:
			p.at(lat, lon, 1)
			if t != nil {
				t.own.add(lat, lon, 1)
			}
		case t == nil:
			p.all.Nowhere++
		default:
			t.other++
		}
	}
}

// town is the one of that name; nil = a listing without a city, or there are too many.
func (p *placeCounter) town(name string) *town {
	t := p.towns[name]
	if t == nil && !strings.HasPrefix(name, endOfField) && len(p.towns) < mostTowns {
		t = &town{}
		p.towns[strings.Clone(name)] = t
	}
	return t
}

// Locations says where the listings of a choice are: at the place that their own page gives, else in their city, else in the city that
// was searched. Reading ends when the time is over.
func (k *Reader) Locations(ctx context.Context, choice Choice, limit time.Duration) (*Locations, error) {
	end := time.Now().Add(limit)
	if err := k.known(ctx, choice); err != nil {
		return nil, err
	}
	query, args, err := k.locationsOf(ctx, choice)
	if err != nil {
		return nil, err
	}
	p := &placeCounter{cells: map[[2]int32]*cell{}, scale: firstScale, towns: map[string]*town{}}
	err = k.at(ctx, func(k *Reader) error {
		err := p.read(ctx, k, query, args, end.Add(-limit/reserveForTowns))
		if err == nil && len(p.searched) > 0 {
			err = p.readSearched(ctx, k, end)
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

// locationsOf is the statement that says where the listings of a choice are. Where only their status narrows it, the table itself is
// read, a thousand listings a row: that takes half of the time.
func (k *Reader) locationsOf(ctx context.Context, choice Choice) (query string, args []any, err error) {
	status, _ := choice.Values["status"].(string)
	if len(choice.Values) == 0 || len(choice.Values) == 1 && (status == "open" || status == "dropped") {
		return placesOfAll, placesOf(choice.Scope, status), nil
	}
	w, err := k.narrow(ctx, Find("listings list"), choice)
	return placesOfSome + strings.Join(w.parts, " AND ") + newestListings, w.args, err
}

// read counts the listings of a statement until the time is over.
func (p *placeCounter) read(ctx context.Context, k *Reader, query string, args []any, end time.Time) error {
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	err := k.each(limited, query, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		if err == nil {
			p.rows(text)
		}
		return err
	})
	if ctx.Err() == nil && limited.Err() != nil {
		p.all.Partial = true
		return nil
	}
	return err
}

// readSearched counts the listings that have neither position nor city, by the cities that were searched.
func (p *placeCounter) readSearched(ctx context.Context, k *Reader, end time.Time) error {
	return p.read(ctx, k, placesOfSearches, []any{store.JSONInts(p.searched)}, end)
}

// place finds the places of cities, and of the listings in them whose own place is not known.
func (p *placeCounter) place(ctx context.Context, k *Reader) error {
	known := map[townName]cell{}
	if slices.ContainsFunc(slices.Collect(maps.Values(p.towns)), func(t *town) bool { return t.other > 0 }) {
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
	for text, t := range p.towns {
		fields := append(strings.Split(text, endOfField), "", "") // a text of other bytes than UTF-8 may lack some
		name := townName{fields[0], fields[1], fields[2]}
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
