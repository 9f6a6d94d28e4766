package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/store"
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
	storedByID    = storedSources + ` WHERE id = ?`
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

// NewSource is a source that was found at an address, or put back by an operator.
type NewSource struct {
	Name       string // as in Definition
	BaseURL    string
	Definition string   // YAML
	Stage      Stage    // StageSandbox or StageReview; a source that is active already stays so where it may
	Score      *int     // 0 to 100; nil = nobody scored it
	Notes      []string // why: reasons of the score

	// Moves says that a source of that name may have been at another host before.
	Moves bool
	// BuiltIn are names that no definition may take, nor the hosts where they were
	// crawled.
	BuiltIn []string
}

// Added is what became of a NewSource.
type Added struct {
	Stage   Stage
	Enabled bool
	Updated bool  // it was there
	Before  Stage // then
	Changed bool  // its definition is another one now
}

// SourceTakenError says that a name or a host belongs to another source.
type SourceTakenError struct {
	Name    string // of the source that is there
	BaseURL string
	Host    bool // it is the host that is taken, else the name
	BuiltIn bool
}

func (e *SourceTakenError) Error() string {
	switch {
	case e.Host && e.BuiltIn:
		return fmt.Sprintf("%s is crawled by the built-in source %s", e.BaseURL, e.Name)
	case e.Host:
		return fmt.Sprintf("%s is already the source %s", e.BaseURL, e.Name)
	case e.BuiltIn:
		return fmt.Sprintf("%s is the name of a built-in source", e.Name)
	}
	return fmt.Sprintf("the name %s belongs to %s", e.Name, e.BaseURL)
}

const (
	insertStaged = `
	INSERT INTO sources (name, base_url, enabled, stage, definition, score, notes, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)`
	updateStaged = `
	UPDATE sources SET base_url = ?1, definition = ?2, score = ?3, notes = ?4, updated_at = ?5 WHERE id = ?6`
	// The plain form leaves enabled alone, the other one is an operator's word.
	setStage        = `UPDATE sources SET stage = ?, updated_at = ? WHERE id = ?`
	setStageEnabled = `UPDATE sources SET stage = ?, enabled = ?, updated_at = ? WHERE id = ?`
)

// AddSource stores a source, or what is new of it. The error is a *SourceTakenError when
// its name or its host belongs to another one.
func (k *Keeper) AddSource(ctx context.Context, n NewSource) (added Added, err error) {
	err = k.write(ctx, "add source "+n.Name, func(tx *store.Tx) error {
		old, err := n.find(tx)
		if err != nil {
			return err
		}
		if old == nil {
			added = Added{Stage: n.Stage, Enabled: n.Stage != StageReview, Changed: true}
			return tx.Run(insertStaged, n.Name, n.BaseURL, added.Enabled, string(n.Stage), n.Definition, n.Score, n.notes(), tx.Now)
		}
		added, err = n.update(tx, old)
		return err
	})
	return added, err
}

func (n NewSource) notes() any {
	if len(n.Notes) == 0 {
		return nil
	}
	return store.JSONTexts(n.Notes)
}

// find returns the row that the source has already, nil = none.
func (n NewSource) find(tx *store.Tx) (own *StoredSource, err error) {
	all, err := store.All(tx, listStored, nil, store.Fields[StoredSource])
	for i := range all {
		s := &all[i]
		same := SameHost(s.BaseURL, n.BaseURL)
		builtIn := slices.Contains(n.BuiltIn, s.Name)
		switch {
		case s.Name == n.Name && (builtIn || !same && !n.Moves):
			return nil, &SourceTakenError{Name: s.Name, BaseURL: s.BaseURL, BuiltIn: builtIn}
		case s.Name == n.Name:
			own = s
		case same:
			return nil, &SourceTakenError{Name: s.Name, BaseURL: s.BaseURL, Host: true, BuiltIn: builtIn}
		}
	}
	return own, err
}

// update writes what is new of a source. One that is active stays so, unless it is to be
// reviewed: its targets are more than a sandbox holds, and the layout alarm watches it.
func (n NewSource) update(tx *store.Tx, old *StoredSource) (Added, error) {
	added := Added{Updated: true, Before: old.Stage, Stage: n.Stage, Enabled: old.Enabled, Changed: old.Definition != n.Definition}
	if err := tx.Run(updateStaged, n.BaseURL, n.Definition, n.Score, n.notes(), tx.Now, old.ID); err != nil {
		return added, err
	}
	if old.Stage == StageActive && n.Stage == StageSandbox || n.Stage == old.Stage && !added.Changed {
		added.Stage = old.Stage
		return added, nil
	}
	switch {
	case n.Stage == StageReview:
		added.Enabled = false
	case old.Stage == StageReview:
		added.Enabled = true
	}
	return added, old.move(tx, n.Stage, added.Enabled)
}

// move changes the stage, and enabled only where it changes: to enable a source is an
// operator's word, which clears what was set automatically. A sandbox that begins again crawls
// its first targets anew, whatever became of them.
func (s *StoredSource) move(tx *store.Tx, stage Stage, enabled bool) (err error) {
	if enabled == s.Enabled {
		err = tx.Run(setStage, string(stage), tx.Now, s.ID)
	} else {
		err = tx.Run(setStageEnabled, string(stage), enabled, tx.Now, s.ID)
	}
	if err != nil || stage != StageSandbox {
		return err
	}
	if err := tx.Run(restartTargets, s.ID, SandboxTargets); err != nil {
		return err
	}
	return tx.Run(forgetStaged, s.ID)
}

// SameHost reports whether two base URLs are at one host: with or without "www.", by
// http or https.
func SameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && hostKey(x) == hostKey(y)
}

func hostKey(u *url.URL) string {
	host := strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
	switch port := u.Port(); port {
	case "", "80", "443":
		return host
	default:
		return net.JoinHostPort(host, port)
	}
}

// ErrNotStaged says that a source was not added by its address: it has no stages.
var ErrNotStaged = errors.New("the source is built in or comes from a file: its definition is not in the database, and it needs no approval")

// EnterSandbox takes a source out of review, for which an operator has enabled it: it is
// enabled, and its targets are crawled anew. Any other source is left as it is.
func (k *Keeper) EnterSandbox(ctx context.Context, name string) (entered bool, err error) {
	_, err = k.staged(ctx, name, func(tx *store.Tx, s *StoredSource) error {
		if entered = s.Stage == StageReview; !entered {
			return nil
		}
		return s.move(tx, StageSandbox, true)
	})
	return entered, err
}

// Promote makes a source active by an operator's word, and enables it. before is the
// stage in which it was; ErrNotStaged when it never had another one.
func (k *Keeper) Promote(ctx context.Context, name string) (before Stage, err error) {
	return k.staged(ctx, name, func(tx *store.Tx, s *StoredSource) error {
		switch {
		case s.Stage == StageActive && s.Definition == "":
			return ErrNotStaged
		case s.Stage == StageActive:
			return nil
		}
		if err := s.move(tx, StageActive, true); err != nil {
			return err
		}
		return s.addNotes(tx, []string{"made active by an operator"})
	})
}

// staged runs do on the row of a source, and returns the stage that it had; sql.ErrNoRows,
// wrapped, when there is none.
func (k *Keeper) staged(ctx context.Context, name string, do func(*store.Tx, *StoredSource) error) (Stage, error) {
	var s StoredSource
	err := k.write(ctx, "change the stage of source "+name, func(tx *store.Tx) error {
		if err := tx.Get(oneStored, []any{name}, store.Fields(&s)...); err != nil {
			return err
		}
		return do(tx, &s)
	})
	return s.Stage, err
}
