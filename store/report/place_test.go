package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// partly reads a list in parts of a few rows, and returns their keys: the first columns of the rows.
func partly(t *testing.T, k *report.Reader, l report.List, choice report.Choice, between func()) (all []string) {
	t.Helper()
	var after report.Place
	for {
		var r rows
		end, err := k.Part(t.Context(), l, choice, after, &r)
		noErr(t, err)
		if len(r.texts) > choice.Limit || end != nil && len(r.texts) < choice.Limit {
			t.Fatalf("%s: %d rows, want %d", l.Name, len(r.texts), choice.Limit)
		}
		if all = append(all, r.texts...); end == nil {
			return all
		}
		if slices.Equal(end, after) {
			t.Fatalf("%s by %q: nothing is behind %s but itself", l.Name, choice.Sort, end.Text())
		}
		after, err = report.ParsePlace(end.Text())
		noErr(t, err)
		between()
	}
}

// TestParts: parts of each list, in each order, are the whole list, each row once; an order puts what is not known last.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, k := range []*report.Reader{mixed(t).Reader, town(t).Reader} {
		for _, l := range report.Lists {
			unique := strings.Split(l.Unique, ", ")
			var whole rows
			noErr(t, k.List(t.Context(), l, report.Choice{Columns: unique}, &whole))
			slices.Sort(whole.texts)
			sorts := []string{"", report.ByKey}
			for _, column := range strings.Fields(l.Show) {
				sorts = append(sorts, column, "-"+column)
			}
			for _, sort := range sorts {
				choice := report.Choice{Sort: sort, Columns: unique, Limit: 3}
				if column := strings.TrimPrefix(sort, "-"); sort != "" && sort != report.ByKey {
					choice.Columns = append(slices.Clone(unique), column)
				}
				all := partly(t, k, l, choice, func() {})
				var values []string
				for i, text := range all {
					cells := strings.Split(text, "|")
					if len(choice.Columns) > len(unique) && !l.Lives {
						values = append(values, cells[len(unique)])
					}
					all[i] = strings.Join(cells[:len(unique)], "|")
				}
				if n := slices.Index(values, "<nil>"); n >= 0 && strings.Trim(strings.Join(values[n:], ""), "<nil>") != "" {
					t.Errorf("%s by %s: NULL is not last: %v", l.Name, sort, values)
				}
				if slices.Sort(all); !slices.Equal(all, whole.texts) {
					t.Errorf("%s by %q:\n%v, want\n%v", l.Name, sort, all, whole.texts)
				}
			}
		}
	}
}

// TestPartsStay: what comes and goes while a list is read moves no other row to another part.
func TestPartsStay(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	n := 0
	all := partly(t, b.Reader, report.Find("targets list"), report.Choice{Sort: report.ByKey, Columns: []string{"id"}, Limit: 5}, func() {
		n++
		execute(t, b.DB(), fmt.Sprintf(`UPDATE targets SET retired_at = 'x', status = iif(status = 'PLANNED', 'DONE', status), finished_at = 'x' WHERE id = %d`, 4*n))
	})
	var want []string
	for id := 1; id <= 32; id++ {
		want = append(want, fmt.Sprint(id))
	}
	if !slices.Equal(all, want) {
		t.Errorf("%v", all)
	}
}

// TestQueueStages: the queue begins with what is in progress, then what is in trouble, what is ready by priority, and what falls due.
func TestQueueStages(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	b.claim(t, 0)
	execute(t, b.DB(), `UPDATE targets SET priority = 7 WHERE id = 20`, `UPDATE targets SET priority = 0 WHERE id = 30`)
	all := partly(t, b.Reader, report.Find("targets list"), report.Choice{Columns: strings.Fields("status schedule id"), Limit: 4}, func() {})
	const want = "IN_PROGRESS|DUE|13 FAILED|DEGRADED|3 PARKED|FAILED|4 PARKED|FAILED|5 STUCK|NEEDS_PLAN|6 PLANNED|DUE|30 PLANNED|DUE|14 "
	text := strings.Join(all, " ")
	if !strings.HasPrefix(text, want) || !strings.Contains(text, "PLANNED|DUE|20 DONE|SCHEDULED|") || strings.LastIndex(text, "DUE") > strings.Index(text, "PAUSED") {
		t.Errorf("%s", text)
	}
}

// TestQueueStagesNarrowed: source, kind and states narrow each stage of the queue, those of the scope as well.
func TestQueueStagesNarrowed(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	b.claim(t, 0)
	l := report.Find("targets list")
	for _, choice := range []report.Choice{
		{Values: map[string]any{"states": []string{"TX"}}},
		{Values: map[string]any{"states": []string{"TX", "CA"}, "kind": []string{"search"}, "source": "demo"}},
		{Values: map[string]any{"kind": []string{"detail"}}},
		{Scope: store.Scope{SourceID: 1, States: []string{"CA"}}},
		{Values: map[string]any{"states": []string{"TX"}}, Scope: store.Scope{SourceID: 1, States: []string{"TX"}}},
	} {
		choice.Columns = []string{"id"}
		want := strings.Fields(listed(t, b.Reader, l.Name, choice))
		choice.Limit = 3
		got := partly(t, b.Reader, l, choice, func() {})
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", choice, got, want)
		}
	}
}

// TestSortByColumn: what is no column of a list is not sorted by, whatever it says.
func TestSortByColumn(t *testing.T) {
	t.Parallel()
	k := town(t).Reader
	for _, sort := range []string{"nme", "-", "--name", "(SELECT 1)", "name DESC --", "key DESC", "-key", "name, id"} {
		var r rows
		_, err := k.Part(t.Context(), report.Find("listings list"), report.Choice{Sort: sort, Columns: []string{"id"}, Limit: 3}, nil, &r)
		if unknown, ok := errors.AsType[*report.NotFoundError](err); !ok || !strings.Contains(unknown.What, "--sort: no column") || len(r.texts) > 0 {
			t.Errorf("%q: %v, %v", sort, err, r.texts)
		}
	}
}

// TestPlaces: an address may say anything.
func TestPlaces(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	l := report.Find("targets list")
	for _, text := range []string{``, `x`, `[]`, `[1]`, `[0,{}]`, `[0,[1]]`, `[0,true]`, `[0,1] [2]`, `[0,1e999]`, `{"a":1}`, `[9,1]`, `[-1,1]`, `["a",1]`, `[0,1,2]`, `[1.5,2]`, `[null,1]`} {
		at, err := report.ParsePlace(text)
		if err == nil {
			_, err = b.Part(t.Context(), l, report.Choice{Columns: []string{"id"}, Limit: 1}, at, &rows{})
		}
		if !errors.Is(err, report.ErrNoPlace) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`[0,1]`, `[2,"a",null]`, `[5,-9223372036854775808]`, `[0,"'; DROP TABLE targets"]`} {
		at, err := report.ParsePlace(text)
		noErr(t, err)
		if _, err := b.Part(t.Context(), l, report.Choice{Columns: []string{"id"}, Limit: 1}, at, &rows{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
