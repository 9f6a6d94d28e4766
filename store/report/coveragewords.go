package report

import (
	"fmt"
	"strings"

	"ypcrawl/yp"
)

// Text says how much of what the sites list was seen: "32.0% of the site's listings seen".
func (t CoverageTotals) Text() string {
	measured := t.All() - t.Untold - t.AgainWhole
	switch {
	case t.Targets == 0 && t.Again == 0:
		return "no page read yet"
	case t.Percent != nil && measured < t.All():
		return fmt.Sprintf("%s of the site's listings seen in %s of %s", yp.Share(*t.Percent), yp.Thousands(measured),
			yp.Plural(t.All(), "search"))
	case t.Percent != nil:
		return yp.Share(*t.Percent) + " of the site's listings seen"
	case t.Targets == 0:
		return "none of the site's listings seen again yet"
	case t.Unread.Targets == 0:
		return "every page that the site offers was read, but the site does not say how many listings it has"
	}
	return "the site does not say how many listings it has"
}

// Line is what commands say beside their own answer; `coverage` says more. of says what is
// counted: "this selection".
func (t CoverageTotals) Line(of string) string {
	text, open := t.Text()+" ("+strings.TrimPrefix(of, "the ")+")", t.Unread.noWord()
	n := t.Unread.Targets - open
	switch {
	case n > 0 && t.Targets+t.Again > 0:
		text += fmt.Sprintf("; %s of %s not fully read: %s", yp.Thousands(n), yp.Plural(t.All(), "search"), t.Unread.causes())
	case t.Percent != nil && t.Unread.Targets == 0 && t.Untold+t.AgainWhole == 0 && t.SeenOfKnown < t.SiteTotal:
		text += "; every list was read to its end (a site's total can count ads, and some listings twice)"
	}
	if text = sentence(text); open > 0 {
		text += " " + NoWord
	}
	return text
}

// NoWord is said once of sources whose lists end without a word of the site.
const NoWord = "The site does not say where its lists end. They were read as far as it leads, but no listing counts as closed because of them. Add `last:` or `next: none` to its definition if it should."

// endWords say how lists ended that the site does not confirm.
var endWords = map[yp.Ending]string{
	yp.EndLimit:      "reached page_cap",
	yp.EndUnfollowed: "have a next page that can't be followed",
	yp.EndLaterPage:  "mention a later page that no link leads to",
	yp.EndTooFew:     "show fewer listings than the site counts",
	yp.EndUnreadable: "have cards that could not be read",
	yp.EndOrder:      "changed their order while they were read",
	yp.EndRepeats:    "repeat an earlier page",
	yp.EndGone:       "link to a page that does not exist",
	yp.EndShrunk:     "are shorter than before",
	yp.EndElsewhere:  "link to the list of another place or category",
	yp.EndAlias:      "have another name, and few of their listings",
	yp.EndBoth:       "say that nothing was found, but show listings",
}

// lines say how the lists ended that the site does not confirm, a line each.
func (u *Unread) lines() (lines []string) {
	for _, e := range u.Ends {
		words := endWords[e.Ending]
		if words == "" {
			continue
		}
		line := "lists that " + words + ": " + yp.Thousands(e.Targets)
		if e.Example != "" {
			line += ", for example: " + yp.Printable(e.Example)
		}
		lines = append(lines, sentence(line))
	}
	return lines
}

// causes say why searches were not read to a confirmed end: "120 limited by --max-pages, 13 failed".
func (u *Unread) causes() string {
	var all []string
	for _, part := range []struct {
		n    int64
		text string
	}{
		{u.MaxPages, "limited by --max-pages"},
		{u.Failed, "failed"},
		{u.Begun, "begun"},
		{u.Never, "not yet crawled"},
		{u.Again, "waiting for the next crawl"},
		{u.Unconfirmed - u.noWord(), "without a confirmed end"},
	} {
		if part.n > 0 {
			all = append(all, yp.Thousands(part.n)+" "+part.text)
		}
	}
	return strings.Join(all, ", ")
}

// Lines say more than Line: how lists ended, what --max-pages leaves out, and how listings are counted.
func (t CoverageTotals) Lines(of string) []string {
	lines := append([]string{t.Line(of)}, t.Unread.lines()...)
	if t.PagesLeft > 0 {
		lines = append(lines, "About "+yp.Plural(t.PagesLeft, "more page")+" (limited by --max-pages).")
	}
	text := yp.Plural(t.Seen, "listing") + " seen"
	if t.Percent != nil {
		text = yp.Thousands(t.SeenOfKnown) + " of " + yp.Plural(t.SiteTotal, "listing") + " seen"
	}
	return append(lines, text+", counted by search: a listing that two searches show counts twice.")
}
