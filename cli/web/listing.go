package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// listingPath is the path of a listing's page, below the root: "/listings/demo/400110158". Any text is an id. One that clients and
// proxies change on their way goes behind the question mark, "/listings/demo?id=123%2Facme": they remove dots, however they are
// written, and many turn %2F into a slash.
func listingPath(source, id string) string {
	path := "/listings/" + url.PathEscape(source)
	if strings.Trim(id, ".") == "" || strings.ContainsAny(id, `/\`) || yp.Printable(id) != id {
		return withQuery(path, url.Values{"id": {id}})
	}
	return path + "/" + url.PathEscape(id)
}

// withQuery is a path with parameters.
func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}

// companyPath is the path of a company's page.
func companyPath(id string) string { return "/companies/" + url.PathEscape(id) }

// manyRows is how many rows a part of one thing's page shows: of a company's listings, of what became of a listing.
const manyRows = 200

// thingModel is the page of one listing, or of one company.
type thingModel struct {
	Called, Title string
	Closed        string // since when its site no longer shows it
	Rejected      string // rules that it breaks
	Facts         []fact
	Parts         []thingPart
}

// fact is a field with where it is from.
type fact struct {
	Name   string
	Time   *moment // where it is one
	From   origin
	Values []value
}

// origin is the page that a field is from, and when it was read.
type origin struct {
	Page any
	Time *moment
}

type value struct {
	Text string
	Link template.URL // checked by outward; "" = none
}

// thingPart is a table of what belongs to a thing.
type thingPart struct {
	ID, Title, None string
	*table
	Cut int // rows that are not shown
}

// listing is the page of one listing.
func (s *Server) listing() Part {
	return Part{Name: "listing", Asks: []string{"source", "id"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		source, id := q.Get("source"), q.Get("id")
		row, err := k.SourceID(ctx, source)
		if err != nil {
			return nil, err
		}
		var r *report.Record
		if row != 0 && id != "" {
			if r, err = k.ListingOf(ctx, row, id); err != nil {
				return nil, err
			}
		}
		if r == nil {
			return nil, &Refusal{
				http.StatusNotFound, fmt.Sprintf("There is no listing %q of the source %q.", id, source),
				"Choose one in the list; `ypcrawl listings list --search WORD` finds them.",
			}
		}
		if of := s.cfg.Scope.SourceID; of != 0 && of != row || !s.inStates(r.Get("state"), r.Get("searched_state")) {
			return nil, s.outOfScope("this listing")
		}
		return s.listingOf(r, time.Now()), nil
	}}
}

// inStates reports whether the page shows a place: the first state that is known counts, as in the list.
func (s *Server) inStates(states ...any) bool {
	all := s.cfg.Scope.States
	i := slices.IndexFunc(states, func(state any) bool { return state != nil })
	return len(all) == 0 || i >= 0 && slices.Contains(all, fmt.Sprint(states[i]))
}

func (s *Server) outOfScope(what string) *Refusal {
	return &Refusal{
		http.StatusNotFound, "This page does not show " + what + ".",
		"It was started for " + s.cfg.About + " alone.",
	}
}

func (s *Server) listingOf(r *report.Record, now time.Time) *thingModel {
	m := &thingModel{Facts: factsOf(r, now)}
	m.Called, m.Title = r.Title()
	if at := r.Get("dropped_at"); at != nil {
		m.Closed = report.Cell(now, "dropped_at", at)
	}
	if p := r.Part("rejected"); p != nil && len(p.Rows) > 0 {
		m.Rejected = report.Cell(now, "reasons", p.Value(p.Rows[0], "reasons"))
	} else if reasons := r.Get("reasons"); reasons != nil {
		m.Rejected = report.Cell(now, "reasons", reasons)
	}
	if p := r.Part("company"); p != nil {
		m.add(now, p, "Company", "It belongs to no company.", func(row []any) string { return companyPath(fmt.Sprint(p.Value(row, "company"))) })
	}
	if p := r.Part("seen"); p != nil {
		m.add(now, p, "Searches that showed it", "No search has shown it.", func(row []any) string {
			if !s.inStates(p.Value(row, "state")) {
				return ""
			}
			return fmt.Sprintf("/targets/%v", p.Value(row, "target_id"))
		})
	}
	if p := r.Part("history"); p != nil {
		p.Rows = slices.Clone(p.Rows)
		slices.Reverse(p.Rows)
		m.add(now, p, "History, newest first", "It has no history yet.", nil)
	}
	return m
}

// add adds a part: its first column leads to where link says.
func (m *thingModel) add(now time.Time, p *report.Table, title, none string, link func(row []any) string) {
	t, shown := &table{now: now}, p.Shown()
	_ = t.Head(shown.Columns)
	part := thingPart{ID: p.Name, Title: title, None: none, table: t, Cut: max(0, len(p.Rows)-manyRows)}
	for i, row := range shown.Rows[:len(p.Rows)-part.Cut] {
		_ = t.Row(row)
		if link != nil {
			first := &t.Rows[i][0]
			first.Link = link(p.Rows[i])
			if first.Number { // the number of a company counts nothing
				first.Text = fmt.Sprint(row[0])
			}
		}
	}
	t.Number[0] = false
	m.Parts = append(m.Parts, part)
}

// notFacts are columns that the page shows elsewhere.
var notFacts = strings.Fields("company_id reasons page listings alive")

// factsOf are the fields of a thing as `show` tells them, each with what it leads to and the page that it is from.
func factsOf(r *report.Record, now time.Time) (all []fact) {
	from := originsOf(r)
	for _, f := range r.Facts(now) {
		if slices.Contains(notFacts, f.Column) {
			continue
		}
		all = append(all, fact{f.Name, momentOf(f.Column, r.Get(f.Column)), from[f.Column], valuesOf(r, f)})
	}
	return all
}

// originsOf says of each field from which page it is.
func originsOf(r *report.Record) map[string]origin {
	from, p := map[string]origin{}, r.Part("origins")
	if p == nil {
		return from
	}
	for _, row := range p.Rows {
		fields, _ := report.Texts(fmt.Sprint(p.Value(row, "fields")))
		for _, name := range fields {
			from[name] = origin{p.Value(row, "origin"), momentOf("at", p.Value(row, "at"))}
		}
	}
	return from
}

// valuesOf are the texts of a field, each with what it leads to: a list of addresses has several.
func valuesOf(r *report.Record, f report.Fact) (all []value) {
	raw, text := r.Get(f.Column), []string{f.Text}
	links := []string{fmt.Sprint(raw)}
	switch f.Column {
	case "phone":
		links[0], _ = r.Get("phone_e164").(string)
	case "social":
		if items, ok := report.Texts(links[0]); ok {
			text, links = items, items
		}
	}
	for i, t := range text {
		all = append(all, value{t, outward(f.Column, links[i])})
	}
	return all
}

// outward is what a value leads to that a site wrote: an address of the web, of mail, or a phone. Anything else leads nowhere: an
// address with a name before its host, which hides the host, and what has characters that can't be seen.
func outward(column, text string) template.URL {
	if yp.Printable(text) != text || strings.ContainsAny(text, " \t\r\n") {
		return ""
	}
	switch column {
	case "email":
		if user, host, ok := strings.Cut(text, "@"); ok && user != "" && host != "" && !strings.Contains(host, "@") {
			return template.URL("mailto:" + url.PathEscape(text)) //nolint:gosec // escaped: no header follows it
		}
	case "phone", "phone_e164":
		digits, ok := strings.CutPrefix(text, "+")
		if _, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			return template.URL("tel:" + text) //nolint:gosec // digits
		}
	case "website", "profile_url", "image_url", "social":
		u, err := url.Parse(text)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil {
			return template.URL(u.String()) //nolint:gosec // checked
		}
	}
	return ""
}

// company is the page of one company: what its listings say together, and these.
func (s *Server) company() Part {
	return Part{Name: "company", Asks: []string{"id"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		id, err := strconv.ParseInt(q.Get("id"), 10, 64)
		var r *report.Record
		if err == nil {
			if r, err = k.CompanyPlaces(ctx, id, manyRows, s.cfg.Scope); err != nil {
				return nil, err
			}
		}
		if r == nil {
			return nil, &Refusal{
				http.StatusNotFound, fmt.Sprintf("There is no company %q.", q.Get("id")),
				"Choose one in the list; `ypcrawl companies list` shows all.",
			}
		}
		own := s.cfg.Scope.SourceID == 0 && s.inStates(r.Get("state"))
		if !own && len(r.Part("places").Rows) == 0 {
			return nil, s.outOfScope("this company")
		}
		return companyOf(r, time.Now()), nil
	}}
}

func companyOf(r *report.Record, now time.Time) *thingModel {
	m, p := &thingModel{Facts: factsOf(r, now)}, r.Part("places")
	m.Called, m.Title = r.Title()
	title := yp.Plural(r.Int("listings"), "listing")
	if closed := r.Int("listings") - r.Int("alive"); closed > 0 {
		title += ", " + yp.Thousands(closed) + " closed"
	}
	m.add(now, p, title, "It no longer has a listing.", func(row []any) string {
		return listingPath(fmt.Sprint(p.Value(row, "source")), fmt.Sprint(p.Value(row, "listing_id")))
	})
	m.Parts[0].Cut = int(r.Int("listings")) - len(p.Rows)
	return m
}

// slashes leads to the page of a listing whose id has slashes that were not escaped: "/listings/demo/123/acme".
func (s *Server) slashes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		if id == "" {
			s.refuse(w, r, http.StatusNotFound, "There is no page "+r.URL.Path+".", "Go to the overview.")
			return
		}
		w.Header().Set("Location", top(r.URL.EscapedPath())+listingPath(r.PathValue("source"), id)[1:])
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}
