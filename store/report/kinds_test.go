package report_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// ofKind claims a target of a kind.
func (b *bundle) ofKind(t *testing.T, kind yp.Kind, states ...string) *checkpoint.Claim {
	t.Helper()
	scope := store.Scope{SourceID: b.scope.SourceID, States: states, Kinds: []yp.Kind{kind}}
	if _, err := b.Wake(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	c, err := b.Claim(t.Context(), checkpoint.Worker{ID: yp.WorkerID(0, 1), RunID: b.run.ID}, scope, 5)
	noErr(t, err)
	return c
}

// found commits the last page of a search of a state, with listings that have their own page.
func (b *bundle) found(t *testing.T, state string, ids ...string) {
	t.Helper()
	p := page(true, ids...)
	for i := range p.Listings {
		p.Listings[i].ProfileURL = "/mip/" + ids[i]
	}
	b.commit(t, b.ofKind(t, yp.KindSearch, state), p)
}

func (b *bundle) want(t *testing.T, states ...string) {
	t.Helper()
	if _, err := b.WantDetails(t.Context(), b.scope.SourceID, states); err != nil {
		t.Fatal(err)
	}
}

// TestDetailTotals: what a run has before it, and nothing that it could not claim.
func TestDetailTotals(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA", "TX")
	b.want(t, "CA", "TX")
	b.found(t, "CA", "a", "b", "c")
	b.found(t, "TX", "x")
	totals := func(due, later, held int64, states ...string) {
		t.Helper()
		got, err := b.DetailTotals(t.Context(), b.scope.SourceID, states)
		if err != nil || got != (report.DetailTotals{Due: due, Later: later, Held: held}) {
			t.Errorf("%+v in %v (%v), want %d due, %d later, %d held", got, states, err, due, later, held)
		}
	}
	totals(4, 0, 0)
	totals(3, 0, 0, "CA")
	a := b.ofKind(t, yp.KindDetail, "CA")
	totals(2, 0, 1, "CA")
	set, err := b.Fail(t.Context(), a, yp.CodeTimeout, "slow")
	noErr(t, err)
	totals(2, 1, 0, "CA") // it waits for some minutes
	b.commit(t, b.ofKind(t, yp.KindDetail, "CA"), yp.Page{Number: 1, Last: true, Raw: 1, Own: true, Listings: []yp.Listing{{ID: "b"}}})
	totals(1, 2, 0, "CA")
	execute(t, b.DB(), `UPDATE listings SET dropped_at = 'x' WHERE listing_id = 'c'`)
	totals(0, 2, 0, "CA")
	clock.Move(set.Wait)
	totals(1, 1, 0, "CA") // due, and not planned again yet
	clock.Move(checkpoint.DetailsEvery)
	totals(2, 0, 0, "CA")
	if got, err := b.DetailTotals(t.Context(), 99, nil); err != nil || got != (report.DetailTotals{}) {
		t.Errorf("of another source: %+v (%v)", got, err)
	}
	stats := report.Choice{Values: map[string]any{"states": []string{"CA"}}, Columns: strings.Fields("source state wanted planned done fetched with_email")}
	if got := listed(t, b.Reader, "details stats", stats); got != "demo|CA|3|2|1|1|0" {
		t.Error(got)
	}
}

// TestEveryKindIsTold: what is told of a target is told of one of any kind, though an index
// has no city, and a listing's own page one of its own name.
func TestEveryKindIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	b.want(t, "CA")
	b.found(t, "CA", "1")
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{}))
	noErr(t, b.PlanIndexes(t.Context(), b.scope.SourceID, []checkpoint.StateIndex{{State: "CA", Pages: 1}}))
	for kind, want := range map[yp.Kind]string{
		yp.KindIndex: "Index of CA", yp.KindSearch: "Dentists in City 0, CA", yp.KindDetail: "N1 in City 0, CA",
	} {
		c := b.ofKind(t, kind, "CA")
		p, err := b.Progress(t.Context(), store.Scope{})
		noErr(t, err)
		same(t, "in hand", valuesOf(p.Workers, "target_id", "target"), []string{fmt.Sprintf("%d|%s", c.TargetID, want)})
		same(t, "searches alone", part(readStatus(t, b, store.Scope{}), "targets", "targets"), []string{"2"})
		noErr(t, b.Park(t.Context(), c, yp.CodeNoListings, "404"))
		if got := listed(t, b.Reader, "targets list", report.Choice{Values: map[string]any{"kind": []string{string(kind)}, "status": []string{"PARKED"}}, Columns: []string{"id", "target"}}); got != fmt.Sprintf("%d|%s", c.TargetID, want) {
			t.Errorf("%s: listed as %q, want %q", kind, got, want)
		}
		r, err := b.Target(t.Context(), c.TargetID, 0)
		if err != nil || len(r.Part("attempts").Rows) != 1 || r.Get("next").(report.Next).Remedy != fmt.Sprintf("reset %d", c.TargetID) {
			t.Fatalf("%s: %+v, %v", kind, r, err)
		}
		if named := r.Get("slug") != nil; named != (kind == yp.KindSearch) {
			t.Errorf("%s: commands take it as %v", kind, r.Get("slug"))
		}
	}
	execute(t, b.DB(), `UPDATE listings SET dropped_at = '`+ago(time.Hour)+`'`)
	id, err := strconv.ParseInt(listed(t, b.Reader, "targets list", report.Choice{Values: map[string]any{"kind": []string{"detail"}}, Columns: []string{"id"}}), 10, 64)
	noErr(t, err)
	if n, err := b.Next(t.Context(), id); err != nil || !strings.Contains(n.Why, "its listing is closed") {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestWaitingIsCounted: a target whose first attempt failed waits for its next try, until that has begun.
func TestWaitingIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	waiting := func(want int64) {
		t.Helper()
		n, err := b.Waiting(t.Context(), b.scope)
		noErr(t, err)
		storetest.Equal(t, n, want, "targets that wait")
	}
	waiting(0)
	_, err := b.Fail(t.Context(), b.claim(t, 0), yp.CodeTimeout, "slow")
	noErr(t, err)
	waiting(1)
	execute(t, b.DB(), `UPDATE targets SET not_before = NULL, wait_reason = NULL`)
	waiting(0)
}
