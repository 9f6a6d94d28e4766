package selftest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// Kind says how a database differs from the truth.
type Kind string

// The kinds, the worst first.
const (
	Damaged    Kind = "damaged"    // SQLite finds the file broken
	Unfinished Kind = "unfinished" // a target is not done
	Missing    Kind = "missing"    // the site shows it, the database does not have it
	Doubled    Kind = "doubled"    // the database has it twice, or under an id that the site does not show
	Differs    Kind = "differs"    // a value is another one
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Damaged, Unfinished, Missing, Doubled, Differs} }

// Difference is one place in which a database differs from the truth.
type Difference struct {
	Kind Kind   `json:"kind"`
	Of   string `json:"of"` // listing, company, details, search, city or database
	ID   string `json:"id"` // as the site has it; of a search "los-angeles-ca/plumbers"
	Text string `json:"text"`
}

// String is the difference as a sentence.
func (d Difference) String() string {
	return strings.TrimSpace(d.Of+" "+d.ID) + " " + d.Text
}

// Summary counts differences by kind: "3 missing, 1 doubled".
func Summary(all []Difference) string {
	var counts []string
	for _, kind := range Kinds() {
		n := 0
		for _, d := range all {
			if d.Kind == kind {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, yp.Thousands(int64(n))+" "+string(kind))
		}
	}
	return strings.Join(counts, ", ")
}

// Compare returns every difference between the rows of a source and the truth. Parts that the
// truth does not have (Companies, Details, Cities, Searches nil) are not compared. With Details, listings
// must have what their own pages complete; companies are not compared then, because completed
// listings join more of them. With Changes, the site was crawled in earlier epochs, too:
// values that it no longer shows may be there, and listings that it no longer shows must be among
// those changes. Addresses of pages and pictures are compared without the host if that is this
// machine: the demo directory may have had several ports.
func Compare(ctx context.Context, db *store.DB, source string, truth *demo.Truth) ([]Difference, error) {
	c := comparison{ctx: ctx, db: db, source: source, truth: truth}
	if err := db.IntegrityCheck(ctx); err != nil {
		c.add(Damaged, "database", "", "is damaged: %v", err)
	}
	for _, part := range []struct {
		wanted  bool
		compare func() error
	}{
		{truth.Searches != nil, c.searches},
		{true, c.listings},
		{truth.Companies != nil && truth.Details == nil && truth.Changes == nil, c.companies},
		{truth.Details != nil, c.details},
		{truth.Cities != nil, c.cities},
	} {
		if !part.wanted {
			continue
		}
		if err := part.compare(); err != nil {
			return nil, fmt.Errorf("compare %s with the demo: %w", db.Path(), err)
		}
	}
	return c.found, nil
}

type comparison struct {
	ctx    context.Context //nolint:containedctx // of the one call that it lives for
	db     *store.DB
	source string
	truth  *demo.Truth
	found  []Difference
}

func (c *comparison) add(kind Kind, of, id, format string, args ...any) {
	c.found = append(c.found, Difference{kind, of, id, fmt.Sprintf(format, args...)})
}

const ofSource = `(SELECT id FROM sources WHERE name = ?)`

// missed is how many crawls in a row of the target that is the least sure of it lack a listing, or
// reads of the index the target's city.
const missed = `(SELECT ifnull(min(max(s.missed, ifnull(x.missed, 0))), 0) FROM sightings s JOIN targets t ON t.id = s.target_id
	LEFT JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id WHERE s.listing = l.id)`

// selectListings reads the fields of yp.ListingFields that have a column, in their order.
var selectListings = func() string {
	var columns []string
	for i := range yp.ListingFields {
		if column := yp.ListingFields[i].ColumnName(); column != "" {
			columns = append(columns, "l."+column)
		}
	}
	return "SELECT l.dropped_at IS NOT NULL, " + missed + ", " + strings.Join(columns, ", ") + " FROM listings l WHERE l.source_id = " + ofSource + " ORDER BY l.listing_id"
}()

// row is a listing as the database has it.
type row struct {
	dropped bool
	missed  int
	fields  [len(yp.ListingFields)]sql.NullString // in the order of yp.ListingFields
}

