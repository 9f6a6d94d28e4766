package wal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// The hand-written form of a detail is that of its tags, for every field it will ever
// have; and it comes back from the line as it went in.
func TestDetailAsEncodingJSON(t *testing.T) {
	t.Parallel()
	var all yp.Detail
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		one := reflect.New(v.Type()).Elem()
		setField(t, one.Field(i))
		setField(t, v.Field(i))
		sameDetail(t, one.Interface().(yp.Detail))
	}
	sameDetail(t, all)
	sameDetail(t, yp.Detail{})
}

func sameDetail(t *testing.T, d yp.Detail) {
	t.Helper()
	std, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(unescaped(t, std)), string(unescaped(t, appendValue(nil, reflect.ValueOf(&d).Elem())))); diff != "" {
		t.Fatal(diff)
	}
	e := stamped(detailEvent(&d))
	if diff := cmp.Diff(e, decode(t, e.AppendJSON(nil))); diff != "" {
		t.Fatal(diff)
	}
}

// unescaped is a JSON text in one form.
func unescaped(t *testing.T, b []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func detailEvent(d *yp.Detail) *Event {
	return &Event{
		Type: PageComplete, Status: yp.InProgress, Run: "r",
		Target: &Target{ID: 5, ClaimToken: 2, Crawl: 1, Kind: yp.KindDetail, Source: "demo", Listing: "7", Place: yp.Place{State: "CA"}, Priority: 100, MaxPages: 1},
		Page:   &yp.Page{Number: 1, Raw: 1, Accepted: 1, Last: true, Detail: d},
	}
}

// The keys of a detail's line are what jq users rely on.
func TestDetailLine(t *testing.T) {
	t.Parallel()
	e := stamped(detailEvent(&yp.Detail{ID: "7", Email: "a@x.example"}))
	const want = `{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"worker_0_pid_1","event_type":"page_complete","seq":9,"run":"r","status":"IN_PROGRESS",` +
		`"target_id":5,"claim_token":2,"crawl":1,"kind":"detail","source":"demo","listing_id":"7","city":"","city_slug":"","state":"CA","category":"",` +
		`"category_slug":"","priority":100,"max_pages":1,"page_number":1,"raw_count":1,"accepted_count":1,"bad_count":0,"last":true,"listings":[],` +
		`"detail":{"id":"7","email":"a@x.example"}}`
	if got := string(e.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A line that names no kind is of a search: most are.
func TestKindOfTargets(t *testing.T) {
	t.Parallel()
	for _, kind := range yp.Kinds() {
		e := stamped(samplePage(0))
		e.Target.Kind = kind
		if got := decode(t, e.AppendJSON(nil)).Target.Kind; got != kind {
			t.Errorf("%s becomes %s", kind, got)
		}
	}
	e := stamped(samplePage(0))
	if line := string(e.AppendJSON(nil)); strings.Contains(line, "kind") {
		t.Error(line)
	}
}
