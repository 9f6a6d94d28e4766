package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A list is read part by part. Each part begins behind the last row of the one before: behind its Place, the values of that row by
// which the list is sorted. OFFSET would count rows that come and go in the meantime; a place is the same whatever happens before it.

// Place is where a part of a list ends: the number of the stage (see Stage), then the values of the terms of its order.
type Place []any

// Text is a place as an address has it.
func (p Place) Text() string {
	text, err := json.Marshal([]any(p))
	if err != nil { // an infinite number: there is no way behind it
		return ""
	}
	return string(text)
}

// ErrNoPlace says that a text is no place of this list in this order.
var ErrNoPlace = errors.New("this is no place in the list")

// ParsePlace reads what Text wrote.
func ParsePlace(text string) (p Place, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&p) != nil || d.More() || len(p) < 2 {
		return nil, ErrNoPlace
	}
	for i, v := range p {
		switch v := v.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				p[i] = n
			} else if p[i], err = strconv.ParseFloat(v.String(), 64); err != nil {
				return nil, ErrNoPlace
			}
		case string, nil:
		default:
			return nil, ErrNoPlace
		}
	}
	return p, nil
}

// Stage is a part of a list that is read before the next one begins.
type Stage struct {
	Where string
	Order string // as List.Order; List.Unique follows by itself

	// Floor are the first arguments of Where at the beginning of the list, later the values of the place; those of the filters follow.
	// nil = Where has none.
	Floor []any
}

// The queue begins with what is worked on, then what is in trouble, then what is next: what is ready, and what falls due by
// itself. An index leads to the rows of each stage but the last, so that a part costs the same however many targets there are.
// A + keeps SQLite from reading all targets in order of their id until it finds enough.
var queueStages = []Stage{
	{Where: `status = 'IN_PROGRESS'`, Order: "+id"},
	{Where: `status IN ('FAILED', 'STUCK', 'PARKED') AND retired_at IS NULL`, Order: "+id"},
	{Where: readyFirst, Order: "priority, +id", Floor: []any{int64(-1 << 62), 0}},
	{Where: `wait = 'gap' AND next_at IS NOT NULL AND status IN ('PLANNED', 'DONE') AND retired_at IS NULL`, Order: "next_at, id"},
	{Where: `wait = 'recrawl' AND next_at IS NOT NULL AND status IN ('PLANNED', 'DONE') AND retired_at IS NULL`, Order: "next_at, id"},
	{Where: `NOT (status = 'IN_PROGRESS' OR retired_at IS NULL AND (
		status IN ('FAILED', 'STUCK', 'PARKED')
		OR status IN ('PLANNED', 'DONE') AND ifnull(wait, '') IN ('gap', 'recrawl')
		OR status = 'PLANNED' AND enabled = 1 AND health <> 'paused' AND next_at IS NULL))`, Order: "id"},
}

// readyFirst asks of each kind in each state of a source for those that are taken next, in one seek each, as the claim does, and takes
// the first of them all: priority and id travel as one number. {narrowed} is what the choice narrows the list to, by source, kind and state.
const readyFirst = `id IN (
	SELECT j.value & 0xFFFFFFFFFFFF
	FROM (SELECT n.*, s.name AS source FROM target_totals n JOIN sources s ON s.id = n.source_id WHERE n.status = 'PLANNED' AND n.targets > 0) n
		CROSS JOIN json_each((
			SELECT json_group_array(r.place) FROM (
				SELECT t.priority << 48 | t.id AS place FROM targets t
				WHERE t.status = 'PLANNED' AND t.enabled = 1 AND t.paused = 0 AND t.not_before IS NULL AND t.retired_at IS NULL
					AND t.source_id = n.source_id AND t.kind = n.kind AND t.state = n.state AND (t.priority, t.id) > (?, ?)
				ORDER BY t.priority, t.id LIMIT {limit}) r)) j
	WHERE {narrowed}
	ORDER BY j.value LIMIT {limit})`

