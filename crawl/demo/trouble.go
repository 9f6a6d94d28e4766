package demo

import (
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of failure that Config.Fail knows.
const (
	fail429       = "429"       // too many requests, with Retry-After: 1 or Config.RetryAfter
	fail503       = "503"       // unavailable, with Config.RetryAfter if there is one
	failChallenge = "challenge" // 403 with cf-mitigated and "Just a moment…"
	failTimeout   = "timeout"   // no answer until the client gives up, at most holdFor
	failTruncate  = "truncate"  // half of the body under the whole one's Content-Length
	failCut       = "cut"       // the first part of the page, ended by closing the connection: no length, no error
	failLayout    = "layout"    // a listing page with every class renamed
)

// holdFor bounds how long a timeout holds the connection.
const holdFor = 60 * time.Second

// failKinds returns the kinds in the order in which they are drawn.
func failKinds() []string {
	return []string{fail429, fail503, failChallenge, failTimeout, failTruncate, failCut, failLayout}
}

func checkFail(fail map[string]float64) error {
	sum := 0.0
	for kind, p := range fail {
		if !slices.Contains(failKinds(), kind) {
			return fmt.Errorf("%w: unknown kind %q: want one of %s", ErrFailSpec, kind, strings.Join(failKinds(), ", "))
		}
		if math.IsNaN(p) || p < 0 || p > 1 {
			return fmt.Errorf("%w: %s=%v: a probability lies between 0 and 1", ErrFailSpec, kind, p)
		}
		sum += p
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("%w: the probabilities add up to %.3g, more than 1", ErrFailSpec, sum)
	}
	return nil
}

// trouble draws the failure of the attempt-th request for a URL, "" for none.
// The next attempt draws anew, so a retry can succeed.
func (d *Directory) trouble(url string, attempt int) string {
	if len(d.cfg.Fail) == 0 {
		return ""
	}
	u := newDice(d.cfg.Seed, 0xfa11, hashText(url), uint64(attempt)).unit(0)
	for _, kind := range failKinds() {
		if u -= d.cfg.Fail[kind]; u < 0 {
			return kind
		}
	}
	return ""
}

// hashText is the same in every process, unlike maphash.
func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash takes all
	return h.Sum64()
}

var classPattern = regexp.MustCompile(` class="[^"]*`)

// renameClasses returns the page with every class attribute renamed, as after a
// redesign: ids, links and texts stay, so it is plainly no empty result.
func renameClasses(html []byte) []byte {
	return classPattern.ReplaceAllFunc(html, func(attr []byte) []byte {
		classes := strings.Fields(strings.TrimPrefix(string(attr), ` class="`))
		for i, class := range classes {
			classes[i] = "css-" + strconv.FormatUint(hashText(class)>>36, 36)
		}
		return []byte(` class="` + strings.Join(classes, " "))
	})
}