func (c *comparison) listings() error {
	want := c.completed()
	at := map[string]int{}
	for i := range want {
		at[want[i].ID] = i
	}
	seen := make([]bool, len(want))
	rows, err := store.All(c.db.Reader(c.ctx), selectListings, []any{c.source}, func(r *row) []any {
		into := []any{&r.dropped, &r.missed}
		for i := range yp.ListingFields {
			if yp.ListingFields[i].ColumnName() != "" {
				into = append(into, &r.fields[i])
			}
		}
		return into
	})
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		id := r.fields[yp.ListingFieldAt("id")].String
		n, known := at[id]
		switch {
		case !known:
			c.unknown(r, id, want)
		case seen[n]:
			c.add(Doubled, "listing", id, "is there more than once")
		default:
			seen[n] = true
			if r.dropped {
				c.add(Differs, "listing", id, "is marked as dropped, but the site shows it")
			}
			c.fields(r, id, &want[n])
		}
	}
	for i, ok := range seen {
		if !ok {
			c.add(Missing, "listing", want[i].ID, "is missing: the site shows %s", want[i].Name)
		}
	}
	return nil
}

// unknown tells of a listing that the site does not show.
func (c *comparison) unknown(r *row, id string, want []yp.Listing) {
	if x := c.truth.Changes; x != nil {
		switch {
		case slices.Contains(x.Dropped, id), slices.Contains(x.Retired, id):
			if proved := r.missed >= store.DropAfter; proved && !r.dropped {
				c.add(Differs, "listing", id, "is open, but every target that showed it was read twice without it, or its city has left the index")
			} else if !proved && r.dropped {
				c.add(Differs, "listing", id, "is marked as dropped, but a target that showed it was not read twice without it, nor has its city left the index")
			}
			return
		case slices.Contains(x.Unconfirmed, id):
			if r.dropped {
				c.add(Differs, "listing", id, "is marked as dropped, but no target that shows it was read to its end")
			}
			return
		case slices.Contains(x.Ads, id):
			if r.dropped {
				c.add(Differs, "listing", id, "is marked as dropped, but the site shows it as an ad")
			}
			return
		case r.dropped:
			return // an earlier epoch had dropped it
		}
	}
	name, phone, street := r.fields[yp.ListingFieldAt("name")].String, r.fields[yp.ListingFieldAt("phone")].String, r.fields[yp.ListingFieldAt("street")].String
	i := slices.IndexFunc(want, func(l yp.Listing) bool { return l.Name == name && l.Phone == phone && l.Street == street })
	if i < 0 {
		c.add(Doubled, "listing", id, "is in the database (%s), but the site does not show it", name)
		return
	}
	c.add(Doubled, "listing", id, "is listing %s a second time: the site shows %s under that id alone", want[i].ID, name)
}

func (c *comparison) fields(r *row, id string, want *yp.Listing) {
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if f.ColumnName() == "" {
			continue
		}
		w, got := withoutHost(stored(f, want)), withoutHost(r.fields[i].String)
		if w != got && (c.truth.Changes == nil || w != "") {
			c.add(Differs, "listing", id, "%s is %q, and the site shows %q", f.Name, got, w)
		}
	}
}

// stored is a field as SQLite gives it, as a text: "" for NULL.
func stored(f *yp.ListingField, l *yp.Listing) string {
	switch text := f.Text(l); text {
	case "true":
		return "1"
	case "false":
		return "0"
	default:
		return text
	}
}

var loopback = regexp.MustCompile(`^http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/`)

func withoutHost(address string) string {
	return loopback.ReplaceAllString(address, "/")
}

// completed returns the listings of the truth, with what their cards lack and their own pages say
// if those are compared.
func (c *comparison) completed() []yp.Listing {
	out := slices.Clone(c.truth.Listings)
	for i := range out {
		l := &out[i]
		at, ok := slices.BinarySearchFunc(c.truth.Details, l.ID, func(d yp.Detail, id string) int { return strings.Compare(d.ID, id) })
		if !ok {
			continue
		}
		d := &c.truth.Details[at]
		if l.Phone == "" && l.PhoneE164 == "" {
			l.Phone, l.PhoneE164 = d.Phone, d.PhoneE164
		}
		if l.WebsiteURL == "" && l.Website == "" {
			l.WebsiteURL, l.Website, l.Domain = d.WebsiteURL, d.Website, d.Domain
		}
		if len(l.Hours) == 0 {
			l.Hours = d.Hours
		}
		if l.YearsInBusiness == 0 {
			l.YearsInBusiness = d.Years
		}
	}
	return out
}

