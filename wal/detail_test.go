package wal

import (
	"encoding/json"
	"reflect"
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
	if diff := cmp.Diff(string(unescaped(t, std)), string(unescaped(t, appendFound(nil, &d)))); diff != "" {
		t.Fatal(diff)
	}
	e := stamped(&Event{Type: DetailComplete, Status: yp.Done, Run: "r", Detail: &Detail{Source: "demo", Listing: "x", Found: d}})
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

// The keys of a detail's line are what jq users rely on; a line that does not say whose
// detail it is has none.
func TestDetailLine(t *testing.T) {
	t.Parallel()
	e := stamped(&Event{Type: DetailComplete, Status: yp.Done, Run: "r", Detail: &Detail{Source: "demo", Listing: "7", Found: yp.Detail{ID: "7", Email: "a@x.example"}}})
	const want = `{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"worker_0_pid_1","event_type":"detail_complete","seq":9,"run":"r","status":"DONE",` +
		`"source":"demo","listing_id":"7","detail":{"id":"7","email":"a@x.example"}}`
	if got := string(e.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, line := range []string{
		`{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"w","event_type":"detail_complete","source":"demo","detail":{}}`,
		`{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"w","event_type":"detail_complete","listing_id":"7","detail":{}}`,
		`{"timestamp":"2026-11-20T12:00:00.000Z","worker_id":"w","event_type":"detail_complete","source":"demo","listing_id":"7"}`,
	} {
		if got := decode(t, []byte(line)); got.Detail != nil || got.Target != nil {
			t.Errorf("%s has a detail: %+v", line, got)
		}
	}
}
