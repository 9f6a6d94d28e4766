package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	Log    checkpoint.EditLog // nil = nothing is stored
	Pages  *kept.Reader
	Choose func(*kept.Page) bool
	Source func(name string) (*site.Source, error) // the definition to read by now; ErrNoSource = leave its pages out
	Heard  func(done, all int)                     // called after each batch; may be nil

	Reached func(Point) // for crash tests; may be nil
}

// Reparsed says what the reading of kept pages by another definition gains and loses.
type Reparsed struct {
	Kept     int              `json:"kept"`     // pages, of all times
	Pages    int              `json:"pages"`    // of them read again: the newest of each target and number
	Damaged  int              `json:"damaged"`  // of them, that can't be read
	LeftOut  int              `json:"left_out"` // of them, whose source is not known any more
	BadBytes int64            `json:"damaged_bytes"`
	Sources  []ReparsedSource `json:"sources"`

	Stored *checkpoint.Reparsed `json:"stored"` // null = nothing was to be stored
}

// ReparsedSource is the same for one source.
type ReparsedSource struct {
	Source   string          `json:"source"`
	Pages    int             `json:"pages"`
	Before   int             `json:"listings_before"` // read by the definition of the time when the page was fetched
	After    int             `json:"listings_after"`
	Lost     int             `json:"listings_lost"`
	Gained   int             `json:"listings_gained"`
	Outcomes []OutcomeChange `json:"outcomes"` // of pages that turn out to be another thing
	Fields   []FieldDiff     `json:"fields"`   // those that any page has

	fields map[string]*FieldDiff
}

// OutcomeChange counts pages whose outcome is another one now.
type OutcomeChange struct {
	Before   string   `json:"before"`
	After    string   `json:"after"`
	Pages    int      `json:"pages"`
	Examples []string `json:"examples"` // addresses
}

// FieldDiff compares a field of listings before and after: after = before - lost + gained.
type FieldDiff struct {
	Field    string         `json:"field"`
	Before   int            `json:"before"`
	After    int            `json:"after"`
	Gained   int            `json:"gained"`
	Lost     int            `json:"lost"`
	Changed  int            `json:"changed"`
	Examples []FieldExample `json:"examples"`
}

// FieldExample is one difference; null = nothing.
type FieldExample struct {
	Listing string  `json:"listing_id"`
	URL     string  `json:"url"`
	Before  *string `json:"before"`
	After   *string `json:"after"`
}

const (
	mostExamples = 3
	// reparseBatch is how many pages share a transaction, and its sync.
	reparseBatch = 16
)

// PointReparsed is reached before each batch of pages is stored that were read again.
const PointReparsed Point = "reparsed"

// reader reads kept pages again.
type rereader struct {
	cfg     ReparseConfig
	out     Reparsed
	sources map[string]*ReparsedSource
	before  map[*kept.Reading]*reading // as they were read; nil = that can't be done any more
	now     map[string]*site.Source    // by name; nil = there is none
	batch   []checkpoint.PageAgain

	target string   // of the last page
	shown  []string // ids on it
}

// reading is a definition with the filter of its time.
type reading struct {
	src    *site.Source // nil = it can't be used any more
	base   *url.URL
	filter matcher
}

// Reparse reads kept pages again, of each target and number the newest, compares what they say
// with what they said by the definition of their time, and stores what is other than in
// the database. Nobody is asked for anything. Killed at any instant and begun again it ends with
// the same rows.
func Reparse(ctx context.Context, cfg ReparseConfig) (*Reparsed, error) {
	r := &rereader{cfg: cfg, sources: map[string]*ReparsedSource{}, before: map[*kept.Reading]*reading{}, now: map[string]*site.Source{}}
	if cfg.Log != nil {
		r.out.Stored = &checkpoint.Reparsed{}
	}
	entries, all, err := cfg.Pages.Newest(cfg.Choose)
	if err != nil {
		return nil, err
	}
	r.out.Kept, r.out.BadBytes = all, cfg.Pages.Damaged
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch p, how, body, err := cfg.Pages.Read(e); {
		case errors.Is(err, fs.ErrNotExist): // removed since
		case errors.Is(err, kept.ErrDamaged):
			r.out.Damaged++
		case err != nil:
			return nil, err
		default:
			if err := r.page(p, how, body); err != nil {
				return nil, err
			}
		}
		if len(r.batch) == reparseBatch || i == len(entries)-1 {
			if err := r.store(ctx); err != nil {
				return nil, err
			}
			if cfg.Heard != nil {
				cfg.Heard(i+1, len(entries))
			}
		}
	}
	r.out.Sources = []ReparsedSource{}
	for _, name := range slices.Sorted(maps.Keys(r.sources)) {
		r.out.Sources = append(r.out.Sources, r.sources[name].sum())
	}
	return &r.out, nil
}

