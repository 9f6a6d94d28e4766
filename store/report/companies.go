package report

import (
	"context"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// showCompany is what `companies show` shows, beside its keys: ?2 listings at most, -1 = all, of the source ?3 and the states ?4, as in
// a Part.
var showCompany = thing{
	list: "companies list", named: "id name", row: `SELECT * FROM v_companies WHERE id = ?1`,
	parts: []Part{{
		Name: "places", Show: "listing name street city state first_seen_at last_seen_at dropped_at",
		Query: `
			SELECT * FROM v_listings
			WHERE company_id = ?1
				AND (?3 = 0 OR source = (SELECT name FROM sources WHERE id = ?3))
				AND (?4 = '[]' OR ifnull(state, searched_state) IN (SELECT value FROM json_each(?4)))
			ORDER BY id LIMIT ?2`,
	}},
}

// CompanyPlaces returns a company with its first listings in a scope, so many at most, 0 = all; nil = there is none with that number.
func (k *Reader) CompanyPlaces(ctx context.Context, id int64, most int, scope store.Scope) (*Record, error) {
	return k.of(ctx, showCompany, id, atMost(most), scope.SourceID, store.JSONTexts(scope.States))
}

// Company returns a company with its listings and the keys that join them, also those that no listing has any more. When there is none
// with that number, the error is a *store.RefusedError.
func (k *Reader) Company(ctx context.Context, id int64) (r *Record, err error) {
	if r, err = k.CompanyPlaces(ctx, id, 0, store.Scope{}); err == nil && r == nil {
		err = &store.RefusedError{Why: fmt.Sprintf("no company %d; `ypcrawl companies list` lists them", id)}
	}
	if err != nil {
		return nil, err
	}
	keys, err := store.KeysOf(ctx, k.db, id)
	t := &Table{Part: Part{Name: "keys", Show: "key"}, Columns: []string{"key", "kind"}}
	for _, key := range keys {
		t.Rows = append(t.Rows, []any{key, string(yp.KindOf(key))})
	}
	r.Parts = append(r.Parts, t)
	return r, err
}
