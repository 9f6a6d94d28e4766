package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// StoredSource is a source as its row has it.
type StoredSource struct {
	ID         int64
	Name       string
	BaseURL    string // where it was last crawled, or is to be
	Enabled    bool   // by the operator
	Stage      Stage
	Definition string // YAML; "" = built in, or a file of the operator's
	Country    string // ISO 3166
	Cities     string // the file of cities that the definition names; "" = none
}

// Stage is how far a source that was added by its definition has proved itself.
type Stage string

// The stages of a source.
const (
	StageSandbox Stage = "sandbox" // has a few targets and no more
	StageActive  Stage = "active"
)

const (
	listStored = `SELECT id, name, base_url, enabled, stage, ifnull(definition, ''), country, ifnull(cities, '') FROM sources ORDER BY name`
	oneStored  = `SELECT id, name, base_url, enabled, stage, ifnull(definition, ''), country, ifnull(cities, '') FROM sources WHERE name = ?`
)

// StoredSources returns all sources that the database knows, by name.
func (k *Keeper) StoredSources(ctx context.Context) ([]StoredSource, error) {
	all, err := store.All(k.db.Reader(ctx), listStored, nil, store.Fields[StoredSource])
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return append([]StoredSource{}, all...), nil
}

// StoredSource returns a source by its name; found is false when the database does not
// know it.
func (k *Keeper) StoredSource(ctx context.Context, name string) (s StoredSource, found bool, err error) {
	err = k.row(ctx, oneStored, []any{name}, store.Fields(&s)...)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read source %s: %w", name, err)
	}
	return s, true, nil
}

// NewSource is a source with its definition.
type NewSource struct {
	Name       string // as in Definition
	BaseURL    string
	Definition string     // YAML; "" = it is built in, or the file of the operator's is not kept
	Country    string     // ISO 3166; "" = yp.DefaultCountry
	Cities     string     // the file of cities that the definition names; "" = none
	States     []yp.State // its own; none = those of the USA
}

// setCountry writes what a source says of its country. What it says otherwise than before holds for its listings, too. A file of cities
// that is stored with a definition gives way to that of another definition alone.
func (n *NewSource) setCountry(tx *store.Tx, id int64) error {
	country := cmp.Or(n.Country, yp.DefaultCountry)
	states := make([][2]string, len(n.States))
	for i, st := range n.States {
		states[i] = [2]string{st.Code, st.Name}
	}
	if err := tx.Run(updateListings, id, country); err != nil {
		return err
	}
	if err := tx.Run(updateCountry, id, country, store.Text(n.Cities), n.Definition != ""); err != nil {
		return err
	}
	if err := tx.Run(dropStates, id, store.JSON(states)); err != nil {
		return err
	}
	return tx.Run(upsertStates, id, store.JSON(states))
}

// Added is what became of a NewSource.
type Added struct {
	Stage   Stage
	Enabled bool
	Updated bool // it was there
	Changed bool // its definition is another one now
}

const (
	updateListings = `
	UPDATE listings SET country = ?2 WHERE source_id = ?1 AND EXISTS (SELECT 1 FROM sources WHERE id = ?1 AND country <> ?2)`
	updateCountry = `
	UPDATE sources SET country = ?2, cities = iif(?4 OR definition IS NULL, ?3, cities) WHERE id = ?1 AND (country, cities) IS NOT (?2, ?3)`
	dropStates   = `DELETE FROM source_states WHERE source_id = ?1 AND state NOT IN (SELECT value ->> 0 FROM json_each(?2))`
	upsertStates = `
	INSERT INTO source_states (source_id, state, name) SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2) WHERE true
	ON CONFLICT DO UPDATE SET name = excluded.name WHERE name <> excluded.name`

	insertStaged = `INSERT INTO sources (name, base_url, stage, definition, created_at, updated_at) VALUES (?1, ?2, 'sandbox', ?3, ?4, ?4)`
	updateStaged = `UPDATE sources SET base_url = ?1, definition = ?2, updated_at = ?3 WHERE id = ?4`
)

// AddSource stores a source, in the sandbox, or a definition in place of the one that it has:
// its stage stays. A sandbox then crawls its targets anew, whatever became of them.
func (k *Keeper) AddSource(ctx context.Context, n NewSource) (added Added, err error) {
	err = k.write(ctx, "add source "+n.Name, func(tx *store.Tx) error {
		var old StoredSource
		err := tx.Get(oneStored, []any{n.Name}, store.Fields(&old)...)
		if errors.Is(err, sql.ErrNoRows) {
			added = Added{Stage: StageSandbox, Enabled: true, Changed: true}
			if err := tx.Run(insertStaged, n.Name, n.BaseURL, n.Definition, tx.Now); err != nil {
				return err
			}
			var id int64
			return errors.Join(tx.Get(sourceByName, []any{n.Name}, &id), n.setCountry(tx, id))
		}
		if err != nil {
			return err
		}
		added = Added{Stage: old.Stage, Enabled: old.Enabled, Updated: true, Changed: old.Definition != n.Definition || old.Cities != n.Cities}
		if err = tx.Run(updateStaged, n.BaseURL, n.Definition, tx.Now, old.ID); err == nil {
			err = n.setCountry(tx, old.ID)
		}
		if err != nil || old.Stage == StageActive || !added.Changed {
			return err
		}
		return errors.Join(tx.Run(restartTargets, old.ID, SandboxTargets), tx.Run(forgetStaged, old.ID))
	})
	return added, err
}

// ErrNotStaged says that the definition of a source is not in the database: it has no stages.
var ErrNotStaged = errors.New("the source is built in or comes from a file, so it has no sandbox")

// Promote makes a source active by an operator's word. before is the stage in which it was;
// ErrNotStaged when it never had another one.
func (k *Keeper) Promote(ctx context.Context, name string) (before Stage, err error) {
	var s StoredSource
	err = k.write(ctx, "promote source "+name, func(tx *store.Tx) error {
		err := tx.Get(oneStored, []any{name}, store.Fields(&s)...)
		if err == nil && s.Stage == StageActive && s.Definition == "" {
			return ErrNotStaged
		}
		if err != nil || s.Stage == StageActive {
			return err
		}
		return tx.Run(promoteByHand, tx.Now, s.ID)
	})
	return s.Stage, err
}
