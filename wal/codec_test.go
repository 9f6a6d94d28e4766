package wal

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func decode(t testing.TB, b []byte) *Event {
	t.Helper()
	var e Event
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatalf("decode %q: %v", b, err)
	}
	return &e
}

func stamped(e *Event) *Event {
	e.Timestamp, e.WorkerID, e.Seq = noon, "worker_0_pid_1", 9
	return e
}

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*Event{
		"page": samplePage(30),
		"index page": {Type: PageComplete, Status: yp.InProgress, Target: samplePage(0).Target, Page: &yp.Page{
			Number: 2, Path: "/state-ca?page=b",
			Plan: &yp.SearchPlan{Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}, {}}, TierPages: [4]int{0, 0, 10, 3}, Explicit: true, MaxTargets: 7, MinPopulation: 100},
			Cities: []yp.FoundCity{
				{City: yp.City{Slug: "burbank-ca", Name: "Burbank", State: "CA", Population: 107_337, Lat: 34.18, Lon: -118.3, Tier: 1}, Address: "burbank-ca", Shown: "Burbank", Matched: "slug"},
				{City: yp.City{Slug: "bee-ca", Name: "Bee", State: "CA", Tier: 3}, Address: "bee", Shown: "B \"ee\" \u202e", Matched: "none"},
			},
		}},
		"empty page": {Type: PageComplete, Page: &yp.Page{Number: 1, Last: true, Bad: 2}},
		"heartbeat":  {Type: Heartbeat, Run: "r"},
		"start":      {Type: TargetStart, Status: yp.InProgress, Target: samplePage(0).Target},
		"error": {
			Type: TargetError, Status: yp.Failed, Target: samplePage(0).Target,
			ErrorCode: yp.CodeTimeout, Error: "fetch page 2:\n\ttime out \"now\" \\ \u2028 \x1b[31m \u202e \x7f \u009b",
		},
	} {
		storetest.Diff(t, decode(t, lineOf(stamped(e))), e, name)
	}
}

// Every field of a listing comes back from a line, alone and with all others.
func TestEveryFieldRoundTrip(t *testing.T) {
	t.Parallel()
	for _, page := range []*yp.Page{{Listings: make([]yp.Listing, 1)}, {Own: true, Listings: make([]yp.Listing, 1)}} {
		v := reflect.ValueOf(&page.Listings[0])
		all := reflect.New(v.Elem().Type()).Elem()
		for i := range all.NumField() + 2 { // each alone, all, and none
			v.Elem().SetZero()
			switch {
			case i < all.NumField():
				setField(t, v.Elem().Field(i))
				setField(t, all.Field(i))
			case i == all.NumField():
				v.Elem().Set(all)
			}
			e := stamped(&Event{Type: PageComplete, Page: page})
			storetest.Diff(t, decode(t, lineOf(e)), e)
		}
	}
}

func setField(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Kind() {
	case reflect.String:
		f.SetString("x<&>")
	case reflect.Int:
		f.SetInt(-7)
	case reflect.Float64:
		f.SetFloat(4.5)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.Set(reflect.ValueOf([]string{"a", ""}))
	case reflect.Pointer:
		f.Set(reflect.ValueOf(new(bool)))
	default:
		t.Fatalf("a field of kind %s: teach yp.ListingField and this test", f.Kind())
	}
}

