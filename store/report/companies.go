package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// showCompany is what `companies show` shows, beside its keys.
var showCompany = thing{
	list: "companies list", named: "id name", row: `SELECT * FROM v_companies WHERE id = ?1`,
	parts: []Part{{
		Name: "places", Show: "listing name street city state first_seen_at last_seen_at dropped_at", Query: `SELECT * FROM v_listings WHERE company_id = ?1 ORDER BY id`,
	}},
}

// companyListings are the listings of a company, with what gives keys.
const companyListings = `
	SELECT s.name || '/' || l.listing_id, l.name, ifnull(l.phone_e164, ''), ifnull(l.website, ''), ifnull(l.street, ''), ifnull(l.postal_code, ''),
		ifnull(d.phone_e164, ''), ifnull(d.website, '')
	FROM listings l JOIN sources s ON s.id = l.source_id LEFT JOIN details d ON d.listing = l.id WHERE l.company_id = ? ORDER BY l.id`

// Company returns a company with its listings, its keys and its confidence, see yp.Confidence. When there is none with that
// number, the error is a *store.RefusedError.
func (k *Reader) Company(ctx context.Context, id int64) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		if r, err = k.record(ctx, showCompany, id); err == nil && r == nil {
			err = &store.RefusedError{Why: fmt.Sprintf("there is no company %d: `ypcrawl companies list` lists them all", id)}
		}
		if err != nil {
			return err
		}
		return k.addKeys(ctx, r, id)
	})
	return r, err
}

// addKeys adds the strong keys that a company has, with the listings that give each now, none when it is only remembered.
func (k *Reader) addKeys(ctx context.Context, r *Record, id int64) error {
	type giver struct {
		listing           string
		row               yp.Listing
		ownPhone, ownSite string // on its own page
	}
	what := fmt.Sprintf("read the keys of company %d", id)
	givers, err := list(ctx, k, what, companyListings, []any{id}, func(g *giver) []any {
		l := &g.row
		return []any{&g.listing, &l.Name, &l.PhoneE164, &l.Website, &l.Street, &l.PostalCode, &g.ownPhone, &g.ownSite}
	})
	if err != nil {
		return err
	}
	by, all := map[string][]string{}, make([][]string, len(givers))
	for i := range givers {
		g := &givers[i]
		all[i] = store.GivenKeys(&g.row, g.ownPhone, g.ownSite)
		for _, key := range all[i] {
			by[key] = append(by[key], g.listing)
		}
	}
	r.Add("confidence", func([]any) any { return yp.Confidence(all) })
	keys, err := store.KeysOf(ctx, k.db, id)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(by[b]), len(by[a])) })
	t := &Table{Part: Part{Name: "keys", Show: "key given_by listings"}, Columns: []string{"key", "kind", "given_by", "listings"}}
	for _, key := range keys {
		var listings any
		if len(by[key]) > 0 {
			listings = strings.Join(by[key], " ")
		}
		t.Rows = append(t.Rows, []any{key, string(yp.KindOf(key)), int64(len(by[key])), listings})
	}
	r.Parts = append(r.Parts, t)
	return nil
}
