package demo_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
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

var mipPattern = regexp.MustCompile(`href="(/[^"?]+/mip/[^"?]+)`)

// results reads all pages of a target: the profiles' paths by id, and the ids in
// their order.
func results(t *testing.T, d http.Handler, target string) (paths map[string]string, ids []string) {
	t.Helper()
	paths = make(map[string]string)
	for n := 1; ; n++ {
		body := get(d, fmt.Sprintf("%s?page=%d", target, n)).Body.String()
		body = body[strings.LastIndex(body, `<div class="search-results organic">`)+1:] // the first ones are decoys
		for _, card := range strings.Split(body, `<div class="result" id="lid-`)[1:] {
			m := mipPattern.FindStringSubmatch(card)
			id := m[1][strings.LastIndexByte(m[1], '-')+1:]
			paths[id] = m[1]
			ids = append(ids, id)
		}
		if !strings.Contains(body, `class="next ajax-page"`) {
			return paths, ids
		}
	}
}

// TestClosedAndRenamed: who closed is gone from the results, the later ones
// move up in their order, and the page is not found; who was renamed answers at
// the old address with the new one.
func TestClosedAndRenamed(t *testing.T) {
	t.Parallel()
	was, now := moved(t, demo.Config{}, 0), moved(t, demo.Config{}, 1)
	closed, renamed, opened := 0, 0, 0
	for _, target := range []string{"/los-angeles-ca/plumbers", "/austin-tx/plumbers", "/houston-tx/auto-repair-service"} {
		before, order := results(t, was, target)
		after, later := results(t, now, target)
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
		order = slices.DeleteFunc(order, func(id string) bool { return after[id] == "" })
		later = slices.DeleteFunc(later, func(id string) bool { return before[id] == "" })
		if !slices.Equal(order, later) {
			t.Errorf("%s: the order of those that stay has changed", target)
		}
	}
	if closed < 20 || renamed < 10 || opened < 20 {
		t.Errorf("%d closed, %d renamed, %d opened: the test says little", closed, renamed, opened)
	}
}
