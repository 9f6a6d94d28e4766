package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// How many rows of a list are shown, and at most.
const (
	listRows = 100
	listMost = 1000
	sortTime = 2 * time.Second // for rows in an order that no index has
)

// listViews are the pages of the lists that have one: a row of report.Lists is a page.
func (s *Server) listViews() (all []View) {
	for _, l := range report.Lists {
		path, nav, _ := strings.Cut(l.Page, " ")
		if path == "" {
			continue
		}
		parts := []Part{s.filters(path, l), s.suggestions(path, l), s.rows(path, l)}
		s.mux.Handle("GET "+path+".csv", s.download(path, l))
		switch l.View {
		case "v_run_workers":
			parts = slices.Insert(parts, 0, s.hubs())
		case "v_runs":
			parts = slices.Insert(parts, 0, s.runPlots())
		case "v_sources":
			parts = append(parts, s.sourcePlots())
		}
		if l.View == "v_listings" {
			parts = append(parts, s.mapLink(l))
		}
		all = append(all, s.view(path, nav, strings.ToUpper(path[1:2])+path[2:], parts...))
		if l.View == "v_listings" {
			all = append(all, s.mapOf(l))
		}
	}
	return all
}

// narrows are the filters of a list that a form has: what names a run or a target is asked of commands.
func narrows(l report.List) (all []report.ListFilter) {
	for _, f := range l.Narrows() {
		if !slices.Contains([]string{"run", "target", "listing", "has"}, f.Name) {
			all = append(all, f)
		}
	}
	return all
}

func asks(l report.List, more ...string) []string {
	for _, f := range narrows(l) {
		more = append(more, f.Name)
	}
	return more
}

// choose reads the filters of an address; a word that means nothing is refused.
func (s *Server) choose(ctx context.Context, k *report.Reader, path string, l report.List, q url.Values) (report.Choice, error) {
	choice := report.Choice{Values: map[string]any{}, Scope: s.cfg.Scope}
	for _, f := range narrows(l) {
		word := q.Get(f.Name)
		if word == "" {
			word = f.Default
		}
		if word == "" {
			continue
		}
		words := []string{word}
		if f.Kind == report.ManyWords {
			words = strings.FieldsFunc(word, func(r rune) bool { return r == ',' })
		}
		value, err := s.valueOf(ctx, k, f, words)
		if err == nil && f.Kind == report.Moment {
			value, err = since(l, word)
		}
		if err != nil {
			return choice, &Refusal{
				http.StatusNotFound, "This filter can't be used: " + err.Error(),
				"Open " + path + " without filters, and choose there.",
			}
		}
		choice.Values[f.Name] = value
	}
	return choice, nil
}

// valueOf reads the value of a filter: states by those of the sources.
func (s *Server) valueOf(ctx context.Context, k *report.Reader, f report.ListFilter, words []string) (any, error) {
	if f.Name != "states" {
		return f.Parse(words)
	}
	known, err := k.KnownStates(ctx, s.cfg.Scope.SourceID)
	if err != nil {
		return nil, err
	}
	return known.Parse(words)
}

var age = regexp.MustCompile(`^([1-9][0-9]{0,3})([hdw])$`)

// since is the value of a filter of time: an age, or a date.
func since(l report.List, word string) (any, error) {
	at, err := time.Parse(time.DateOnly, word)
	if m := age.FindStringSubmatch(word); m != nil {
		n, _ := strconv.Atoi(m[1])
		hours := map[string]int{"h": 1, "d": 24, "w": 7 * 24}[m[2]]
		at, err = time.Now().Add(-time.Duration(n*hours)*time.Hour), nil
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("since %q: want an age like 36h, 7d or 2w, or a date like 2026-11-20", word)
	case l.View == "v_changes":
		return report.ChangesSince(at, nil), nil
	}
	return yp.FormatTime(at), nil
}

// table is a list as the page shows it.
type table struct {
	Noun, None string // None is said where nothing is there though nothing is filtered
	Filtered   bool
	Columns    []string
	Number     []bool
	Times      []bool // columns of times, whose head names the zone
	Rows       [][]cell
	Lacking    int64    // listings whose words are not in the index yet
	Others     []string // pages that the navigation has not
	Part       *listPart

	names  []string // of the columns, and of hidden ones behind them that are not shown: the id of a target
	hidden int
	now    time.Time

	states report.KnownStates // nil = those of the USA
}

func (t *table) nameOfState(code string) string {
	if t.states == nil {
		return nameOfState(code)
	}
	return t.states.Name(code)
}

type cell struct {
	Text, Link, ID string
	Number         bool
	Whole          bool // it stays on one line
	Troubled       bool // a target's status: FAILED, STUCK or PARKED
	Time           *moment
}

