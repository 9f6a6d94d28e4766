package health

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

var phone, rating, prices = field("phone"), field("rating"), field("price_range")

func field(name string) int {
	return slices.IndexFunc(fields, func(f *yp.ListingField) bool { return f.Name == name })
}

// page is how many of a page's listings have some fields.
func page(have map[int]int) (h having) {
	for f, n := range have {
		h[f] = n
	}
	return h
}

// taught is a window that knows what is usual of phones in category 1, and that other
// fields are not.
func taught(phones share) *window {
	w := newWindow()
	for f := range fields {
		w.category(1)[f] = share{1000, 0, 0, 0}
	}
	w.category(1)[phone] = phones
	return w
}

// alarmAt feeds pages of 30 listings, so many of a target and one after another, and
// returns the number of the one with an alarm; 0 = none.
func alarmAt(w *window, pages, ofTarget int, h having) int {
	for i := range pages {
		if len(w.add(int64(1000+i/ofTarget), 1, 30, h)) > 0 {
			return i + 1
		}
	}
	return 0
}

func TestLayoutThresholds(t *testing.T) {
	t.Parallel()
	sure := share{1000, 1000, 400, 0}
	for _, c := range []struct {
		name     string
		usual    share
		ofTarget int // pages
		phones   int // on each
		want     int // the page with the alarm, of 200
	}{
		{"5 targets", sure, 1, 0, 5},
		{"5 targets of 3 pages", sure, 3, 0, 13},
		{"one target", sure, 200, 0, 0},
		{"4 targets", sure, 50, 0, 0},
		{"a quarter left, less one listing: 6 of 30, usually 28", share{3000, 2800, 400, 0}, 1, 6, 5},
		{"7 of 30, usually 28", share{3000, 2800, 400, 0}, 1, 7, 0},
		{"5 of 30 should have it", share{600, 100, 400, 0}, 1, 0, 5},
		{"4.95 of 30 should have it", share{600, 99, 400, 0}, 1, 0, 0},
		{"60 listings seen", share{60, 60, 400, 0}, 1, 0, 5},
		{"59 listings seen: the first page is learned", share{59, 59, 400, 0}, 1, 0, 6},
		{"161 targets seen", share{1000, 1000, 161, 0}, 1, 0, 5},
		{"16 of 161 are bare", share{1000, 1000, 161, 16}, 1, 0, 11},
		{"160 targets seen", share{1000, 1000, 160, 0}, 1, 0, 6},
		{"20 targets seen", share{1000, 1000, 20, 0}, 1, 0, 14},
		{"6 targets seen", share{1000, 1000, 6, 0}, 1, 0, 62},
		{"5 targets seen", share{1000, 1000, 5, 0}, 1, 0, 0},
		{"1 % of targets are bare", share{1000, 1000, 400, 4}, 1, 0, 6},
		{"7 % of targets are bare", share{1000, 1000, 400, 28}, 1, 0, 9},
		{"half of the targets are bare", share{1000, 1000, 400, 200}, 1, 0, 32},
		{"three of four targets are bare", share{1000, 1000, 400, 300}, 1, 0, 0},
		{"the category never has it", share{1000, 0, 400, 0}, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := alarmAt(taught(c.usual), 200, c.ofTarget, page(map[int]int{phone: c.phones})); got != c.want {
				t.Errorf("alarm at page %d, want %d", got, c.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expected float64
		have     int
		want     verdict
	}{
		{5, 0, bare},
		{4.99, 0, unproven},
		{0, 4, unproven},
		{0, 5, alive},
		{4.99, 5, alive},
		{7.99, 1, alive},
		{8, 1, bare},
		{28, 6, bare},
		{28, 7, alive},
		{27.9, 6, alive},
	} {
		if got := judge(c.expected, c.have); got != c.want {
			t.Errorf("%d where %g are usual: %d, want %d", c.have, c.expected, got, c.want)
		}
	}
}

func TestLayoutRun(t *testing.T) {
	t.Parallel()
	sure := share{1000, 1000, 400, 0}
	all, none := page(map[int]int{phone: 30}), having{}
	t.Run("a page that has the field ends it", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		for range 20 {
			if got := alarmAt(w, 4, 1, none); got > 0 {
				t.Fatalf("an alarm at page %d", got)
			}
			w.add(7, 1, 30, all)
		}
	})
	t.Run("one of a category that is not known yet as well", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		for i := range 20 {
			if got := alarmAt(w, 4, 1, none); got > 0 {
				t.Fatalf("an alarm at page %d", got)
			}
			w.add(7, int64(2+i), 30, all)
		}
	})
	t.Run("workers on deep targets find it with a page each", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		for i := range 100 {
			w.add(int64(i%5), 1, 30, all)
		}
		for i := range 5 {
			if got := w.add(int64(i), 1, 30, none); (len(got) > 0) != (i == 4) {
				t.Errorf("page %d: %v", i+1, got)
			}
		}
	})
	t.Run("pages that prove nothing are not counted", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		w.category(2)[phone] = share{1000, 0, 400, 0}
		for i := range 5 {
			for j := range 50 {
				if got := w.add(int64(100*i+j), 2, 30, none); len(got) > 0 {
					t.Fatalf("an alarm: %v", got)
				}
			}
			if got := w.add(int64(10_000+i), 1, 30, none); (len(got) > 0) != (i == 4) {
				t.Errorf("page %d: %v", i+1, got)
			}
		}
	})
	t.Run("what few targets are known to have, and all lack now, never alarms and is learned", func(t *testing.T) {
		t.Parallel()
		w := taught(share{1000, 1000, 0, 0})
		if got := alarmAt(w, 1000, 1, none); got > 0 {
			t.Errorf("alarm at page %d", got)
		}
		if got := w.category(1)[phone]; got.usual() > 0.2 {
			t.Errorf("still usual: %+v", got)
		}
	})
}

