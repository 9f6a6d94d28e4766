package store_test

import (
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
// number of the listing. Each page gives the fields of a group together.
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

// precedence is what is known of a column of a listing: a card wins while cards go on saying it; what only the own page says is its
// latest.
type precedence struct {
	value  string
	byCard bool // a card has said it since the own page was read last
}

func (p *precedence) happens(what int, said string) {
	own := what == ownPage || what == otherOwn
	if said != "" && !(own && p.byCard) {
		p.value = said
	}
	p.byCard = !own && (said != "" || p.byCard)
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
	columns := ""
	for _, x := range exported {
		columns += ", " + x.column
	}
	for step := range 5 {
		var cards []yp.Listing
		own := map[int]yp.Listing{}
		for n, o := range all {
			switch o[step] {
			case richCard, poorCard:
				cards = append(cards, sayOf[yp.Listing](t, o[step], n))
			case ownPage, otherOwn:
				own[n] = sayOf[yp.Listing](t, o[step], n)
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
			for i := range exported {
				want = append(want, known[n][i].value)
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
}

// read saves what own pages of listings of source 1 say, by the numbers of the listings.
func (w *world) read(t *testing.T, own map[int]yp.Listing) {
	t.Helper()
	of := map[string]int64{}
	for _, r := range rows(t, w.DB, `SELECT listing_id, id FROM listings`) {
		id, row, _ := strings.Cut(r, "|")
		of[id], _ = strconv.ParseInt(row, 10, 64)
	}
	noErr(t, w.Write(context.Background(), func(tx *store.Tx) error {
		for _, d := range own {
			if _, err := store.SaveOwnPage(tx, store.PageOf{SourceID: 1}, of[d.ID], &d); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestGroupsWhole: what belongs together is of one page, whatever that page leaves out of it.
func TestGroupsWhole(t *testing.T) {
	t.Parallel()
	acme := func(l yp.Listing) yp.Listing {
		l.ID, l.Name = "a", "Acme"
		return l
	}
	const group = `SELECT phone, phone_e164, website_url, website, domain, street, city, state, postal_code, service_area, address, lat, lon FROM listings`
	whole := acme(yp.Listing{
		Phone: "310 555 0100", PhoneE164: "+13105550100", WebsiteURL: "http://acme.com", Website: "https://acme.com", Domain: "acme.com",
		Street: "1 Main St", City: "Austin", State: "TX", PostalCode: "78701", Lat: 1, Lon: 2,
	})
	part := acme(yp.Listing{Phone: "ask for Joe", WebsiteURL: "http://new.com", ServiceArea: "Serving Austin", Lon: 3})
	const want = `ask for Joe||http://new.com|||||||Serving Austin||0|3`
	inWorld(t, "of cards", func(t *testing.T, w *world) {
		card(t, w, whole)
		card(t, w, part)
		w.is(t, group, want)
		w.is(t, `SELECT phone_e164, website, street, city FROM companies`, "|||")
		w.sound(t)
	})
	inWorld(t, "of own pages", func(t *testing.T, w *world) {
		card(t, w, acme(yp.Listing{}))
		w.detail(t, "a", whole)
		w.is(t, `SELECT phone_e164, website, street, city FROM companies`, "+13105550100|https://acme.com|1 Main St|Austin")
		w.detail(t, "a", part)
		w.is(t, group, want)
		w.is(t, `SELECT phone_e164, website, street, city FROM companies`, "|||")
		w.sound(t)
	})
	inWorld(t, "an equal card has its say again", func(t *testing.T, w *world) {
		card(t, w, whole)
		w.detail(t, "a", part) // cards say all of it
		w.is(t, `SELECT phone, service_area FROM listings`, "310 555 0100|")
		w.detail(t, "a", part) // no card has since
		w.is(t, group, want)
		card(t, w, whole)
		w.detail(t, "a", part)
		w.is(t, `SELECT phone, website, street, lat, service_area FROM listings`, "310 555 0100|https://acme.com|1 Main St|1|")
		w.is(t, `SELECT phone_e164, website, street, city FROM companies`, "+13105550100|https://acme.com|1 Main St|Austin")
		w.sound(t)
	})
	inWorld(t, "long fields, too, and of cards", func(t *testing.T, w *world) {
		said := acme(yp.Listing{About: "card", Payment: []string{"cash"}, Social: []string{}})
		card(t, w, said)
		w.is(t, `SELECT payment, social, about FROM listing_texts`, `["cash"]||card`)
		w.detail(t, "a", yp.Listing{About: "own", Services: []string{"drains"}})
		w.is(t, `SELECT payment, services, about FROM listing_texts`, `["cash"]|["drains"]|card`)
		card(t, w, said)
		w.is(t, `SELECT cards, cards_before FROM listings`, fmt.Sprintf("%d|%[1]d", said.Gives()))
		said.About = "new"
		card(t, w, said)
		w.is(t, `SELECT payment, services, about FROM v_listings`, `["cash"]|["drains"]|new`)
		w.sound(t)
	})
}