// Head implements report.Rows.
func (t *table) Head(columns []string) error {
	t.names = columns
	for _, name := range columns[:len(columns)-t.hidden] {
		t.Columns, t.Times = append(t.Columns, report.Title(name)), append(t.Times, report.IsTime(name))
	}
	t.Number = make([]bool, len(columns))
	return nil
}

// Row implements report.Rows.
func (t *table) Row(values []any) error {
	row := make([]cell, len(values))
	for i, v := range values {
		name := t.names[i]
		row[i] = cell{Text: report.Cell(t.now, name, v), Number: report.IsNumber(name, v), Whole: isWhole(name), Time: momentOf(name, v)}
		t.Number[i] = t.Number[i] || row[i].Number
		switch name {
		case "target":
			if id, ok := values[len(values)-1].(int64); ok {
				n := strconv.FormatInt(id, 10)
				row[i].Link, row[i].ID = "/targets/"+n, "target-"+n
			}
		case "state":
			if t.Noun == "state" {
				row[i].Link, row[i].Text = "/"+pathOfState(row[i].Text), t.nameOfState(row[i].Text)
			}
		case "category":
			if t.Noun == "category" {
				row[i].Link = "/queue?" + url.Values{"categories": {row[i].Text}, "states": {fmt.Sprint(values[1])}}.Encode()
			}
		case "listing":
			if source, id, ok := strings.Cut(fmt.Sprint(v), "/"); ok {
				row[i].Link = listingPath(source, id)
			}
		case "id":
			if t.Noun == "company" {
				row[i].Link = companyPath(row[i].Text)
			}
		case "troubled":
			row[i].Troubled = v != int64(0)
		case "status":
			row[i].Troubled = yp.Status(row[i].Text).Resettable()
		case "error_code":
			if row[i].Text == "SUCCESS" {
				break
			}
			row[i].Link = "/queue?error=" + url.QueryEscape(row[i].Text)
		}
	}
	t.Rows = append(t.Rows, row[:len(row)-t.hidden])
	return nil
}

// isWhole reports whether a cell stays on one line: a worker's name has its process in brackets.
func isWhole(column string) bool { return report.IsWhole(column) || column == "worker" }

// listPart is what is said about the rows of a list that are shown, and where the others are.
type listPart struct {
	Heads                   []head
	Shown                   string // which rows these are
	First, Next, CSV, Usual string // addresses, "" = there is none
	Slow                    string // the column by which the rows could not be sorted in time
	Noun                    string
	ByID                    string // the address of the rows by id; "" = none of the others changes its place in the list
}

// head is the head of a column: a link that sorts by it.
type head struct {
	Text, ID, Link string
	Sorted         string // ascending or descending, "" = the rows are not sorted by it
}

// rows are the rows of a list.
func (s *Server) rows(path string, l report.List) Part {
	return Part{Name: "rows", Of: path, Asks: asks(l, "rows", "sort", "after", "from"), Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		choice, err := s.choose(ctx, k, path, l, q)
		if err != nil {
			return nil, err
		}
		choice.Limit = listRows
		if n, err := strconv.Atoi(q.Get("rows")); err == nil {
			choice.Limit = min(max(n, 1), listMost)
		}
		if choice.Sort, err = sortOf(path, l, q); err != nil {
			return nil, err
		}
		t, err := s.readRows(ctx, k, path, l, choice, q)
		if err != nil {
			return nil, err
		}
		t.Filtered = slices.ContainsFunc(narrows(l), func(f report.ListFilter) bool { return q.Get(f.Name) != "" })
		for _, o := range report.Lists {
			if o.Page != "" && o.Page != path && !strings.Contains(o.Page, " ") {
				t.Others = append(t.Others, o.Page)
			}
		}
		if choice.Values["search"] != nil {
			if t.Lacking, err = k.WordsLacking(ctx); err != nil {
				return nil, err
			}
		}
		return t, nil
	}}
}

// sortOf is the order that an address asks for: a column that is shown.
func sortOf(path string, l report.List, q url.Values) (string, error) {
	word := q.Get("sort")
	if word != "" && !slices.Contains(strings.Fields(l.Show), strings.TrimPrefix(word, "-")) {
		return "", &Refusal{http.StatusNotFound, fmt.Sprintf("The list has no column %q to sort by.", strings.TrimPrefix(word, "-")), "Open " + path + " and click a header."}
	}
	return word, nil
}

// newTable is an empty one for the rows of a list, which asks for its columns.
func newTable(l report.List, choice *report.Choice) *table {
	t := &table{Noun: l.Noun, None: l.None, now: time.Now()}
	choice.Columns = strings.Fields(l.Show)
	switch {
	case l.View == "v_targets":
		choice.Columns, t.hidden = append(choice.Columns, "id"), 1
	case slices.Contains(choice.Columns, "target"):
		choice.Columns, t.hidden = append(choice.Columns, "target_id"), 1
	}
	return t
}