// inStages reports whether the stages of a list are read for a choice. Those of the queue are found by source, kind and state alone.
func (l List) inStages(choice Choice) bool {
	for name := range choice.Values {
		if !slices.Contains([]string{"states", "source", "kind"}, name) {
			return false
		}
	}
	return choice.Sort == "" && len(l.Stages) > 0
}

// stagesOf are the stages that are read for a choice: one, unless the list has several.
func (l List) stagesOf(choice Choice) []Stage {
	column, descending := strings.CutPrefix(choice.Sort, "-")
	switch {
	case l.inStages(choice):
		return l.Stages
	case choice.Sort == ByKey:
		return []Stage{{Where: "1", Order: l.Unique}}
	case choice.Sort == "":
		return []Stage{{Where: "1", Order: l.Order}}
	}
	order := column + " IS NULL, " + column
	if slices.Contains(strings.Split(l.Unique, ", "), column) {
		order = column
	}
	if descending {
		order += " DESC"
	}
	return []Stage{{Where: "1", Order: order}}
}

// term is a part of an order.
type term struct {
	text       string
	descending bool
	set        bool // it is never NULL
}

func (t term) String() string {
	if t.descending {
		return t.text + " DESC"
	}
	return t.text
}

// terms are those of the order of a stage. The last ones are what no two rows have in common.
func (l List) terms(order string) (all []term) {
	unique := strings.Split(l.Unique, ", ")
	for _, text := range append(strings.Split(order, ", "), unique...) {
		text, descending := strings.CutSuffix(text, " DESC")
		bare := strings.TrimPrefix(text, "+")
		same := func(t term) bool { return strings.TrimPrefix(t.text, "+") == bare }
		if text != "" && !slices.ContainsFunc(all, same) {
			set := slices.Contains(unique, bare) || strings.HasSuffix(text, " IS NULL")
			if strings.Contains(text, " ") {
				text = "(" + text + ")"
			}
			all = append(all, term{text, descending, set})
		}
	}
	return all
}

// behind is the condition that a row comes after a place. NULL is less than anything, as SQLite sorts it. That the first term is
// not before the place is said once more: by it an index leads there.
func behind(terms []term, place []any) (where string, args []any) {
	for i, t := range slices.Backward(terms) {
		beyond, same, v := t.text+" > ?", t.text+" IS ?", place[i]
		with := []any{v}
		switch {
		case v == nil && t.descending:
			beyond, with = "0", nil
		case v == nil:
			beyond, with = t.text+" IS NOT NULL", nil
		case t.descending && t.set:
			beyond = t.text + " < ?"
		case t.descending:
			beyond = "(" + t.text + " < ? OR " + t.text + " IS NULL)"
		}
		if where == "" {
			where, args = beyond, with
			continue
		}
		where = "(" + beyond + " OR " + same + " AND " + where + ")"
		args = slices.Concat(with, []any{v}, args)
		if i == 0 && v != nil && (t.set || !t.descending) {
			where = t.text + map[bool]string{false: " >= ?", true: " <= ?"}[t.descending] + " AND " + where
			args = append([]any{v}, args...)
		}
	}
	return where, args
}

// ByKey as Choice.Sort is the order of what is unique of the list and never changes: who reads all parts reads each row once that
// was there throughout.
const ByKey = "key"

// Part reads choice.Limit rows of a list behind a place, nil = from its beginning, and returns the place behind them: nil where
// there are no more. Errors are those of List, also for a column to sort by that is unknown, and ErrNoPlace.
func (k *Reader) Part(ctx context.Context, l List, choice Choice, after Place, to Rows) (end Place, err error) {
	if err := k.known(ctx, choice); err != nil {
		return nil, err
	}
	// The order is a part of the statement: nothing but the name of a column may be.
	if column := strings.TrimPrefix(choice.Sort, "-"); choice.Sort != "" && choice.Sort != ByKey {
		if err := k.haveColumns(ctx, l, "sort", []string{column}); err != nil {
			return nil, err
		}
	}
	stages := l.stagesOf(choice)
	first := int64(0)
	if after != nil {
		var ok bool
		if first, ok = after[0].(int64); !ok || first < 0 || first >= int64(len(stages)) {
			return nil, ErrNoPlace
		}
	}
	p := &placed{Rows: to, left: choice.Limit}
	for i := first; i < int64(len(stages)) && p.end == nil; i++ {
		p.stage, p.terms = i, l.terms(stages[i].Order)
		var at []any
		if after != nil && i == first {
			if at = after[1:]; len(at) != len(p.terms) {
				return nil, ErrNoPlace
			}
		}
		if err := k.stage(ctx, l, choice, stages[i], at, p); err != nil {
			return nil, fmt.Errorf("list from %s: %w", l.View, err)
		}
	}
	return p.end, nil
}

