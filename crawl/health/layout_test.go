package health

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// phone is its place among the watched fields.
var phone = slices.IndexFunc(fields, func(f yp.ListingField) bool { return f.Name == "phone" })

func newLayout() *Layout {
	return &Layout{usual: map[int64][]share{}, changed: map[int64]bool{}, missing: make([][]int64, len(fields))}
}

// TestLayoutThresholds: the page of 20, each of a target of its own unless said otherwise, that
// raises the alarm when phones are gone.
func TestLayoutThresholds(t *testing.T) {
	for _, c := range []struct {
		name     string
		usual    share
		listings int // on each page
		ofTarget int // pages
		phones   func(page int) bool
		want     int
	}{
		{"3 targets", share{1000, 1000}, 30, 1, nil, 3},
		{"3 targets of 4 pages", share{1000, 1000}, 30, 4, nil, 9},
		{"one target", share{1000, 1000}, 30, 20, nil, 0},
		{"90 % had it", share{1000, 900}, 30, 1, nil, 3},
		{"89.9 % had it", share{1000, 899}, 30, 1, nil, 0},
		{"50 listings seen", share{50, 50}, 30, 1, nil, 3},
		{"49 listings seen: the first page is learned", share{49, 49}, 30, 1, nil, 0},
		{"5 listings on a page", share{1000, 1000}, 5, 1, nil, 3},
		{"4 listings on a page prove nothing", share{1000, 1000}, 4, 1, nil, 0},
		{"every third page has phones", share{1000, 1000}, 30, 1, func(p int) bool { return p%3 == 2 }, 0},
		{"every fourth page has phones", share{1000, 1000}, 30, 1, func(p int) bool { return p%4 == 0 }, 4},
	} {
		l, at := newLayout(), 0
		l.category(1)[phone] = c.usual
		for i := 0; i < 20 && at == 0; i++ {
			if len(l.add(int64(i/c.ofTarget), 1, pageOf(c.listings, c.phones != nil && c.phones(i)))) > 0 {
				at = i + 1
			}
		}
		storetest.Equal(t, at, c.want, "alarm at page", c.name)
	}
}

// TestLayoutByCategory: what a category never has is not missed there, and such pages between
// others neither count nor end a row.
func TestLayoutByCategory(t *testing.T) {
	l := newLayout()
	l.category(1)[phone], l.category(2)[phone] = share{1000, 1000}, share{1000, 0}
	for i := range int64(10) {
		if gone := l.add(i, 2, pageOf(30, false)); len(gone) > 0 {
			t.Fatalf("an alarm: %v", gone)
		}
	}
	for i := range int64(3) {
		if gone := l.add(10+i, 1, pageOf(30, false)); (len(gone) > 0) != (i == 2) {
			t.Errorf("page %d: %v", i+1, gone)
		}
		l.add(20+i, 2, pageOf(30, false))
	}
	for i := range int64(50) { // it is forgotten: the same alarm does not come again
		if gone := l.add(100+i, 1, pageOf(30, false)); len(gone) > 0 {
			t.Fatalf("the same alarm again: %v", gone)
		}
	}
}

// pageOf is a page of n listings with phones.
func pageOf(n int, phones bool) []yp.Listing {
	ls := make([]yp.Listing, n)
	for i := range ls {
		ls[i] = yp.Listing{ID: fmt.Sprint(i), Name: "n", Street: "s"}
		if phones {
			ls[i].Phone = "555"
		}
	}
	return ls
}

func (w *world) layout(t *testing.T) *Layout {
	t.Helper()
	l, err := w.Layout(t.Context(), demo)
	ok(t, err)
	return l
}

// feed gives pages, each of a target of its own, to a layout and returns the number of
// the one that raised the alarm, 0 = none did.
func feed(t *testing.T, l *Layout, pages int, phones bool) (at int, alarm string) {
	t.Helper()
	for i := range pages {
		alarm, err := l.Page(t.Context(), int64(i+1), 1, pageOf(30, phones))
		ok(t, err)
		if alarm != "" {
			return i + 1, alarm
		}
	}
	return 0, ""
}

// sharesOf is what is stored of phones and streets.
const sharesOf = `SELECT field, listings, having_it FROM field_shares WHERE category_id = 1 AND field IN ('phone', 'street') ORDER BY field`

