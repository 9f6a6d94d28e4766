package checkpoint_test

import (
	"fmt"
	"sync"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// benchDB is a database of n targets over all states, ten categories each city, made by plain SQL.
func benchDB(b *testing.B, n int) *checkpoint.Keeper {
	b.Helper()
	db := storetest.Open(b)
	for i, s := range yp.States() {
		execute(b, db, fmt.Sprintf("INSERT INTO meta VALUES ('state%02d', '%s')", i, s.Code))
	}
	execute(b, db,
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://x', 'x', 'x')`,
		upTo(10)+`INSERT INTO categories SELECT value, 'k' || value, 'K' || value FROM s`,
		upTo(n/10)+`INSERT INTO cities (id, slug, name, state, population, lat, lon, tier) SELECT value, 'c' || value, 'City', (SELECT value FROM meta WHERE key = format('state%02d', s.value % 51)),
			1000000 - value, 0, 0, iif(value % 10 = 0, 1, iif(value % 2 = 0, 2, 3)) FROM s`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, max_pages, priority, created_at)
			SELECT 1, c.id, k.id, c.state, c.population, 4 - c.tier, c.tier, 'x' FROM cities c CROSS JOIN categories k`)
	return checkpoint.New(db)
}

// upTo begins a statement that reads the numbers from 1 to n as s.
func upTo(n int) string {
	return fmt.Sprintf("WITH RECURSIVE s (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < %d) ", n)
}

func allStates() []string {
	var codes []string
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes
}

// together runs fn in n goroutines and fails the benchmark with their errors.
func together(b *testing.B, n int, fn func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}
