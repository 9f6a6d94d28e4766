package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Listed says that a plan means all cities of some states: where the source's own index
// of a state was read to its end, the index says which those are.
type Listed struct {
	States        []string
	MinPopulation int  // leaves out cities whose population is smaller, or not known
	Only          bool // states whose index was not read to its end get none: the index plans them
}

const (
	statesRead = `
	SELECT state FROM targets WHERE kind = 'index' AND source_id = ?1 AND complete_at IS NOT NULL AND state IN (SELECT value FROM json_each(?2))`
	listedCities = `
	SELECT c.slug, c.name, c.state, c.population, ifnull(c.lat, 0), ifnull(c.lon, 0), c.tier
	FROM source_cities x JOIN cities c ON c.id = x.city_id
	WHERE x.source_id = ?1 AND x.gone_at IS NULL AND c.state IN (SELECT value FROM json_each(?2)) AND c.population >= ?3
	ORDER BY c.population DESC, c.slug`
)

// follow replaces the plan's cities of every state whose index was read by those of the
// source's index: what is not there would be asked for in vain.
func (k *Keeper) follow(ctx context.Context, p Plan) (Plan, error) {
	if p.Listed == nil {
		return p, nil
	}
	var read []string
	err := k.db.Each(ctx, statesRead, []any{p.SourceID, jsonList(p.Listed.States)}, func(rows *sql.Rows) error {
		var state string
		err := rows.Scan(&state)
		read = append(read, state)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("look for indexes that were read: %w", err)
	}
	if len(read) == 0 && !p.Listed.Only {
		return p, nil
	}
	p.Cities = slices.DeleteFunc(slices.Clone(p.Cities), func(c City) bool { return p.Listed.Only || slices.Contains(read, c.State) })
	err = k.db.Each(ctx, listedCities, []any{p.SourceID, jsonList(read), p.Listed.MinPopulation}, func(rows *sql.Rows) error {
		var c City
		err := rows.Scan(&c.Slug, &c.Name, &c.State, &c.Population, &c.Lat, &c.Lon, &c.Tier)
		p.Cities = append(p.Cities, c)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("read the cities of the source: %w", err)
	}
	return p, nil
}
