package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// ReparseConfig says which kept pages are read again and how.
type ReparseConfig struct {
	Keeper *checkpoint.Keeper
	DryRun bool // nothing is stored, only counted
	Pages  *kept.Reader
	Only   string                                  // source; "" = all
	Source func(name string) (*site.Source, error) // the definition to read by now, asked for once; an error = leave its pages out

	Reached func(Point) // for crash tests; may be nil
}

// Reparsed says what became of kept pages that were read again.
type Reparsed struct {
	Pages    int                 `json:"pages"`    // read again: the newest of each target and number, of known sources
	Damaged  int                 `json:"damaged"`  // that can't be read
	Unread   int                 `json:"unread"`   // of the pages, on which the definition finds nothing
	Listings int                 `json:"listings"` // on the others
	DryRun   bool                `json:"dry_run"`  // Stored is what would be
	Stored   checkpoint.Reparsed `json:"stored"`
}

// reparseBatch is how many pages share a transaction.
const reparseBatch = 16

// PointReparsed is reached before each batch of pages is stored that were read again.
const PointReparsed Point = "reparsed"

// Reparse reads kept pages again, of each target and number the newest, and stores what is other than in
// the database. Nobody is asked for anything. Killed at any instant and begun again it ends with the same rows.
func Reparse(ctx context.Context, cfg ReparseConfig) (*Reparsed, error) {
	ids, err := cfg.Pages.Newest(ctx, cfg.Only)
	if err != nil {
		return nil, fmt.Errorf("read kept pages: %w", err)
	}
	out, sources := &Reparsed{DryRun: cfg.DryRun}, map[string]*site.Source{}
	for some := range slices.Chunk(ids, reparseBatch) {
		var batch []checkpoint.KeptPage
		for _, id := range some {
			p, body, err := cfg.Pages.Read(ctx, id)
			if errors.Is(err, kept.ErrDamaged) || errors.Is(err, kept.ErrRemoved) { // since
				out.Damaged++
				continue
			}
			if err != nil {
				return nil, err
			}
			if _, asked := sources[p.Source]; !asked {
				sources[p.Source], _ = cfg.Source(p.Source) // whoever asks is told there
			}
			if page := out.read(sources[p.Source], p, body); page != nil {
				batch = append(batch, checkpoint.KeptPage{Target: &p.Target, Page: page, Fetched: p.FetchedAt})
			}
		}
		if cfg.Reached != nil {
			cfg.Reached(PointReparsed)
		}
		err := cfg.Keeper.StoreReparsed(context.WithoutCancel(ctx), batch, cfg.DryRun, &out.Stored)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read reads one page, and filters it as the run did that fetched it; nil is one that says nothing, or has no source.
func (out *Reparsed) read(src *site.Source, p *kept.Page, body []byte) *yp.Page {
	if src == nil {
		return nil
	}
	out.Pages++
	var f Filter
	src, page, err := ParseKept(src, p, body)
	if err = errors.Join(err, json.Unmarshal([]byte(p.Filter), &f)); err != nil || page.Outcome != site.OK || len(page.Listings) == 0 {
		out.Unread++
		return nil
	}
	page.Number = p.Number
	if out.Listings += len(page.Listings); page.Own {
		return &yp.Page{Number: p.Number, Own: true, Listings: page.Listings}
	}
	filter := f.compile()
	filter.apply(&page.Page, src.Check)
	return &yp.Page{Number: p.Number, Raw: page.Raw, Accepted: page.Accepted, Bad: page.Bad, Listings: page.Listings, Rejected: page.Rejected}
}

// ParseKept reads a kept page as a crawl reads it when it comes, by a definition whose site is where it stood then.
func ParseKept(src *site.Source, p *kept.Page, body []byte) (*site.Source, *site.Page, error) {
	base, err := url.Parse(p.BaseURL)
	final, finalErr := url.Parse(p.URL)
	if err = errors.Join(err, finalErr); err != nil {
		return nil, nil, err
	}
	src = src.WithBaseURL(base)
	res := &fetch.Response{Body: body, URL: final, Status: p.Status, Header: p.Header}
	page, err := parse(src.On(p.FetchedAt).At(site.Position{Page: p.Number}), keptParser(p), res)
	return src, page, err
}

// keptParser returns what reads a kept page.
func keptParser(p *kept.Page) parser {
	if p.Kind != yp.KindIndex {
		return parserOf(p.Kind, p.Listing)
	}
	return func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		return src.ParseIndex(body, final, status, p.Place.State)
	}
}