// readRows reads the rows that an address asks for. An order that takes too long to find is given up: the rows come as the list
// has them, and it is said how to narrow it.
func (s *Server) readRows(ctx context.Context, k *report.Reader, path string, l report.List, choice report.Choice, q url.Values) (*table, error) {
	after, err := placeOf(path, q)
	if err != nil {
		return nil, err
	}
	t := newTable(l, &choice)
	limited, cancel := ctx, func() {}
	if choice.Sort != "" {
		limited, cancel = context.WithTimeout(ctx, s.sortTime)
	}
	end, err := k.Part(limited, l, choice, after, t)
	late := limited.Err() != nil
	cancel()
	slow := ""
	if err != nil && late && ctx.Err() == nil {
		slow, choice.Sort = report.Title(strings.TrimPrefix(choice.Sort, "-")), ""
		q, after = with(q, "sort", "", "after", "", "from", ""), nil
		t = newTable(l, &choice)
		end, err = k.Part(ctx, l, choice, nil, t)
	}
	if errors.Is(err, report.ErrNoPlace) {
		return nil, noPlace(path)
	}
	if err != nil {
		return nil, err
	}
	t.Part = partOf(path, l, q, after, end, len(t.Rows))
	t.Part.Slow = slow
	return t, nil
}

// placeOf is the place behind which an address asks for rows; nil = from the beginning.
func placeOf(path string, q url.Values) (report.Place, error) {
	if q.Get("after") == "" {
		return nil, nil
	}
	after, err := report.ParsePlace(q.Get("after"))
	if err != nil {
		return nil, noPlace(path)
	}
	return after, nil
}

func noPlace(path string) error {
	return &Refusal{http.StatusNotFound, "The address names no place in this list.", "Open " + path + " for the first rows."}
}

// partOf says which rows are shown, and where the others are.
func partOf(path string, l report.List, q url.Values, after, end report.Place, rows int) *listPart {
	p := &listPart{Noun: l.Noun, CSV: address(path+".csv", with(q, "rows", "", "sort", "", "after", "", "from", ""))}
	before, known := 0, true
	if after != nil {
		p.First = address(path, with(q, "after", "", "from", ""))
		n, err := strconv.Atoi(q.Get("from"))
		before, known = n, err == nil && n > 0 && n < 1<<30
	}
	switch first, last := yp.Thousands(int64(before+1)), yp.Thousands(int64(before+rows)); {
	case rows == 0:
	case !known, after == nil && end == nil:
		p.Shown = yp.Plural(int64(rows), "row")
	case end == nil:
		p.Shown = "Rows " + first + " to " + last + " of " + last
	default:
		p.Shown = "Rows " + first + " to " + last
	}
	if text := end.Text(); end != nil && text != "" && len(text) <= maxPlace {
		p.Next = address(path, with(q, "after", text, "from", ""))
		if known {
			p.Next = address(path, with(q, "after", text, "from", strconv.Itoa(before+rows)))
		}
	}
	if staged(l, q) && (p.First != "" || p.Next != "") {
		p.ByID = address(path, with(q, "sort", "id", "after", "", "from", ""))
	}
	if q.Get("sort") != "" {
		p.Usual = address(path, with(q, "sort", "", "after", "", "from", ""))
	}
	p.Heads = heads(path, l, q)
	return p
}

// heads are those of the columns. A click sorts by one, the next click the other way round.
func heads(path string, l report.List, q url.Values) (all []head) {
	by, descending := strings.CutPrefix(q.Get("sort"), "-")
	if by == "" {
		by, _, _ = strings.Cut(l.Order, ", ")
		by, descending = strings.CutSuffix(by, " DESC")
	}
	if staged(l, q) {
		by = ""
	}
	for _, column := range strings.Fields(l.Show) {
		h, to := head{Text: report.Title(column), ID: "sort-" + column}, column
		if column == by {
			h.Sorted = map[bool]string{false: "ascending", true: "descending"}[descending]
			if !descending {
				to = "-" + column
			}
		}
		h.Link = address(path, with(q, "sort", to, "after", "", "from", ""))
		all = append(all, h)
	}
	return all
}

// staged reports whether a list is shown in its stages: so narrowed, and in no order that was asked for. Between two pages a row can
// leave a stage for another one.
func staged(l report.List, q url.Values) bool {
	return len(l.Stages) > 0 && q.Get("sort") == "" && !slices.ContainsFunc(narrows(l), func(f report.ListFilter) bool {
		return q.Get(f.Name) != "" && !slices.Contains([]string{"states", "source", "kind"}, f.Name)
	})
}
