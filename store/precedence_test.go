package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// What may happen to a listing: a card with all fields, one without most of them, a page of its target that does not show it, its own
// page, and that page when it says otherwise.
const (
	richCard = iota
	poorCard
	notShown
	ownPage
	otherOwn
	happenings
)

var happening = [...]string{"rich card", "poor card", "not shown", "own page", "other own page"}

// exported are columns of v_listings with what a rich card, an own page and another one say in them; "" = nothing, # stands for the
// number of the listing. Precedence is decided field by field here, as these pages give fields of a group together.
var exported = []struct{ column, card, own, other string }{
	{"phone", "310 551 #", "310 552 #", "310 553 #"},
	{"phone_e164", "+1310551#", "+1310552#", "+1310553#"},
	{"website", "https://card#.com", "https://own#.com", "https://other#.com"},
	{"domain", "card#.com", "own#.com", "other#.com"},
	{"years_in_business", "1#", "2#", "3#"},
	{"hours", `["Mo #"]`, `["Tu #"]`, `["We #"]`},
	{"city", "Springfield", "", ""},
	{"email", "", "own#@x.example", "other#@x.example"},
	{"payment", "", `["cash","#"]`, ""},
	{"lat", "", "10.5", "20.5"},
	{"about", "", "own #", "other #"},
}

// wrong are the columns in which exports do not say what they should, after some order.
var wrong = []string{"domain", "hours", "phone", "phone_e164", "website", "years_in_business"}

// precedence is what is known of a column of a listing.
type precedence struct {
	listing, details string // as it is kept: a card wins for ever, and an own page fills what no card had given then
	right            string // as it should be: a card wins while cards go on saying it; what only the own page says is its latest
	byCard           bool   // a card has said it since the own page was read last
}

// exported is what v_listings says; ofCards tells that cards have the field, too.
func (p *precedence) exported(column string, ofCards bool) string {
	if column == "hours" || !ofCards { // the own page wins, whatever cards say
		return cmp.Or(p.details, p.listing)
	}
	return cmp.Or(p.listing, p.details)
}

func (p *precedence) happens(what int, said string) {
	own := what == ownPage || what == otherOwn
	switch {
	case said == "":
	case !own:
		p.listing, p.right, p.byCard = said, said, true
	default:
		p.details, p.listing = said, cmp.Or(p.listing, said)
		if !p.byCard {
			p.right = said
		}
	}
	p.byCard = p.byCard && !own
}

// saidBy is what a happening says in a column of the listing with a number.
func saidBy(column, what, n int) string {
	x := &exported[column]
	said := [...]string{x.card, "", "", x.own, x.other}[what]
	return strings.ReplaceAll(said, "#", strconv.Itoa(10000+n))
}

// orders are all orders of five happenings of which the first is a card: an own page is known from a card. So they have
// all shorter ones, too.
func orders() (all [][]int) {
	all = [][]int{{richCard}, {poorCard}}
	for range 4 {
		var longer [][]int
		for _, o := range all {
			for next := range happenings {
				longer = append(longer, append(slices.Clip(o), next))
			}
		}
		all = longer
	}
	return all
}

// sayOf makes a listing of what a happening says, as JSON has it.
func sayOf[T any](t *testing.T, what, n int) (out T) {
	t.Helper()
	fields := map[string]any{"id": fmt.Sprint("l", n), "name": fmt.Sprint("Firm ", n)}
	for i, x := range exported {
		said := saidBy(i, what, n)
		switch {
		case said == "":
		case said[0] == '[' || x.column == "lat" || x.column == "years_in_business":
			fields[x.column] = json.RawMessage(said)
		default:
			fields[x.column] = said
		}
		if x.column == "website" && said != "" {
			fields["website_url"] = said
		}
		if x.column == "lat" && said != "" {
			fields["lon"] = json.RawMessage(said)
		}
	}
	text, err := json.Marshal(fields)
	noErr(t, err)
	noErr(t, json.Unmarshal(text, &out))
	return out
}

// TestPrecedence: what exports say of each field after every order of cards and own pages.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	w, all := newWorld(t), orders()
	known := make([][]precedence, len(all))
	for i := range known {
		known[i] = make([]precedence, len(exported))
	}
	columns, differs := "", map[string]bool{}
	for _, x := range exported {
		columns += ", " + x.column
	}
	for step := range 5 {
		var cards []yp.Listing
		own := map[int]yp.Detail{}
		for n, o := range all {
			switch o[step] {
			case richCard, poorCard:
				cards = append(cards, sayOf[yp.Listing](t, o[step], n))
			case ownPage, otherOwn:
				own[n] = sayOf[yp.Detail](t, o[step], n)
			}
			for i := range exported {
				known[n][i].happens(o[step], saidBy(i, o[step], n))
			}
		}
		_, err := w.save(1, 1, int64(step+1), cards...)
		noErr(t, err)
		w.read(t, own)
		got := storetest.TableOf(t, w.DB, "|", "", `SELECT listing_id`+columns+` FROM v_listings ORDER BY cast(substr(listing_id, 2) AS INTEGER)`)
		for n, o := range all {
			want := []string{fmt.Sprint("l", n)}
			for i, x := range exported {
				p := &known[n][i]
				want = append(want, p.exported(x.column, x.card != ""))
				differs[x.column] = differs[x.column] || p.exported(x.column, x.card != "") != p.right
			}
			if text := strings.Join(want, "|"); got[n] != text {
				var names []string
				for _, what := range o[:step+1] {
					names = append(names, happening[what])
				}
				t.Fatalf("after %s\n%s\nwant\n%s", strings.Join(names, ", "), got[n], text)
			}
		}
		w.sound(t)
	}
	for column, is := range differs {
		if is != slices.Contains(wrong, column) {
			t.Errorf("%s is wrong: %t", column, is)
		}
	}
}

// read saves what own pages of listings of source 1 say, by the numbers of the listings.
func (w *world) read(t *testing.T, own map[int]yp.Detail) {
	t.Helper()
	of := map[string]int64{}
	for _, r := range rows(t, w.DB, `SELECT listing_id, id FROM listings`) {
		id, row, _ := strings.Cut(r, "|")
		of[id], _ = strconv.ParseInt(row, 10, 64)
	}
	noErr(t, w.Write(context.Background(), func(tx *store.Tx) error {
		for _, d := range own {
			if _, err := store.SaveDetail(tx, store.PageOf{SourceID: 1}, of[d.ID], &d); err != nil {
				return err
			}
		}
		return nil
	}))
}
