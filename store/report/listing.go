package report

import (
	"context"
	"time"
)

// WordsLacking is how many listings the index of words does not have yet.
func (k *Reader) WordsLacking(ctx context.Context) (int64, error) { return k.db.WordsLacking(ctx) }

// ListingDetail is all that is known of a listing.
type ListingDetail struct {
	Fields  map[string]any `json:"listing"` // by the names of ListingColumns; lists as lists, null = not known
	Seen    []Sighting     `json:"seen"`    // where it was seen, the latest first
	Company *Record        `json:"company"` // without its parts
	History []Change       `json:"history"`
}

// Sighting says under which search a listing was seen last.
type Sighting struct {
	City     string    `json:"city"`
	State    string    `json:"state"`
	Category string    `json:"category"`
	Page     int       `json:"page"`
	Rank     int       `json:"rank"`
	Seen     time.Time `json:"seen_at"`
	Kept     bool      `json:"kept"`   // false: as an ad, or filtered out
	Missed   int       `json:"missed"` // complete crawls of the search in a row without it
}

const listSightings = `
	SELECT c.name, t.state, k.name, g.page, g.rank, g.seen_at, g.since < 9223372036854775807, g.missed
	FROM sightings g JOIN targets t ON t.id = g.target_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE g.listing = (SELECT l.id FROM listings l JOIN sources s ON s.id = l.source_id WHERE s.name = ? AND l.listing_id = ?)
	ORDER BY g.seen_at DESC, g.target_id`

// Listing tells all that is known of the listing that a source knows by id. The error is a
// *NotFoundError when there is none.
func (k *Reader) Listing(ctx context.Context, source, id string) (*ListingDetail, error) {
	h, err := k.History(ctx, source, id)
	if err != nil {
		return nil, err
	}
	d := &ListingDetail{Fields: map[string]any{}, History: h.Changes}
	src, err := k.SourceID(ctx, source)
	if err != nil {
		return nil, err
	}
	q := ListingQuery{ListingFilter: ListingFilter{SourceID: src, id: id, Closed: ClosedYes}}
	for _, c := range ListingColumns() {
		if c.made != byEvents {
			q.Columns = append(q.Columns, c)
		}
	}
	_, err = k.EachListing(ctx, q, func(row []any) error {
		for i, c := range q.Columns {
			if d.Fields[c.Name] = row[i]; c.Kind == ListColumn && row[i] != nil {
				d.Fields[c.Name] = Texts(row[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.Seen, err = list(ctx, k, "list where a listing was seen", listSightings, []any{source, id}, fields[Sighting])
	if err == nil && h.CompanyID != nil {
		if d.Company, err = k.Company(ctx, *h.CompanyID); err == nil {
			d.Company.Parts = nil
		}
	}
	return d, err
}
