package crawl

import (
	"context"
	"fmt"
	"sync"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// logUnread says which cards of a page could not be read and why.
func (s *search) logUnread(number int, page *site.Page) {
	if page.Bad == 0 {
		return
	}
	why, address := page.Unread.Text(), s.asked(number)
	if page.Outcome == site.OK { // else the attempt fails, and says so itself
		s.note("unreadable", number, fmt.Sprintf("%s: %s", yp.Plural(page.Bad, "card"), why))
	}
	line := s.logger.Warn().Int64("target", s.claim.TargetID).Int("page", number).Int("unreadable", page.Bad).
		Str("reasons", why).Str("url", address)
	if len(page.UnreadCards) > 0 {
		line = line.Str("first", page.UnreadCards[0].Excerpt)
	}
	line.Msg("cards that could not be read")
	s.unread.add(page, address)
}

// countUnread counts the cards of a page that is not stored because of them.
func (s *search) countUnread(number int, page *site.Page) {
	if page.Outcome != site.HTMLChanged || page.Bad == 0 {
		return
	}
	s.logUnread(number, page)
	s.count.update(func(stats *Stats) { stats.addCards(page) })
}

// unreadCards has, of each reason, the first card that could not be read for it: how it begins, and on which page.
type unreadCards struct {
	mu    sync.Mutex
	first [site.UnreadReasons]string
	told  bool
}

func (u *unreadCards) add(page *site.Page, address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for why := range page.Unread {
		if page.Unread[why] == 0 || u.first[why] != "" {
			continue
		}
		if u.first[why] = address; page.Example(site.Unread(why)) != "" {
			u.first[why] = fmt.Sprintf("%q on %s", page.Example(site.Unread(why)), address)
		}
	}
}

func (u *unreadCards) example(why site.Unread) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.first[why]
}

// once reports whether this is the first call.
func (u *unreadCards) once() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.told
	u.told = true
	return first
}

// tellUnread notes for others, and says once, that more than a tenth of the cards could not be read.
func (e *Engine) tellUnread(ctx context.Context) error {
	s := e.Stats()
	if s.Cards == 0 {
		return nil // of no page of results is anything known
	}
	text := ""
	if s.MuchUnread() {
		why := s.MostUnread()
		text = fmt.Sprintf("%s of %s could not be read, most of them with %s", yp.Thousands(s.Bad-s.PerhapsAds), yp.Plural(s.Cards, "card"), why)
		example := e.unread.example(why)
		if example != "" {
			text += ", such as " + example
		}
		if e.unread.once() {
			e.cfg.Logger.Warn().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int64("unreadable", s.Bad-s.PerhapsAds).
				Int64("cards", s.Cards).
				Str("reason", why.String()).Str("example", example).Msg("more than a tenth of the cards are unreadable")
		}
	}
	return e.cfg.Monitor.NoteUnread(ctx, e.cfg.Scope.SourceID, text)
}

// asked says what was asked for the page of a search that is being read.
func (s *search) asked(number int) string {
	if s.claim.NextPageURL == "" || number == 1 || yp.IsPosition(s.claim.NextPageURL) {
		return s.askFor(number).Label()
	}
	u, err := s.cfg.Source.BaseURL().Parse(s.claim.NextPageURL)
	if err != nil {
		return s.claim.NextPageURL
	}
	return u.Redacted()
}

// addCards counts the cards of a page, and those that could not be read.
func (s *Stats) addCards(page *site.Page) {
	s.Cards += int64(page.Cards + page.Unread[site.NotShown] + page.Unread[site.NoCard] + page.Unread[site.InPart])
	s.Bad += int64(page.Bad)
	for why, to := range s.byReason() {
		*to += int64(page.Unread[why])
	}
}

func (s *Stats) byReason() [site.UnreadReasons]*int64 {
	return [...]*int64{
		site.NoID: &s.NoID, site.NoName: &s.NoName, site.NotShown: &s.NotShown, site.PerhapsAds: &s.PerhapsAds, site.NoCard: &s.NoCard, site.Alike: &s.Alike,
		site.InPart: &s.InPart,
	}
}

// Unread returns the counts of cards that could not be read by reason.
func (s Stats) Unread() (n site.UnreadCounts) {
	for why, from := range s.byReason() {
		n[why] = int(*from)
	}
	return n
}

// MostUnread is the reason of most of the cards that count for MuchUnread.
func (s Stats) MostUnread() site.Unread {
	n := s.Unread()
	n[site.PerhapsAds] = 0
	return n.Most()
}

// MuchUnread reports whether more than a tenth of the cards could not be read. What is announced and may be
// among the ads does not count.
func (s Stats) MuchUnread() bool { return (s.Bad-s.PerhapsAds)*10 > s.Cards }