func TestLayoutAlarm(t *testing.T) {
	t.Parallel()
	w := setup(t)
	l := w.layout(t)
	feed(t, l, 10, true)
	ok(t, l.Flush(t.Context()))
	wantRows(t, w.db, sharesOf, "phone|300|300", "street|300|300")
	l = w.layout(t) // what is usual outlives the process
	at, alarm := feed(t, l, 10, false)
	const want = "fields are missing: phone (on the last pages of 3 targets; at least 90% of the listings had them before)"
	if at != 3 || alarm != want {
		t.Errorf("%q after %d pages, want %q after 3", alarm, at, want)
	}
	wantRows(t, w.db, pauseOfDemo, "1||HTML_CHANGED|"+want)
	wantRows(t, w.db, sharesOf, "street|300|300")
	t.Run("nothing is stored while the source waits for an operator", func(t *testing.T) {
		feed(t, l, 20, true)
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, sharesOf, "street|300|300")
	})
	t.Run("an operator who enables the source accepts its pages", func(t *testing.T) {
		w.enable(t)
		l := w.layout(t)
		if at, alarm := feed(t, l, 100, false); at != 0 {
			t.Errorf("%q after %d pages", alarm, at)
		}
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT having_it FROM field_shares WHERE field = 'phone'`, "0")
	})
}

func TestStrikes(t *testing.T) {
	t.Parallel()
	strike := func(t *testing.T, l *Layout, want bool) string {
		t.Helper()
		alarm, err := l.Unknown(t.Context(), "no listings and no word of it")
		if err != nil || (alarm != "") != want {
			t.Errorf("%q, %v, want an alarm: %v", alarm, err, want)
		}
		return alarm
	}
	inWorld(t, "three pages running", func(t *testing.T, w *world) {
		l := w.layout(t)
		strike(t, l, false)
		strike(t, l, false)
		wantRows(t, w.db, `SELECT layout_strikes, auto_disabled FROM sources`, "2|0", "0|0")
		alarm := strike(t, l, true)
		const want = "the layout of 3 pages in a row was not recognized: no listings and no word of it"
		if alarm != want {
			t.Errorf("%q, want %q", alarm, want)
		}
		wantRows(t, w.db, pauseOfDemo, "1||HTML_CHANGED|"+want)
		strike(t, l, true)
		wantRows(t, w.db, pauseOfDemo, "1||HTML_CHANGED|"+want)
	})
	inWorld(t, "a restart goes on counting", func(t *testing.T, w *world) {
		strike(t, w.layout(t), false)
		strike(t, w.layout(t), false)
		strike(t, w.layout(t), true)
	})
	inWorld(t, "any good page clears them, an empty one too", func(t *testing.T, w *world) {
		l := w.layout(t)
		for range 5 {
			strike(t, l, false)
			strike(t, l, false)
			l = w.layout(t)
			_, err := l.Page(t.Context(), 1, 1, nil)
			ok(t, err)
			wantRows(t, w.db, `SELECT layout_strikes FROM sources`, "0", "0")
		}
	})
	inWorld(t, "an operator clears them", func(t *testing.T, w *world) {
		l := w.layout(t)
		strike(t, l, false)
		strike(t, l, false)
		w.enable(t)
		strike(t, l, false)
	})
}

func TestFlush(t *testing.T) {
	t.Parallel()
	inWorld(t, "only what was learned", func(t *testing.T, w *world) {
		l := w.layout(t)
		ok(t, l.Flush(t.Context()))
		for category := range int64(3) {
			_, err := l.Page(t.Context(), category+1, category+1, pageOf(30, true))
			ok(t, err)
		}
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT count(*), min(listings), max(listings) FROM field_shares`, fmt.Sprintf("%d|30|30", 3*len(fields)))
	})
	inWorld(t, "what can't be stored is stored with the next page", func(t *testing.T, w *world) {
		l := w.layout(t)
		feed(t, l, 2, true)
		if err := errors.Join(w.db.Close(), l.Flush(t.Context())); err == nil {
			t.Fatal("stored in a closed database")
		}
		l.m = w.open(t)
		feed(t, l, 1, true)
		ok(t, l.Flush(t.Context()))
		wantRows(t, l.m.db, `SELECT count(*) FROM field_shares`, fmt.Sprint(len(fields)))
	})
	inWorld(t, "what is old counts less", func(t *testing.T, w *world) {
		l := w.layout(t)
		feed(t, l, 1000, true)
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT listings <= 1030, having_it = listings FROM field_shares WHERE field = 'phone'`, "1|1")
	})
	inWorld(t, "a field of an older version is passed over", func(t *testing.T, w *world) {
		must(t, w.db, `INSERT INTO field_shares VALUES (1, 1, 'fax', 1000, 1000), (1, 1, 'phone', 1000, 1000)`)
		if at, _ := feed(t, w.layout(t), 5, false); at != 3 {
			t.Errorf("an alarm after %d pages, want 3", at)
		}
	})
	inWorld(t, "a source that does not exist", func(t *testing.T, w *world) {
		if _, err := w.Layout(t.Context(), 99); err == nil {
			t.Error("no error")
		}
	})
}

// TestLayoutWrites: pages that are as ever write nothing, and strikes are cleared once.
func TestLayoutWrites(t *testing.T) {
	t.Parallel()
	w := setup(t)
	writes := 0
	db := storetest.OpenConfig(t, store.Config{Path: w.path, MustExist: true, BeforeCommit: func() { writes++ }})
	l, err := New(db).Layout(t.Context(), demo)
	ok(t, err)
	feed(t, l, 200, true)
	storetest.Equal(t, writes, 0, "writes for 200 pages")
	_, err = l.Unknown(t.Context(), "no list")
	ok(t, err)
	feed(t, l, 200, true)
	storetest.Equal(t, writes, 2, "writes for a strike and 200 good pages")
}