func TestLayoutByCategory(t *testing.T) {
	t.Parallel()
	w, target := newWindow(), int64(0)
	add := func(category int64, h having) []fall {
		target++
		return w.add(target, category, 30, h)
	}
	plumbers := page(map[int]int{phone: 30})
	restaurants := page(map[int]int{phone: 30, prices: 25, rating: 20})
	for range 600 {
		for category, h := range map[int64]having{1: plumbers, 2: restaurants} {
			if got := add(category, h); len(got) > 0 {
				t.Fatalf("an alarm while all is as ever: %v", got)
			}
		}
	}
	t.Run("pages of a category without the field are none of its business", func(t *testing.T) {
		for range 50 {
			if got := add(1, plumbers); len(got) > 0 {
				t.Fatalf("an alarm: %v", got)
			}
		}
	})
	t.Run("the alarm names all that fell, though one of them later", func(t *testing.T) {
		for i := range 5 {
			have := page(map[int]int{phone: 30})
			if i < 2 {
				have[rating] = 20
			}
			got := add(2, have)
			if i < 4 && len(got) > 0 {
				t.Fatalf("an alarm after %d pages: %v", i+1, got)
			}
			add(1, plumbers)
			want := "fields are missing: rating (0 of 90 listings on the last 3 pages, usually 60), price_range (0 of 150 listings on the last 5 pages, usually 125)"
			if i == 4 && reason(got) != want {
				t.Errorf("%q, want %q", reason(got), want)
			}
		}
	})
	t.Run("what fell is forgotten, and only that", func(t *testing.T) {
		for range 50 {
			if got := add(2, plumbers); len(got) > 0 {
				t.Fatalf("the same alarm again: %v", got)
			}
		}
		for i := 1; i <= 5; i++ {
			if got := add(2, having{}); (len(got) > 0) != (i == 5) {
				t.Fatalf("phones gone from %d pages: %v", i, got)
			}
		}
	})
	t.Run("five categories of which 62 targets are known tell as much as one of 161", func(t *testing.T) {
		for known, want := range map[float64]bool{62: true, 61: false} {
			w, alarm := newWindow(), false
			for i := range int64(5) {
				w.category(i)[phone] = share{1000, 1000, known, 0}
				alarm = len(w.add(i, i, 30, having{})) > 0
			}
			if alarm != want {
				t.Errorf("%g targets known of each: alarm %v, want %v", known, alarm, want)
			}
		}
	})
	t.Run("one unlikely category among the targets does not speak for the others", func(t *testing.T) {
		w := taught(share{1000, 1000, 400, 0})
		w.category(2)[phone] = share{1000, 1000, 400, 399}
		for i := range int64(60) {
			if got := w.add(i, 1+min(i, 1), 30, having{}); len(got) > 0 {
				t.Fatalf("target %d: %v", i, got)
			}
		}
	})
}