// stage reads the rows of a stage behind at.
func (k *Reader) stage(ctx context.Context, l List, choice Choice, s Stage, at []any, to *placed) error {
	query, args, err := k.questionIn(ctx, l, choice, s, at, to.left+1)
	if err != nil {
		return err
	}
	var rows Rows = to
	if l.Lives {
		rows = &judged{Rows: to, k: k}
	}
	return rowsOf(ctx, k.pool(), query, args, rows)
}

// questionIn is the statement that answers for a part of a list, and looks like
//
//	SELECT id, target, status, +id FROM v_targets WHERE 1 AND status = 'IN_PROGRESS' AND +id > ? ORDER BY +id LIMIT 101
//
// The columns behind those that are asked for are the place of the row. Where one column names a row, the rows are found first and
// then made up, so that nothing is made up that isn't shown.
func (k *Reader) questionIn(ctx context.Context, l List, choice Choice, s Stage, at []any, limit int) (query string, args []any, err error) {
	if err := k.haveColumns(ctx, l, "columns", choice.Columns); err != nil {
		return "", nil, err
	}
	w, err := k.narrow(ctx, l, choice)
	if err != nil {
		return "", nil, err
	}
	order := s.Order
	if w.few {
		order = "+" + order
	}
	terms := l.terms(order)
	first := s.Floor
	if first != nil {
		if at != nil {
			first = at
		}
		first = slices.Concat(first, w.args)
	}
	w.and(strings.NewReplacer("{limit}", strconv.Itoa(limit), "{narrowed}", strings.Join(w.parts, " AND ")).Replace(s.Where), first...)
	if at != nil {
		where, args := behind(terms, at)
		w.and(where, args...)
	}
	columns, by := strings.Join(choice.Columns, ", "), ""
	for i, t := range terms {
		columns += ", " + t.text
		if by += t.String(); i < len(terms)-1 {
			by += ", "
		}
	}
	if l.Lives {
		columns += ", uuid, host, heartbeat_at"
	}
	of := fmt.Sprintf(" FROM %s WHERE %s ORDER BY %s LIMIT %d", l.View, strings.Join(w.parts, " AND "), by, limit)
	if !strings.Contains(l.Unique, ",") && (choice.Sort != "" && choice.Sort != ByKey || l.Key != "" || len(s.Floor) > 0) {
		of = " FROM " + l.View + " WHERE " + l.Unique + " IN (SELECT " + l.Unique + of + ") ORDER BY " + by
	}
	return "SELECT " + columns + of, w.args, nil
}

// placed hands over as many rows as are wanted, without what says their place, and remembers that of the last one.
type placed struct {
	Rows
	stage int64
	terms []term
	left  int
	last  Place // of the last row that was handed over
	end   Place // the same, once there is another row
	begun bool
}

// Head implements Rows.
func (p *placed) Head(columns []string) error {
	if p.begun { // by an earlier stage
		return nil
	}
	p.begun = true
	return p.Rows.Head(columns[:len(columns)-len(p.terms)])
}

// Row implements Rows.
func (p *placed) Row(values []any) error {
	if p.left == 0 {
		p.end = p.last
		return nil
	}
	p.left--
	own := len(values) - len(p.terms)
	p.last = append(Place{p.stage}, values[own:]...)
	return p.Rows.Row(values[:own])
}
