package web

import (
	"context"
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
)

// listViews are the pages of the lists that have one: a row of report.Lists is a page.
func (s *Server) listViews() (all []View) {
	for _, l := range report.Lists {
		path, nav, _ := strings.Cut(l.Page, " ")
		if path == "" {
			continue
		}
		parts := []Part{s.filters(path, l), s.rows(path, l)}
		if l.View == "v_run_workers" {
			parts = slices.Insert(parts, 0, s.hubs())
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
				http.StatusNotFound, "No list has that: " + err.Error(),
				"Choose above the list: " + path + " has it without filters.",
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

// field is a filter in a form: a choice, a text, or a switch.
type field struct {
	Name, Value string
	Options     []string
	Switch, On  bool
}

// filters are the form above a list. It changes with its address alone, so that nothing replaces a form in which
// somebody chooses.
func (s *Server) filters(path string, l report.List) Part {
	return Part{Name: "filters", Of: path, Asks: asks(l), Read: func(_ context.Context, _ *report.Reader, q url.Values) (any, error) {
		var fields []field
		for _, f := range narrows(l) {
			x := field{Name: f.Name, Value: q.Get(f.Name), Switch: f.Kind == report.Switch || f.Kind == report.Only}
			for _, v := range f.Values {
				if v != string(report.ListingRejected) || l.View != "v_listings" { // they have a list of their own
					x.Options = append(x.Options, v)
				}
			}
			if i := slices.IndexFunc(f.Values, func(v string) bool { return strings.EqualFold(v, x.Value) }); i >= 0 {
				x.Value = f.Values[i]
			}
			x.On = x.Value != ""
			if x.Value == "" {
				x.Value = f.Default
			}
			fields = append(fields, x)
		}
		return map[string]any{"Path": path, "Fields": fields, "Filtered": len(q) > 0}, nil
	}}
}

// table is a list as the page shows it.
type table struct {
	Noun, None, Command, More string
	Columns                   []string
	Number                    []bool
	Times                     []bool // columns of times, whose head names the zone
	Rows                      [][]cell
	Lacking                   int64    // listings whose words are not in the index yet
	Others                    []string // pages that the navigation has not

	names []string // of the columns, and of one behind them that is not shown: the id of a target
	now   time.Time

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
	Troubled       bool // a target's status: FAILED, STUCK or PARKED
	Time           *moment
}

// Head implements report.Rows.
func (t *table) Head(columns []string) error {
	t.names = columns
	for _, name := range columns {
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
		row[i] = cell{Text: report.Cell(t.now, name, v), Number: report.IsNumber(name, v), Time: momentOf(name, v)}
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
	t.Rows = append(t.Rows, row)
	return nil
}

// rows are the rows of a list.
func (s *Server) rows(path string, l report.List) Part {
	return Part{Name: "rows", Of: path, Asks: asks(l, "rows"), Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		choice, err := s.choose(ctx, k, path, l, q)
		if err != nil {
			return nil, err
		}
		limit := listRows
		if n, err := strconv.Atoi(q.Get("rows")); err == nil {
			limit = min(max(n, 1), listMost)
		}
		choice.Limit = limit + 1
		choice.Columns = strings.Fields(l.Show)
		hidden := 0
		switch {
		case l.View == "v_targets":
			choice.Columns, hidden = append(choice.Columns, "id"), 1
		case slices.Contains(choice.Columns, "target"):
			choice.Columns, hidden = append(choice.Columns, "target_id"), 1
		}
		t := &table{Noun: l.Noun, None: l.None, Command: l.Name, now: time.Now()}
		for _, o := range report.Lists {
			if o.Page != "" && o.Page != path && !strings.Contains(o.Page, " ") {
				t.Others = append(t.Others, o.Page)
			}
		}
		if err := k.List(ctx, l, choice, t); err != nil {
			return nil, err
		}
		if choice.Values["search"] != nil {
			if t.Lacking, err = k.WordsLacking(ctx); err != nil {
				return nil, err
			}
		}
		if len(t.Rows) > limit {
			t.Rows = t.Rows[:limit]
			if limit < listMost {
				to := url.Values{}
				for name, v := range q {
					to[name] = v
				}
				to.Set("rows", strconv.Itoa(min(4*limit, listMost)))
				t.More = path + "?" + to.Encode()
			} else {
				t.More = "-"
			}
		}
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:len(t.Rows[i])-hidden]
		}
		t.Columns = t.Columns[:len(t.Columns)-hidden]
		return t, nil
	}}
}
