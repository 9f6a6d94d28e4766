package health

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

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

// learnedOf asks for what is stored of fields of category 1.
func learnedOf(fields ...string) string {
	return `SELECT field, round(listings), round(having_it), targets, bare FROM field_shares
		WHERE category_id = 1 AND field IN ('` + strings.Join(fields, "', '") + `') ORDER BY field`
}

func TestLayoutAlarm(t *testing.T) {
	t.Parallel()
	w := setup(t)
	l := w.layout(t)
	feed(t, l, 200, true)
	ok(t, l.Flush(t.Context()))
	wantRows(t, w.db, learnedOf("phone", "rating", "street"), "phone|1443|1443|198|0", "rating|1443|0|0|0", "street|1443|1443|198|0")
	l = w.layout(t) // what is usual outlives the process
	at, alarm := feed(t, l, 10, false)
	const want = "went missing: phone (0 of 150 listings on the last 5 pages, usually 150)"
	if at != 5 || alarm != want {
		t.Errorf("%q after %d pages, want %q after 5", alarm, at, want)
	}
	wantRows(t, w.db, pauseOfDemo, "1||HTML_CHANGED|"+want)
	wantRows(t, w.db, `SELECT count(*), sum(field = 'phone') FROM field_shares`, "13|0")

	t.Run("nothing is stored while the source waits for an operator", func(t *testing.T) {
		feed(t, l, 20, true)
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT count(*), sum(field = 'phone') FROM field_shares`, "13|0")
	})
	t.Run("an operator who enables the source accepts its pages", func(t *testing.T) {
		_, err := w.SetEnabled(t.Context(), "demo", true)
		ok(t, err)
		l := w.layout(t)
		if at, alarm := feed(t, l, 100, false); at != 0 {
			t.Errorf("%q after %d pages", alarm, at)
		}
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT count(*), sum(field = 'phone' AND having_it = 0) FROM field_shares`, "14|1")
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
		const want = "the layout was not known on 3 pages running: no listings and no word of it"
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
		_, err := w.SetEnabled(t.Context(), "demo", true)
		ok(t, err)
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
		if rows, _ := l.learned(); len(rows) != 0 {
			t.Errorf("%d shares are to be stored again", len(rows))
		}
		wantRows(t, w.db, `SELECT count(*), min(listings), max(listings) FROM field_shares`, fmt.Sprintf("%d|30|30", 3*len(fields)))
	})
	inWorld(t, "what can't be stored is stored later", func(t *testing.T, w *world) {
		l := w.layout(t)
		feed(t, l, 2, true)
		if err := errors.Join(w.db.Close(), l.Flush(t.Context())); err == nil {
			t.Fatal("stored in a closed database")
		}
		l.m = w.open(t)
		ok(t, l.Flush(t.Context()))
		wantRows(t, l.m.db, `SELECT count(*) FROM field_shares`, fmt.Sprint(len(fields)))
	})
	inWorld(t, "shares that fade stay possible", func(t *testing.T, w *world) {
		l := w.layout(t)
		feed(t, l, 1000, true)
		l.window.category(1)[phone].bare = l.window.category(1)[phone].targets
		ok(t, l.Flush(t.Context()))
		wantRows(t, w.db, `SELECT round(targets), bare <= targets FROM field_shares WHERE field = 'phone'`, "433|1")
	})
	inWorld(t, "targets under way count as they stand", func(t *testing.T, w *world) {
		for _, want := range []string{"phone|600|600|18|0", "phone|1200|1200|38|0"} {
			l := w.layout(t)
			feed(t, l, 20, true)
			for range 2 { // the second time too
				ok(t, l.Flush(t.Context()))
				wantRows(t, w.db, learnedOf("phone"), want)
			}
		}
	})
	inWorld(t, "of a run under way its targets are stored, its listings not", func(t *testing.T, w *world) {
		l := w.layout(t)
		feed(t, l, 42, true)
		for i, want := range []string{"phone|1260|1260|41|1", "phone|1260|1260|42|2", "phone|1260|1260|43|3"} {
			_, err := l.Page(t.Context(), int64(100+i), 1, pageOf(30, false))
			ok(t, err)
			ok(t, l.Flush(t.Context()))
			wantRows(t, w.db, learnedOf("phone"), want)
		}
	})
	inWorld(t, "a field of an older version is passed over", func(t *testing.T, w *world) {
		must(t, w.db, `INSERT INTO field_shares VALUES (1, 1, 'fax', 1000, 1000, 400, 0), (1, 1, 'phone', 1000, 1000, 400, 0)`)
		if at, alarm := feed(t, w.layout(t), 5, false); at != 5 || strings.Contains(alarm, "fax") {
			t.Errorf("%q after %d pages", alarm, at)
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
	db, err := store.Open(t.Context(), store.Config{Path: w.path, MustExist: true, BeforeCommit: func() { writes++ }})
	ok(t, err)
	defer db.Close()
	l, err := New(db).Layout(t.Context(), demo)
	ok(t, err)
	feed(t, l, 200, true)
	if writes != 0 {
		t.Errorf("%d writes for 200 pages", writes)
	}
	_, err = l.Unknown(t.Context(), "no list")
	ok(t, err)
	feed(t, l, 200, true)
	if writes != 2 {
		t.Errorf("%d writes for a strike and 200 good pages, want 2", writes)
	}
}
