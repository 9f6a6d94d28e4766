package site

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// oneTagPages are golden pages on which every card bears its id.
var oneTagPages = []string{"modern", "ads", "jsonld", "blockish_words", "localities", "fewer_than_announced"}

var anyTag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

// changeTag removes a tag of a page's body, or doubles it.
func changeTag(page string, n int, double bool) (changed, tag string) {
	body := strings.Index(page, "<body")
	tags := anyTag.FindAllStringIndex(page[body:], -1)
	at := tags[n%len(tags)]
	start, end := body+at[0], body+at[1]
	if tag = page[start:end]; double {
		return page[:end] + tag + page[end:], tag
	}
	return page[:start] + page[end:], tag
}

// cardsInTree counts the cards that a browser's tree holds: the elements of their
// classes with an id of their own. A start tag that stands twice makes one card.
func cardsInTree(t testing.TB, page string) (n int) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	noError(t, err)
	goquery.NewDocumentFromNode(doc).Find(".result[data-ypid], .srp-listing[data-ypid]").Each(func(_ int, card *goquery.Selection) {
		around := card.Parent().Closest("[data-ypid]")
		if id, _ := around.Attr("data-ypid"); around.Length() == 0 || id != card.AttrOr("data-ypid", "") {
			n++
		}
	})
	return n
}

// checkOneTag: no business of a page is lost by one tag, and none gets what is another's.
func checkOneTag(t testing.TB, s *Source, page string, n int, double bool) {
	t.Helper()
	before, err := s.ParsePage([]byte(page), finalURL(t), 200)
	noError(t, err)
	changed, tag := changeTag(page, n, double)
	after, err := s.ParsePage([]byte(changed), finalURL(t), 200)
	if err != nil {
		if !errors.Is(err, ErrCut) { // the rest of it is in a script
			t.Errorf("%s (%d, doubled: %t): %v", tag, n, double, err)
		}
		return
	}
	if want := cardsInTree(t, changed); after.Raw != want {
		t.Errorf("%s (%d, doubled: %t): %d cards, want %d", tag, n, double, after.Raw, want)
	}
	owner := map[string]string{}
	for i := range before.Listings {
		for _, v := range ownTexts(&before.Listings[i]) {
			if id, again := owner[v]; again && id != before.Listings[i].ID {
				owner[v] = "" // of several
			} else {
				owner[v] = before.Listings[i].ID
			}
		}
	}
	for i := range after.Listings {
		l := &after.Listings[i]
		for _, v := range ownTexts(l) {
			if id := owner[v]; id != "" && id != l.ID {
				t.Errorf("%s (%d, doubled: %t): listing %s has %q of %s", tag, n, double, l.ID, v, id)
			}
		}
	}
}

// ownTexts are the texts of a listing that no other has.
func ownTexts(l *yp.Listing) []string {
	all := []string{l.Name, l.Phone, l.Street, l.ProfileURL, l.WebsiteURL}
	return slices.DeleteFunc(all, func(v string) bool { return v == "" })
}

func TestOneTag(t *testing.T) {
	t.Parallel()
	s, pages := builtin(t, "yellowpages"), seedPages(t)
	for _, name := range oneTagPages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := pages[name+".html"]
			tags := len(anyTag.FindAllString(page[strings.Index(page, "<body"):], -1))
			for n := 0; n < tags; n += 1 + tags/200 { // of long pages some: FuzzOneTag takes any
				checkOneTag(t, s, page, n, false)
				checkOneTag(t, s, page, n, true)
			}
		})
	}
}

func FuzzOneTag(f *testing.F) {
	s, pages := builtin(f, "yellowpages"), seedPages(f)
	for i := range oneTagPages {
		f.Add(uint8(i), uint16(20), false)
		f.Add(uint8(i), uint16(20), true)
	}
	f.Fuzz(func(t *testing.T, page uint8, n uint16, double bool) {
		checkOneTag(t, s, pages[oneTagPages[int(page)%len(oneTagPages)]+".html"], int(n), double)
	})
}