// store stores what the pages of the batch say.
func (r *rereader) store(ctx context.Context) error {
	if r.cfg.Log == nil || len(r.batch) == 0 {
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

// page reads one page by both definitions.
func (r *rereader) page(p *kept.Page, how *kept.Reading, body []byte) error {
	now, err := r.definition(p.Source)
	if err != nil {
		return err
	}
	if now == nil {
		r.out.LeftOut++
		return nil
	}
	r.out.Pages++
	before, err := r.readingOf(how)
	if err != nil {
		return fmt.Errorf("kept page %s: %w", yp.Printable(p.URL), err)
	}
	s := r.sources[p.Source]
	if s == nil {
		s = &ReparsedSource{Source: p.Source, fields: map[string]*FieldDiff{}}
		r.sources[p.Source] = s
	}
	s.Pages++
	then, was := before.read(before.src, p, body)
	now = now.WithBaseURL(before.base)
	page, is := before.read(now, p, body)
	if was == "" { // that definition can't be used any more: what was noted of it stands
		was = p.Outcome
	}
	if was != is {
		s.outcome(was, is, p.URL)
	}
	s.compare(then, page, p.URL)
	repeated := false
	if p.Kind == yp.KindSearch {
		ids := before.filter.shown(page.Listings)
		repeated = r.target == p.Key() && len(ids) > 0 && slices.Equal(ids, r.shown)
		r.target, r.shown = p.Key(), ids
	}
	if page.Detail == nil && len(page.Listings) == 0 || repeated || r.cfg.Log == nil {
		return nil
	}
	page.Number = p.Number
	if p.Kind == yp.KindSearch {
		before.filter.apply(&page.Page, now.Check)
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

// readingOf returns how pages were read.
func (r *rereader) readingOf(how *kept.Reading) (*reading, error) {
	if x, ok := r.before[how]; ok {
		return x, nil
	}
	base, err := url.Parse(how.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("its base URL: %w", err)
	}
	var filter Filter
	if err := json.Unmarshal(how.Filter, &filter); err != nil {
		return nil, fmt.Errorf("its filter: %w", err)
	}
	x := &reading{base: base, filter: filter.compile()}
	if src, err := site.Parse(how.Source+".yaml", []byte(how.Definition)); err == nil {
		x.src = src.WithBaseURL(base)
	}
	r.before[how] = x
	return x, nil
}

// read parses a page. A page that says nothing is empty; outcome is "" where there is no
// definition to read it by.
func (x *reading) read(src *site.Source, p *kept.Page, body []byte) (page *site.Page, outcome string) {
	if src == nil {
		return &site.Page{}, ""
	}
	final, err := url.Parse(p.URL)
	if err == nil {
		read := src.ParsePage
		if p.Kind == yp.KindDetail {
			read = detailParser(src, p.Listing)
		}
		page, err = parse(read, &fetch.Response{Body: body, URL: final, Status: p.Status})
	}
	if outcome = outcomeText(page, err); err != nil || page.Outcome != site.OK {
		page = &site.Page{}
	}
	return page, outcome
}

func (s *ReparsedSource) outcome(was, is, address string) {
	i := slices.IndexFunc(s.Outcomes, func(o OutcomeChange) bool { return o.Before == was && o.After == is })
	if i < 0 {
		i = len(s.Outcomes)
		s.Outcomes = append(s.Outcomes, OutcomeChange{Before: was, After: is})
	}
	o := &s.Outcomes[i]
	if o.Pages++; len(o.Examples) < mostExamples {
		o.Examples = append(o.Examples, address)
	}
}

// compare compares what a page said with what it says.
func (s *ReparsedSource) compare(then, now *site.Page, address string) {
	before, after := recordsOf(then), recordsOf(now)
	s.Before += len(before)
	s.After += len(after)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		was := before[id]
		is, ok := after[id]
		if !ok {
			s.Lost++
		}
		for field, value := range was {
			s.field(field).add(id, address, value, is[field])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(after)) {
		is := after[id]
		was, ok := before[id]
		if !ok {
			s.Gained++
		}
		for field, value := range is {
			if was[field] == "" {
				s.field(field).add(id, address, "", value)
			}
		}
	}
}

// recordsOf are the fields of each listing of a page that have a value, by its id.
func recordsOf(page *site.Page) map[string]map[string]string {
	records := map[string]map[string]string{}
	for i := range page.Listings {
		l, record := &page.Listings[i], map[string]string{}
		for j := range yp.ListingFields {
			if f := &yp.ListingFields[j]; f.Has(l) && f.ColumnName() != "" {
				record[f.Name] = f.Text(l)
			}
		}
		records[l.ID] = record
	}
	if d := page.Detail; d != nil {
		records[d.ID] = d.Texts()
	}
	return records
}

func (s *ReparsedSource) field(name string) *FieldDiff {
	f := s.fields[name]
	if f == nil {
		f = &FieldDiff{Field: name, Examples: []FieldExample{}}
		s.fields[name] = f
	}
	return f
}

// add counts a value before and after; "" = none.
func (f *FieldDiff) add(id, address, before, after string) {
	x := FieldExample{Listing: id, URL: address}
	if before != "" {
		f.Before++
		x.Before = &before
	}
	if after != "" {
		f.After++
		x.After = &after
	}
	switch {
	case before == after:
		return
	case before == "":
		f.Gained++
	case after == "":
		f.Lost++
	default:
		f.Changed++
	}
	if len(f.Examples) < mostExamples {
		f.Examples = append(f.Examples, x)
	}
}

// sum puts the fields in the order of listings, those of their own pages alone behind them.
func (s *ReparsedSource) sum() ReparsedSource {
	if s.Outcomes == nil {
		s.Outcomes = []OutcomeChange{}
	}
	names := slices.Sorted(maps.Keys(s.fields))
	slices.SortStableFunc(names, func(a, b string) int {
		place := func(name string) int {
			if i := yp.ListingFieldAt(name); i >= 0 {
				return i
			}
			return len(yp.ListingFields)
		}
		return place(a) - place(b)
	})
	s.Fields = make([]FieldDiff, len(names))
	for i, name := range names {
		s.Fields[i] = *s.fields[name]
	}
	return *s
}