// companies compares which listings belong together, and under which name.
func (c *comparison) companies() error {
	type member struct {
		company       int64
		name, listing string
	}
	rows, err := store.All(c.db.Reader(c.ctx), `SELECT c.id, c.name, l.listing_id FROM listings l JOIN companies c ON c.id = l.company_id
		WHERE l.source_id = `+ofSource+` ORDER BY l.listing_id`, []any{c.source}, func(m *member) []any { return []any{&m.company, &m.name, &m.listing} })
	if err != nil {
		return err
	}
	at, got := map[int64]*demo.Company{}, map[string]*demo.Company{} // by number, by first listing
	for _, m := range rows {
		if at[m.company] == nil {
			at[m.company] = &demo.Company{Name: m.name}
			got[m.listing] = at[m.company]
		}
		at[m.company].Listings = append(at[m.company].Listings, m.listing)
	}
	for _, want := range c.truth.Companies {
		id := want.Listings[0]
		have := got[id]
		delete(got, id)
		switch {
		case have == nil:
			c.add(Missing, "company", id, "is missing: no company begins with this listing; it is %s, of the listings %s", want.Name, strings.Join(want.Listings, " "))
		case !slices.Equal(have.Listings, want.Listings):
			c.add(Differs, "company", id, "has the listings %s, but the site shows %s as one company", strings.Join(have.Listings, " "), strings.Join(want.Listings, " "))
		case have.Name != want.Name:
			c.add(Differs, "company", id, "has the name %q, but its name is %q", have.Name, want.Name)
		}
	}
	for id, have := range got {
		c.add(Doubled, "company", id, "should not exist: %s, of the listings %s", have.Name, strings.Join(have.Listings, " "))
	}
	bare, err := store.Column[int64](c.db.Reader(c.ctx), `SELECT id FROM companies WHERE id NOT IN (SELECT company_id FROM listings)`)
	for _, id := range bare {
		c.add(Doubled, "company", fmt.Sprint(id), "has no listing (this is its own number)")
	}
	return err
}

// The columns stand in the order of the fields of yp.Detail.
const selectDetails = `
	SELECT l.listing_id, '', ifnull(d.email, ''), ifnull(d.phone, ''), ifnull(d.phone_e164, ''), ifnull(d.website_url, ''), ifnull(d.website, ''), ifnull(d.domain, ''),
		d.hours, ifnull(d.lat, 0), ifnull(d.lon, 0), d.payment, d.social, d.services, d.languages, d.neighborhoods, d.aka,
		ifnull(d.founded, 0), ifnull(d.years_in_business, 0), ifnull(d.about, '')
	FROM details d JOIN listings l ON l.id = d.listing WHERE l.source_id = ` + ofSource + ` ORDER BY l.listing_id`

