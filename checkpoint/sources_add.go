package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/store"
)

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
		return fmt.Sprintf("%s is the source %s already", e.BaseURL, e.Name)
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
	err = k.write(ctx, func(tx *store.Tx) error {
		added = Added{}
		old, err := n.find(tx)
		if err != nil {
			return err
		}
		if old == nil {
			added = Added{Stage: n.Stage, Enabled: n.Stage != StageReview, Changed: true}
			_, err = tx.Exec(insertStaged, n.Name, n.BaseURL, added.Enabled, string(n.Stage), n.Definition, score(n.Score), noteList(n.Notes), tx.Now)
			return err
		}
		return n.update(tx, old, &added)
	})
	if err != nil {
		return added, fmt.Errorf("add source %s: %w", n.Name, err)
	}
	return added, nil
}

// find returns the row that the source has already, nil = none.
func (n NewSource) find(tx *store.Tx) (*StoredSource, error) {
	rows, err := tx.Query(listStored)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var own *StoredSource
	for rows.Next() {
		var s StoredSource
		if err := s.scan(rows); err != nil {
			return nil, err
		}
		same := SameHost(s.BaseURL, n.BaseURL)
		builtIn := slices.Contains(n.BuiltIn, s.Name)
		switch {
		case s.Name == n.Name && (builtIn || !same && !n.Moves):
			return nil, &SourceTakenError{Name: s.Name, BaseURL: s.BaseURL, BuiltIn: builtIn}
		case s.Name == n.Name:
			own = &s
		case same:
			return nil, &SourceTakenError{Name: s.Name, BaseURL: s.BaseURL, Host: true, BuiltIn: builtIn}
		}
	}
	return own, rows.Err()
}

// update writes what is new of a source. One that is active stays so, unless it is to be
// reviewed: its targets are more than a sandbox holds, and the layout alarm watches it.
func (n NewSource) update(tx *store.Tx, old *StoredSource, added *Added) error {
	*added = Added{Updated: true, Before: old.Stage, Stage: n.Stage, Enabled: old.Enabled, Changed: old.Definition != n.Definition}
	if _, err := tx.Exec(updateStaged, n.BaseURL, n.Definition, score(n.Score), noteList(n.Notes), tx.Now, old.ID); err != nil {
		return err
	}
	if old.Stage == StageActive && n.Stage == StageSandbox || n.Stage == old.Stage && !added.Changed {
		added.Stage = old.Stage
		return nil
	}
	switch {
	case n.Stage == StageReview:
		added.Enabled = false
	case old.Stage == StageReview:
		added.Enabled = true
	}
	if err := moveStage(tx, old.ID, n.Stage, added.Enabled, old.Enabled); err != nil {
		return err
	}
	if n.Stage != StageSandbox {
		return nil
	}
	return restartSandbox(tx, old.ID)
}

// moveStage changes the stage, and enabled only where it changes: to enable a source is
// an operator's word, which clears what was set automatically.
func moveStage(tx *store.Tx, id int64, stage Stage, enabled, before bool) (err error) {
	if enabled == before {
		_, err = tx.Exec(setStage, string(stage), tx.Now, id)
	} else {
		_, err = tx.Exec(setStageEnabled, string(stage), enabled, tx.Now, id)
	}
	return err
}

func score(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

func noteList(notes []string) any {
	if len(notes) == 0 {
		return nil
	}
	return jsonList(notes)
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
var ErrNotStaged = errors.New("the source is built in or comes from a file: it is active, and has no definition in the database")

// EnterSandbox takes a source out of review, for which an operator has enabled it: it is
// enabled, and its targets are crawled anew. Any other source is left as it is.
func (k *Keeper) EnterSandbox(ctx context.Context, name string) (entered bool, err error) {
	err = k.staged(ctx, name, func(tx *store.Tx, s *StoredSource) error {
		if entered = s.Stage == StageReview; !entered {
			return nil
		}
		if err := moveStage(tx, s.ID, StageSandbox, true, s.Enabled); err != nil {
			return err
		}
		return restartSandbox(tx, s.ID)
	})
	return entered, err
}

// Promote makes a source active by an operator's word, and enables it. before is the
// stage in which it was; ErrNotStaged when it never had another one.
func (k *Keeper) Promote(ctx context.Context, name string) (before Stage, err error) {
	err = k.staged(ctx, name, func(tx *store.Tx, s *StoredSource) error {
		if before = s.Stage; before == StageActive {
			if s.Definition == "" {
				return ErrNotStaged
			}
			return nil
		}
		if err := moveStage(tx, s.ID, StageActive, true, s.Enabled); err != nil {
			return err
		}
		return addNotes(tx, s.ID, []string{"made active by an operator"})
	})
	return before, err
}

// staged runs do on the row of a source; sql.ErrNoRows, wrapped, when there is none.
func (k *Keeper) staged(ctx context.Context, name string, do func(*store.Tx, *StoredSource) error) error {
	err := k.write(ctx, func(tx *store.Tx) error {
		var s StoredSource
		if err := tx.Get(oneStored, []any{name}, &s.ID, &s.Name, &s.BaseURL, &s.Enabled, &s.Stage, &s.Definition); err != nil {
			return err
		}
		return do(tx, &s)
	})
	if err != nil {
		return fmt.Errorf("change the stage of source %s: %w", name, err)
	}
	return nil
}