// The names in a line are what jq users and other programs rely on.
func TestLineKeys(t *testing.T) {
	t.Parallel()
	const head = `{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"worker_0_pid_1","event_type":"page_complete","seq":9,`
	search := samplePage(0)
	search.Status, search.ErrorCode, search.Error = yp.InProgress, yp.CodeSuccess, "none"
	search.Committed, search.CommittedAt, search.Ended = 7, yp.Stamp{Time: noon}, 9
	detail := &Event{
		Type: PageComplete, Status: yp.InProgress, Run: "r",
		Target: &Target{ID: 5, ClaimToken: 2, Crawl: 1, Kind: yp.KindDetail, Source: "demo", Listing: "7", Place: yp.Place{State: "CA"}, Priority: 100, MaxPages: 1},
		Page:   &yp.Page{Number: 1, Raw: 1, Accepted: 1, Last: true, Own: true, Listings: []yp.Listing{{ID: "7", Name: "Acme", Email: "a@x.example"}}},
	}
	for want, e := range map[string]*Event{
		head + `"run":"run-20261120-120000","status":"IN_PROGRESS","target_id":4711,"claim_token":3,"source":"demo","city":"Los Angeles",` +
			`"city_slug":"los-angeles-ca","state":"CA","category":"Plumbers","category_slug":"plumbers","priority":1,"max_pages":3,` +
			`"error_code":"SUCCESS","error":"none","page_number":2,"raw_count":0,"accepted_count":0,"bad_count":0,"last":false,` +
			`"next_page_url":"https://directory.example/los-angeles-ca/plumbers?page=3","listings":[],` +
			`"committed":7,"committed_at":"2026-11-20T12:00:00.000Z","ended":9}`: search,
		head + `"run":"r","status":"IN_PROGRESS","target_id":5,"claim_token":2,"crawl":1,"kind":"detail","source":"demo","listing_id":"7",` +
			`"city":"","city_slug":"","state":"CA","category":"","category_slug":"","priority":100,"max_pages":1,"page_number":1,` +
			`"raw_count":1,"accepted_count":1,"bad_count":0,"last":true,"listings":[{"id":"7","name":"Acme","email":"a@x.example"}],"own":true}`: detail,
	} {
		storetest.Diff(t, string(lineOf(stamped(e))), want)
	}
}

func TestStringsAreSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain — ünïcode 日本 🎉": `"plain — ünïcode 日本 🎉"`,
		"\x00\x1b[0m\x7f":      `"\u0000\u001b[0m\u007f"`,
		"a\u2028b\u2029c":      `"a\u2028b\u2029c"`,
		"\u202egnp.exe\u200b":  `"\u202egnp.exe\u200b"`,
		"\u0085\u009b":         `"\u0085\u009b"`,
		"bad \xff\xc3 utf":     `"bad \ufffd\ufffd utf"`,
		"kept \ufffd":          "\"kept \ufffd\"",
		"\"\\\n\r\t":           `"\"\\\n\r\t"`,
	} {
		e := stamped(&Event{Type: Stop, Error: in})
		if got := string(lineOf(e)); !strings.HasSuffix(got, `"error":`+want+"}") {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no timestamp":  `{"worker_id":"w","event_type":"stop"}`,
		"bad timestamp": `{"timestamp":"yesterday","worker_id":"w","event_type":"stop"}`,
		"no worker":     `{"timestamp":"2026-11-20T12:00:00.000Z","event_type":"stop"}`,
		"no type":       `{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"w"}`,
		"not an object": `[]`,
		"two objects":   `{} {}`,
		"cut":           `{"timestamp":"2026-11-20T12:0`,
	} {
		for _, head := range []bool{false, true} {
			var e Event
			if err := e.unmarshal([]byte(line), head); err == nil {
				t.Errorf("%s, head alone %t: accepted as %+v", name, head, e)
			}
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	const line = `{"timestamp":"2026-11-20T13:00:00+01:00","worker_id":"w","event_type":"from_the_future","novel":{"a":[1]}}`
	e := decode(t, []byte(line))
	if !e.Timestamp.Equal(noon) || e.Type != "from_the_future" || e.Target != nil || e.Page != nil {
		t.Fatalf("%+v", e)
	}
}

func FuzzCodec(f *testing.F) {
	f.Add("Müller\u2028", "\x1b[0m\xff", int64(3), 4.5, true, uint8(2))
	f.Add("", "", int64(0), 0.0, false, uint8(0))
	f.Add("springfield-il", "Springfield", int64(3), 39.8, true, uint8(11))
	f.Add(`"\`, "\u202e", int64(math.MinInt64), 1e300, true, uint8(7))
	f.Fuzz(func(t *testing.T, a, b string, n int64, rating float64, flag bool, shape uint8) {
		e := fuzzEvent(a, b, n, rating, flag, shape)
		line := lineOf(e)
		if !json.Valid(line) || !utf8.Valid(line) || strings.ContainsAny(string(line), "\n\r\x1b\u2028") {
			t.Fatalf("unsafe line %q", line)
		}
		if want := byEncodingJSON(t, e); !bytes.Equal(line, want) {
			t.Fatalf("got  %s\nwant %s", line, want)
		}
		want := fuzzEvent(replaceInvalid(a), replaceInvalid(b), n, rating, flag, shape)
		storetest.Diff(t, decode(t, line), want)
	})
}

// replaceInvalid is what encoding/json does: U+FFFD for each invalid byte.
func replaceInvalid(s string) string { return string([]rune(s)) }

func fuzzEvent(a, b string, n int64, rating float64, flag bool, shape uint8) *Event {
	if math.IsNaN(rating) || math.IsInf(rating, 0) {
		rating = 0
	}
	at := time.UnixMilli(n % 253402300799999).UTC()
	if at.Year() < 1 || at.Year() > 9999 || at.IsZero() {
		at = noon
	}
	e := &Event{Timestamp: at, WorkerID: "w" + a, Type: EventType("t" + b), Seq: n, Run: a, Error: b}
	if shape&1 != 0 {
		e.Target = &Target{ID: n, Kind: yp.Kinds()[shape%3], Listing: b, Source: a, Place: yp.Place{City: b, State: a}, MaxPages: int(n)}
	}
	if shape&2 != 0 {
		e.Page = &yp.Page{Number: int(n), NextURL: b, Last: flag}
	}
	if shape&10 == 10 {
		e.Page.Path, e.Page.Cities = a, []yp.FoundCity{{City: yp.City{Slug: a, Name: b, Population: int(n), Lat: rating, Tier: int(n)}, Address: b, Matched: a}, {}}
	}
	if shape&6 == 6 {
		e.Page.Listings = []yp.Listing{{ID: a, Name: b, Rating: rating, Categories: []string{a, b}, Claimed: &flag}, {}}
	}
	return e
}

// byEncodingJSON writes a line by encoding/json alone: what the log's own encoder must give, byte for byte.
func byEncodingJSON(t testing.TB, e *Event) []byte {
	t.Helper()
	flat := plain(*e)
	if e.Target != nil && e.Target.Kind == yp.KindSearch {
		target := *e.Target
		target.Kind = ""
		flat.Target = &target
	}
	if e.Page != nil && e.Listings == nil {
		page := *e.Page
		page.Listings = []yp.Listing{}
		flat.Page = &page
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	noErr(t, enc.Encode(line{yp.Stamp{Time: e.Timestamp}, &flat}))
	return yp.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// Lines of all event types are those of encoding/json, whatever a listing says.
func TestLinesAreThoseOfEncodingJSON(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "x", "Müller & Sons <b>", `"quoted" \ and/`, "\x00\x01\b\f\n\r\t\x1b\x7f", "\u2028\u2029\u202e\u200b\u00ad\u009b", "bad \xff\xc3", "\ufffd",
		"\U0001f389\U000e0041", "12345678", "1234567\"", "日本語日本語", strings.Repeat("long plain text ", 9) + "é", `"listings":[]`,
	}
	numbers := []float64{0, math.Copysign(0, -1), 4.5, 0.5, 5, 1, 3, 0.3, -4.5, 1e-7, 1e21, 1e300, 5.000001, math.MaxFloat64, math.SmallestNonzeroFloat64}
	for _, kind := range EventTypes() {
		for i, text := range texts {
			for n := range numbers {
				e := stamped(samplePage(0))
				e.Type, e.Error, e.NextURL = kind, text, text
				l := yp.Listing{
					ID: text, Name: texts[(i+1)%len(texts)], Rank: n - 7, Rating: numbers[n], ReviewCount: -n, Categories: []string{text, texts[(i+n)%len(texts)]},
					Hours: []string{}, Snippet: text, Sponsored: n%2 == 0, Street: texts[(i+n)%len(texts)],
				}
				if n%3 > 0 {
					l.Claimed = new(bool)
					*l.Claimed = n%3 == 1
				}
				if n%5 > 0 {
					e.Listings = []yp.Listing{l, {}, sampleListing(n)}
				}
				if got, want := string(lineOf(e)), string(byEncodingJSON(t, e)); got != want {
					t.Fatalf("%s, %q, %v:\ngot  %s\nwant %s", kind, text, numbers[n], got, want)
				}
			}
		}
	}
	e := stamped(samplePage(1))
	e.Listings[0].Rating = math.NaN()
	if _, err := e.MarshalJSON(); err == nil {
		t.Error("a rating that is no number is written")
	}
}
