package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// StoredSource is a source as its row has it.
type StoredSource struct {
	ID         int64
	Name       string
	BaseURL    string // where it was last crawled, or is to be
	Enabled    bool   // by the operator
	Stage      Stage
	Definition string // YAML; "" = built in, or a file of the operator's
}

// Stage is how far a source that was added by its address has proved itself.
type Stage string

// The stages of a source.
const (
	StageReview  Stage = "review"  // waits for an operator
	StageSandbox Stage = "sandbox" // has a few targets and no more
	StageActive  Stage = "active"
)

const (
	storedSources = `SELECT id, name, base_url, enabled, stage, ifnull(definition, '') FROM sources`
	listStored    = storedSources + ` ORDER BY name`
	oneStored     = storedSources + ` WHERE name = ?`
)

func (s *StoredSource) scan(row interface{ Scan(dest ...any) error }) error {
	return row.Scan(&s.ID, &s.Name, &s.BaseURL, &s.Enabled, &s.Stage, &s.Definition)
}

// StoredSources returns all sources that the database knows, by name.
func (k *Keeper) StoredSources(ctx context.Context) ([]StoredSource, error) {
	all := []StoredSource{}
	err := k.db.Each(ctx, listStored, nil, func(rows *sql.Rows) error {
		var s StoredSource
		err := s.scan(rows)
		all = append(all, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return all, nil
}

// StoredSource returns a source by its name; found is false when the database does not
// know it.
func (k *Keeper) StoredSource(ctx context.Context, name string) (s StoredSource, found bool, err error) {
	err = s.scan(k.db.Read().QueryRowContext(ctx, oneStored, name))
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read source %s: %w", name, err)
	}
	return s, true, nil
}