// details compares what the listings' own pages say; the name stays that of the card.
func (c *comparison) details() error {
	rows, err := store.All(c.db.Reader(c.ctx), selectDetails, []any{c.source}, store.Fields[yp.Detail])
	if err != nil {
		return err
	}
	got := map[string]*yp.Detail{}
	for i := range rows {
		got[rows[i].ID] = &rows[i]
	}
	for i := range c.truth.Details {
		want := &c.truth.Details[i]
		have := got[want.ID]
		if have == nil {
			c.add(Missing, "details", want.ID, "of %s are missing", want.Name)
			continue
		}
		delete(got, want.ID)
		w, g := reflect.ValueOf(want).Elem(), reflect.ValueOf(have).Elem()
		for n := range w.NumField() {
			x, y, name := fmt.Sprint(w.Field(n)), fmt.Sprint(g.Field(n)), w.Type().Field(n).Name
			if x != y && name != "Name" && (c.truth.Changes == nil || !w.Field(n).IsZero()) {
				c.add(Differs, "details", want.ID, "%s is %s, and the site shows %s", strings.ToLower(name), y, x)
			}
		}
	}
	for id := range got {
		if c.truth.Changes == nil {
			c.add(Doubled, "details", id, "are in the database, but the site has no such page")
		}
	}
	open, err := store.All(c.db.Reader(c.ctx), `SELECT l.listing_id, t.status FROM targets t JOIN listings l ON l.id = t.listing
		WHERE t.kind = 'detail' AND t.status <> 'DONE' AND t.retired_at IS NULL AND t.source_id = `+ofSource, []any{c.source},
		func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	for _, s := range open {
		if c.truth.Changes == nil {
			c.add(Unfinished, "details", s[0], "are %s", s[1])
		}
	}
	return err
}

// searches compares how far each search is: DONE, with the pages that the site has.
func (c *comparison) searches() error {
	type search struct {
		demo.Search
		status  string
		retired bool
	}
	rows, err := store.All(c.db.Reader(c.ctx), `SELECT c.slug, k.slug, t.page_current, t.status, t.retired_at IS NOT NULL FROM targets t
		JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
		WHERE t.kind = 'search' AND t.source_id = `+ofSource+` ORDER BY 1, 2`, []any{c.source},
		func(s *search) []any { return []any{&s.City, &s.Category, &s.Pages, &s.status, &s.retired} })
	if err != nil {
		return err
	}
	got := map[string]search{}
	for _, s := range rows {
		got[s.City+"/"+s.Category] = s
	}
	for _, want := range c.truth.Searches {
		id := want.City + "/" + want.Category
		have, ok := got[id]
		delete(got, id)
		switch {
		case !ok:
			c.add(Missing, "search", id, "is not in the database")
		case have.retired && want.Pages > 0:
			c.add(Differs, "search", id, "is retired, but the site has the city")
		case have.retired:
		case have.status != string(yp.Done):
			c.add(Unfinished, "search", id, "is %s, with %d of %d pages", have.status, have.Pages, want.Pages)
		case have.Pages != want.Pages:
			c.add(Differs, "search", id, "is DONE with %d pages, but the site has %d", have.Pages, want.Pages)
		}
	}
	for id, have := range got {
		if have.retired {
			continue
		}
		c.add(Doubled, "search", id, "is in the database, but the site has no such city and category")
	}
	return nil
}

// cities compares those that the source's indexes have. Many that the last read is the first to lack
// are not marked as removed yet.
func (c *comparison) cities() error {
	rows, err := store.All(c.db.Reader(c.ctx), `SELECT x.slug, x.name, c.state FROM source_cities x JOIN cities c ON c.id = x.city_id
		WHERE x.removed_at IS NULL AND x.missed = 0 AND x.source_id = `+ofSource, []any{c.source}, store.Fields[demo.City])
	if err != nil {
		return err
	}
	for _, want := range c.truth.Cities {
		if !slices.Contains(rows, want) {
			c.add(Missing, "city", want.Slug, "%s, %s of the index is missing, or has another name", want.Name, want.State)
		}
	}
	for _, have := range rows {
		if !slices.Contains(c.truth.Cities, have) {
			c.add(Doubled, "city", have.Slug, "%s, %s is in the database, but the index does not have it under that name", have.Name, have.State)
		}
	}
	return nil
}

// Crawled is what a database says of the crawl of a source: where the site stood, and what the
// truth has to be asked for to be compared with it.
type Crawled struct {
	BaseURL  string
	Searches []demo.Search // Pages is the limit of each
	Details  bool
	States   []string // whose indexes were read
}

// CrawledOf reads it.
func CrawledOf(ctx context.Context, db *store.DB, source string) (x Crawled, err error) {
	q := db.Reader(ctx)
	addresses, err := store.Column[string](q, `SELECT base_url FROM sources WHERE name = ?`, source)
	if err != nil || len(addresses) == 0 {
		return x, cmp.Or(err, fmt.Errorf("%s was not crawled into %s: name the database of a crawl with --source %s", source, db.Path(), source))
	}
	x.BaseURL = addresses[0]
	x.Searches, err = store.All(q, `SELECT c.slug, k.slug, t.max_pages FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
		WHERE t.kind = 'search' AND t.source_id = `+ofSource, []any{source}, store.Fields[demo.Search])
	if err != nil {
		return x, err
	}
	kinds, err := store.Column[bool](q, `SELECT EXISTS (SELECT 1 FROM targets WHERE kind = 'detail' AND source_id = `+ofSource+`)`, source)
	if err != nil {
		return x, err
	}
	x.Details = kinds[0]
	x.States, err = store.Column[string](q, `SELECT state FROM targets WHERE kind = 'index' AND source_id = `+ofSource, source)
	return x, err
}
