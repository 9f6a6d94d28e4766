package crawl

import (
	"fmt"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// logUnread says which cards of a page could not be read and why.
func (w *worker) logUnread(c *checkpoint.Claim, page *site.Page, number int) {
	if page.Bad == 0 {
		return
	}
	why := page.Unread.Text()
	c.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), "unreadable", number, fmt.Sprintf("%s: %s", yp.Plural(page.Bad, "card"), why))
	line := w.logger.Warn().Int64("target", c.TargetID).Int("page", number).Int("unreadable", page.Bad).Str("reasons", why).Str("url", w.asked(c, number))
	if len(page.UnreadCards) > 0 {
		line = line.Str("first", page.UnreadCards[0].Excerpt)
	}
	line.Msg("cards that could not be read")
}

// asked returns the address of the page of a search that is being read.
func (w *worker) asked(c *checkpoint.Claim, number int) string {
	if c.NextPageURL == "" || number == 1 {
		return w.cfg.Source.TargetURL(c.Place, number)
	}
	u, err := w.cfg.Source.BaseURL().Parse(c.NextPageURL)
	if err != nil {
		return c.NextPageURL
	}
	return u.Redacted()
}

// addCards counts the cards of a page, and those that could not be read.
func (s *Stats) addCards(page *site.Page) {
	s.Cards += int64(page.Cards + page.Unread[site.NotShown] + page.Unread[site.NoCard])
	s.Bad += int64(page.Bad)
	for why, to := range s.byReason() {
		*to += int64(page.Unread[why])
	}
}

func (s *Stats) byReason() [site.UnreadReasons]*int64 {
	return [...]*int64{
		site.NoID: &s.NoID, site.NoName: &s.NoName, site.NotShown: &s.NotShown, site.PerhapsAds: &s.PerhapsAds, site.NoCard: &s.NoCard, site.Alike: &s.Alike,
	}
}

// Unread returns the counts of cards that could not be read by reason.
func (s Stats) Unread() (n site.UnreadCounts) {
	for why, from := range s.byReason() {
		n[why] = int(*from)
	}
	return n
}

// MuchUnread reports whether more than a tenth of the cards could not be read. What is announced and may be
// among the ads does not count.
func (s Stats) MuchUnread() bool { return (s.Bad-s.PerhapsAds)*10 > s.Cards }