func TestLayoutLearning(t *testing.T) {
	t.Parallel()
	sure, none := share{600, 600, 400, 0}, having{}
	t.Run("pages of an alarm are not learned, of new categories neither", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		w.category(1)[rating] = share{600, 300, 400, 0}
		for i := range int64(5) {
			w.add(i, 1, 30, page(map[int]int{rating: 15}))
			w.add(100+i, 3, 30, page(map[int]int{rating: 15}))
			if got := *w.category(3); i < 4 && got[phone] != (share{}) {
				t.Fatalf("learned %+v of a new category while phones are missing", got[phone])
			}
		}
		if got := w.category(1)[phone]; got != (share{}) {
			t.Errorf("phones are not forgotten: %+v", got)
		}
		if got := w.category(1)[rating]; got.having != 375 {
			t.Errorf("ratings, which nobody missed: %+v", got)
		}
	})
	t.Run("those of a run that ends by itself neither, but its targets are", func(t *testing.T) {
		t.Parallel()
		w := taught(sure)
		for i := range int64(4) {
			w.add(i, 1, 30, none)
			w.add(100+i, 3, 30, none)
		}
		w.add(5, 1, 30, page(map[int]int{phone: 30}))
		if got, want := w.category(1)[phone], (share{630, 630, 405, 4}); got != want {
			t.Errorf("learned %+v, want %+v", got, want)
		}
		if got := w.category(3)[phone]; got != (share{}) {
			t.Errorf("learned %+v of another category", got)
		}
	})
	t.Run("a target counts once among 64 others, and is bare when one page of it was", func(t *testing.T) {
		t.Parallel()
		w := taught(share{600, 600, 100, 0})
		all := page(map[int]int{phone: 30})
		for _, h := range []having{all, none, all, none, all} {
			w.add(0, 1, 30, h)
		}
		for i := range int64(63) {
			w.add(1+i, 1, 30, all)
		}
		w.add(0, 1, 30, none)
		if got := w.category(1)[phone]; got.targets != 164 || got.bare != 1 {
			t.Errorf("%+v, want 1 of 164 bare", got)
		}
		for i := range int64(64) {
			w.add(100+i, 1, 30, all)
		}
		w.add(0, 1, 30, none)
		if got := w.category(1)[phone]; got.targets != 229 || got.bare != 2 {
			t.Errorf("%+v, want 2 of 229 bare", got)
		}
	})
	t.Run("what is old fades", func(t *testing.T) {
		t.Parallel()
		w, all, none := newWindow(), page(map[int]int{phone: 30}), having{}
		for i := range int64(10_000) {
			w.add(i, 1, 30, all)
		}
		s := &w.category(1)[phone]
		before := *s
		s.bare = s.targets
		for i := range int64(300) {
			w.add(10_000+i, 1, 30, all)
		}
		if got := s.bare / s.targets; math.Abs(got-0.5) > 2e-3 {
			t.Errorf("after 300 targets %.4f are bare, want half", got)
		}
		for range 34 { // 1,020 listings, of which nothing proves that phones are gone
			w.add(20_000, 1, 30, page(map[int]int{phone: 8}))
		}
		if got, want := s.having/s.listings, (1+8.0/30)/2; math.Abs(got-want) > 0.01 || s.listings != before.listings {
			t.Errorf("after 1,020 listings %.4f are usual, want %.4f", got, want)
		}
		for i := range int64(1000) { // bare ones stay within what the file allows
			w.add(30_000+i, 1, 30, none)
			w.add(40_000, 1, 30, all)
			if s.bare > s.targets {
				t.Fatalf("%g of %g targets are bare", s.bare, s.targets)
			}
		}
	})
}

func TestFields(t *testing.T) {
	t.Parallel()
	full := yp.Listing{
		ID: "1", Name: "n", Phone: "x", Street: "x", City: "x", PostalCode: "x", Website: "x", Categories: []string{"x"}, Rating: 1, ReviewCount: 1,
		PriceRange: "$", Snippet: "x", YearsInBusiness: 1, Hours: []string{"x"}, ProfileURL: "x", ImageURL: "x",
	}
	got := count([]yp.Listing{full, {ID: "2", Name: "n"}, full})
	for f := range fields {
		if got[f] != 2 {
			t.Errorf("%s: %d of 3 listings have it, want 2", fields[f].Name, got[f])
		}
	}
	if field("name") >= 0 {
		t.Error("name is watched")
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
	const want = "fields are missing: phone (0 of 150 listings on the last 5 pages, usually 150)"
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
