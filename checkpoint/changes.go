package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// ChangeKind is what became of a listing, in the words of `changes`.
type ChangeKind string

// The kinds of change.
const (
	ChangeNew      ChangeKind = "new"      // seen for the first time
	ChangeChanged  ChangeKind = "changed"  // its source says something else of it
	ChangeDropped  ChangeKind = "dropped"  // gone from its source
	ChangeRestored ChangeKind = "restored" // back again
	ChangeRejected ChangeKind = "rejected" // it broke a rule of its source: staged, not promoted
)

// ChangeKinds lists every kind in the order in which people read them.
func ChangeKinds() []ChangeKind {
	return []ChangeKind{ChangeNew, ChangeChanged, ChangeDropped, ChangeRestored, ChangeRejected}
}

// actions are the kinds as promotion_log has them.
func actions() map[ChangeKind]store.Action {
	return map[ChangeKind]store.Action{
		ChangeNew: store.PromotedCreate, ChangeChanged: store.PromotedUpdate, ChangeDropped: store.Dropped,
		ChangeRestored: store.Restored, ChangeRejected: store.Rejected,
	}
}

// ParseChangeKind returns the kind named s, in any letter case, or an error that
// names the nearest one.
func ParseChangeKind(s string) (ChangeKind, error) {
	kind := ChangeKind(strings.ToLower(s))
	if slices.Contains(ChangeKinds(), kind) {
		return kind, nil
	}
	if near, ok := yp.Nearest(s, texts(ChangeKinds())); ok {
		return "", fmt.Errorf("unknown kind %q: did you mean %s?", s, near)
	}
	return "", fmt.Errorf("unknown kind %q: want one of %s", s, strings.Join(texts(ChangeKinds()), ", "))
}

// FieldChange is one field of a listing before and after; nil = nothing.
type FieldChange struct {
	Field string  `json:"field"`
	Old   *string `json:"old"`
	New   *string `json:"new"`
}

// Change is one thing that became of a listing. The place is the listing's own.
type Change struct {
	At        time.Time     `json:"at"`
	Kind      ChangeKind    `json:"kind"`
	Source    string        `json:"source"`
	ListingID string        `json:"listing_id"`
	Name      string        `json:"name"`
	City      string        `json:"city"`
	State     string        `json:"state"`
	CompanyID *int64        `json:"company_id"` // the listing's company now; null = rejected
	Run       *int64        `json:"run"`        // null = rebuilt from logs
	Changes   []FieldChange `json:"changes"`
	Reasons   []string      `json:"reasons"` // why it was rejected
}

// ChangeFilter selects changes. Empty fields select all.
type ChangeFilter struct {
	Scope Scope     // source and states count; the state is the listing's own
	Since time.Time // zero = from the beginning
	Kinds []ChangeKind
}

// changeRows reads promotion_log through its index of times, and for each row the
// listing as it is now, or as it was staged. A state narrows before a row is made up.
const (
	changeRows = `
	FROM promotion_log p CROSS JOIN sources s ON s.id = p.source_id
	LEFT JOIN listings l ON l.source_id = p.source_id AND l.listing_id = p.listing_id
	LEFT JOIN staged_listings g ON p.action = 'rejected' AND g.source_id = p.source_id AND g.listing_id = p.listing_id
	WHERE `
	// What merely became known of a listing, because other markup shows more, is no change.
	told         = ` (p.action <> 'promoted_update' OR p.what ->> 'fields' IS NOT NULL)`
	changesSince = `p.at >= ?1 AND` + told + ` AND (?2 = 0 OR p.source_id = ?2)
		AND (?3 = '[]' OR ifnull(ifnull(g.listing ->> 'state', l.state), l.found_state) IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR p.action IN (SELECT value FROM json_each(?4)))`
	changeColumns = `
	SELECT p.at, p.action, s.name, p.listing_id, ifnull(ifnull(g.listing ->> 'name', l.name), ''), ifnull(iif(g.listing IS NULL, l.city, g.listing ->> 'city'), ''),
		ifnull(iif(g.listing IS NULL, l.state, g.listing ->> 'state'), ''), iif(p.company_id IS NULL, NULL, ifnull(l.company_id, p.company_id)), p.run_id,
		iif(p.what ->> 'fields' IS NULL, NULL, (
			SELECT json_group_array(json_object('field', x.field, 'old', x.old, 'new', x.new) ORDER BY x.id) FROM listing_changes x
			WHERE x.listing = l.id AND x.at = p.at AND x.field IN (SELECT value FROM json_each(p.what, '$.fields')))),
		p.what -> 'reasons'`
	listChanges  = changeColumns + changeRows + changesSince + ` ORDER BY p.at, p.id LIMIT ?5`
	countChanges = `SELECT p.action, count(*)` + changeRows + changesSince + ` GROUP BY 1`
	// Counts of a source or of all need neither listings nor their staged forms.
	countPlain = `SELECT p.action, count(*) FROM promotion_log p WHERE p.at >= ?1 AND` + told + ` AND (?2 = 0 OR p.source_id = ?2) GROUP BY 1`
	// The whole history of one listing. Nobody asks for it often, so no index of every
	// row of the log pays for it: this reads the log once.
	listHistory = changeColumns + changeRows + `p.source_id = ?1 AND p.listing_id = ?2 ORDER BY p.at, p.id`
)

