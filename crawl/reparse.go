package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// ReparseConfig says which kept pages are read again and how.
type ReparseConfig struct {
	Keeper *checkpoint.Keeper
	Log    checkpoint.EditLog // nil = nothing is stored, only counted
	Pages  *kept.Reader
	Which  kept.Selection
	Source func(name string) (*site.Source, error) // the definition to read by now; ErrNoSource = leave its pages out
	Heard  func(done, all int)                     // called after each batch; may be nil

	Reached func(Point) // for crash tests; may be nil
}

// Reparsed says what became of kept pages that were read again.
type Reparsed struct {
	Kept     int                 `json:"kept"`     // pages, of all times
	Pages    int                 `json:"pages"`    // of them read again: the newest of each target and number
	Damaged  int                 `json:"damaged"`  // of them, that can't be read
	LeftOut  int                 `json:"left_out"` // of them, whose source is not known any more
	Unread   int                 `json:"unread"`   // of them, on which the definition finds nothing
	Listings int                 `json:"listings"` // on the others
	DryRun   bool                `json:"dry_run"`  // Stored is what would be
	Stored   checkpoint.Reparsed `json:"stored"`
}

// reparseBatch is how many pages share a transaction, and its sync.
const reparseBatch = 16

// PointReparsed is reached before each batch of pages is stored that were read again.
const PointReparsed Point = "reparsed"

// rereader reads kept pages again.
type rereader struct {
	cfg     ReparseConfig
	out     Reparsed
	now     map[string]*site.Source // by name; nil = there is none
	filters map[string]matcher
	batch   []checkpoint.PageAgain
}

// Reparse reads kept pages again, of each target and number the newest, and stores what is other than in
// the database. Nobody is asked for anything. Killed at any instant and begun again it ends with the same rows.
func Reparse(ctx context.Context, cfg ReparseConfig) (*Reparsed, error) {
	r := &rereader{cfg: cfg, now: map[string]*site.Source{}, filters: map[string]matcher{}}
	r.out.DryRun = cfg.Log == nil
	ids, all, err := cfg.Pages.Newest(ctx, cfg.Which)
	if err != nil {
		return nil, err
	}
	r.out.Kept = all
	for i, id := range ids {
		switch p, body, err := cfg.Pages.Read(ctx, id); {
		case errors.Is(err, kept.ErrRemoved): // since
		case errors.Is(err, kept.ErrDamaged):
			r.out.Damaged++
		case err != nil:
			return nil, err
		default:
			if err := r.page(p, body); err != nil {
				return nil, fmt.Errorf("kept page %s: %w", yp.Printable(p.URL), err)
			}
		}
		if len(r.batch) == reparseBatch || i == len(ids)-1 {
			if err := r.store(ctx); err != nil {
				return nil, err
			}
			if cfg.Heard != nil {
				cfg.Heard(i+1, len(ids))
			}
		}
	}
	return &r.out, nil
}

// store stores what the pages of the batch say.
func (r *rereader) store(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	if r.cfg.Reached != nil {
		r.cfg.Reached(PointReparsed)
	}
	stored, err := r.cfg.Keeper.StoreAgain(context.WithoutCancel(ctx), r.cfg.Log, r.batch)
	if err != nil {
		return err
	}
	r.out.Stored.Add(stored)
	r.batch = r.batch[:0]
	return nil
}

// page reads one page, and filters it as the run did that fetched it.
func (r *rereader) page(p *kept.Page, body []byte) error {
	src, err := r.definition(p.Source)
	if err != nil {
		return err
	}
	if src == nil {
		r.out.LeftOut++
		return nil
	}
	base, err := url.Parse(p.BaseURL)
	if err != nil {
		return err
	}
	final, err := url.Parse(p.URL)
	if err != nil {
		return err
	}
	filter, ok := r.filters[p.Filter]
	if !ok {
		var f Filter
		if err := json.Unmarshal([]byte(p.Filter), &f); err != nil {
			return fmt.Errorf("its filter: %w", err)
		}
		filter = f.compile()
		r.filters[p.Filter] = filter
	}
	r.out.Pages++
	src = src.WithBaseURL(base)
	read := src.ParsePage
	if p.Kind == yp.KindDetail {
		read = detailParser(src, p.Listing)
	}
	page, err := parse(read, &fetch.Response{Body: body, URL: final, Status: p.Status})
	if err != nil || page.Outcome != site.OK || page.Detail == nil && len(page.Listings) == 0 {
		r.out.Unread++
		return nil //nolint:nilerr // it is counted
	}
	if r.out.Listings += len(page.Listings); page.Detail != nil {
		r.out.Listings++
	}
	if p.Kind == yp.KindSearch {
		page.Number = p.Number
		filter.apply(&page.Page, src.Check)
	}
	r.batch = append(r.batch, checkpoint.PageAgain{Target: &p.Target, Fetched: p.FetchedAt, Page: &yp.Page{
		Number: p.Number, Raw: page.Raw, Accepted: page.Accepted, Bad: page.Bad, Listings: page.Listings, Rejected: page.Rejected, Detail: page.Detail,
	}})
	return nil
}

// definition returns the definition of a source by which its pages are read now; nil = none.
func (r *rereader) definition(name string) (*site.Source, error) {
	if src, ok := r.now[name]; ok {
		return src, nil
	}
	src, err := r.cfg.Source(name)
	if errors.Is(err, site.ErrNoSource) {
		src, err = nil, nil
	}
	r.now[name] = src
	return src, err
}
