package demo_test

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"

	"ypcrawl/crawl/demo"
)

// moved returns a directory that was built in epoch 0 and then moved.
func moved(t testing.TB, cfg demo.Config, epoch int) *demo.Directory {
	t.Helper()
	d, _ := setup(t, cfg)
	if err := d.SetEpoch(epoch); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEpochFollowsFromItsNumber: however a directory got into an epoch, its
// pages are the same, and the way back leads to the first ones.
func TestEpochFollowsFromItsNumber(t *testing.T) {
	t.Parallel()
	first, _ := setup(t, demo.Config{Seed: 4})
	built, _ := setup(t, demo.Config{Seed: 4, Epoch: 2})
	came, back := moved(t, demo.Config{Seed: 4, Epoch: 5}, 2), moved(t, demo.Config{Seed: 4, Epoch: 3}, 0)
	differ := 0
	for _, uri := range samples() {
		zero, two := get(first, uri).Body.Bytes(), get(built, uri).Body.Bytes()
		if !bytes.Equal(two, get(came, uri).Body.Bytes()) {
			t.Errorf("%s: epoch 2 depends on the way there", uri)
		}
		if !bytes.Equal(zero, get(back, uri).Body.Bytes()) {
			t.Errorf("%s: the way back leads elsewhere", uri)
		}
		if !bytes.Equal(zero, two) {
			differ++
		}
	}
	if differ < 5 {
		t.Errorf("only %d pages changed", differ)
	}
}

// TestClosedAndRenamed: the page of who closed is not found; who was renamed answers at the old address with the new one; who opened
// was not there before.
func TestClosedAndRenamed(t *testing.T) {
	t.Parallel()
	was, now := moved(t, demo.Config{}, 0), moved(t, demo.Config{}, 1)
	paths := func(d *demo.Directory) map[string]string {
		of := map[string]string{}
		some := []demo.Search{{City: "los-angeles-ca", Category: "plumbers"}, {City: "austin-tx", Category: "plumbers"}, {City: "houston-tx", Category: "auto-repair-service"}}
		for _, l := range d.Truth(&url.URL{}, demo.Selection{Searches: some}).Listings {
			of[l.ID] = l.ProfileURL
		}
		return of
	}
	before, after := paths(was), paths(now)
	closed, renamed, opened := 0, 0, 0
	for id, path := range before {
		w := get(now, path)
		switch next, stays := after[id]; {
		case !stays:
			closed++
			if w.Code != http.StatusNotFound {
				t.Errorf("%s has vanished from the results and answers %d", path, w.Code)
			}
		case next != path:
			renamed++
			if w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != next {
				t.Errorf("%s answers %d, %s; want %s", path, w.Code, w.Header().Get("Location"), next)
			}
		}
	}
	for id, path := range after {
		if before[id] == "" {
			opened++
			if get(was, path).Code != http.StatusNotFound || get(now, path).Code != http.StatusOK {
				t.Errorf("%s has opened, yet it was there, or is not", path)
			}
		}
	}
	if closed < 20 || renamed < 10 || opened < 20 {
		t.Errorf("%d closed, %d renamed, %d opened: the test says little", closed, renamed, opened)
	}
}