func (f ChangeFilter) args(more ...any) []any {
	since := ""
	if !f.Since.IsZero() {
		since = yp.FormatTime(f.Since)
	}
	wanted := []store.Action{}
	for _, kind := range f.Kinds {
		wanted = append(wanted, actions()[kind])
	}
	return append([]any{since, f.Scope.SourceID, jsonList(f.Scope.States), jsonList(texts(wanted))}, more...)
}

// EachChange hands the changes of the filter to do, the oldest first, at most limit of
// them (0 = all). They are read as do takes them: a million take no memory. An error of
// do ends it and is returned as it is.
func (k *Keeper) EachChange(ctx context.Context, f ChangeFilter, limit int, do func(*Change) error) error {
	if limit <= 0 {
		limit = -1
	}
	return k.eachChange(ctx, listChanges, f.args(limit), do)
}

func (k *Keeper) eachChange(ctx context.Context, query string, args []any, do func(*Change) error) error {
	kinds := map[store.Action]ChangeKind{}
	for kind, action := range actions() {
		kinds[action] = kind
	}
	var given error
	err := k.each(ctx, query, args, func(rows *sql.Rows) error {
		c, err := scanChange(rows, kinds)
		if err == nil {
			given = do(c)
			err = given
		}
		return err
	})
	if err != nil && given == nil {
		err = fmt.Errorf("list changes: %w", err)
	}
	return err
}

func scanChange(rows *sql.Rows, kinds map[store.Action]ChangeKind) (*Change, error) {
	c := &Change{Changes: []FieldChange{}, Reasons: []string{}}
	var action store.Action
	var changes, reasons []byte
	err := rows.Scan(at(&c.At), &action, &c.Source, &c.ListingID, &c.Name, &c.City, &c.State, &c.CompanyID, &c.Run, &changes, &reasons)
	if err != nil {
		return nil, err
	}
	c.Kind = kinds[action]
	if changes != nil {
		err = json.Unmarshal(changes, &c.Changes)
	}
	if reasons != nil {
		err = errors.Join(err, json.Unmarshal(reasons, &c.Reasons))
	}
	return c, err
}

// CountChanges counts the changes of the filter by kind; kinds with none are absent.
func (k *Keeper) CountChanges(ctx context.Context, f ChangeFilter) (map[ChangeKind]int64, error) {
	query, args := countChanges, f.args()
	if len(f.Scope.States) == 0 {
		query, args = countPlain, args[:2]
	}
	found := map[store.Action]int64{}
	err := k.each(ctx, query, args, func(rows *sql.Rows) error {
		var action store.Action
		var n int64
		err := rows.Scan(&action, &n)
		found[action] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count changes: %w", err)
	}
	counts := map[ChangeKind]int64{}
	for kind, action := range actions() {
		if n := found[action]; n > 0 && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind)) {
			counts[kind] = n
		}
	}
	return counts, nil
}
