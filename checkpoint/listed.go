package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Listed says that a plan means all cities of some states: where the source's own index
// of a state was walked to its end, the index says which those are.
type Listed struct {
	States        []string
	MinPopulation int // leaves out cities whose population is smaller, or not known
}

const (
	walkedStates = `
	SELECT state FROM discoveries WHERE source_id = ?1 AND last_done_at IS NOT NULL AND state IN (SELECT value FROM json_each(?2))`
	listedCities = `
	SELECT c.slug, c.name, c.state, c.population, ifnull(c.lat, 0), ifnull(c.lon, 0), c.tier
	FROM source_cities x JOIN cities c ON c.id = x.city_id
	WHERE x.source_id = ?1 AND x.gone_at IS NULL AND c.state IN (SELECT value FROM json_each(?2)) AND c.population >= ?3
	ORDER BY c.population DESC, c.slug`
)

// follow replaces the plan's cities of every state that was walked by those of the
// source's index: what is not there would be asked for in vain.
func (k *Keeper) follow(ctx context.Context, p Plan) (Plan, error) {
	if p.Listed == nil {
		return p, nil
	}
	var walked []string
	err := k.db.Each(ctx, walkedStates, []any{p.SourceID, jsonList(p.Listed.States)}, func(rows *sql.Rows) error {
		var state string
		err := rows.Scan(&state)
		walked = append(walked, state)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("read the walks of the source: %w", err)
	}
	if len(walked) == 0 {
		return p, nil
	}
	p.Cities = slices.DeleteFunc(slices.Clone(p.Cities), func(c City) bool { return slices.Contains(walked, c.State) })
	err = k.db.Each(ctx, listedCities, []any{p.SourceID, jsonList(walked), p.Listed.MinPopulation}, func(rows *sql.Rows) error {
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
