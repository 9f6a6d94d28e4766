package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: its listings, the rule behind each field, next link, total and end",
		ArgsUsage: "FILE.yaml [URL]", Args: true,
		UsageText: "  ypcrawl sources try mine.yaml https://www.example.com/austin-tx/plumbers\n" +
			"  ypcrawl sources try mine.yaml --city Austin --category Plumbers --next   as a crawl does, and the second page\n" +
			"  ypcrawl sources try mine.yaml --index --state TX                         reads the index of cities\n" +
			"  ypcrawl sources try mine.yaml --own 4711                                 reads a listing's own page (detail.url)\n" +
			"  ypcrawl sources try mine.yaml --page 3                                   reads a page that a crawl kept",
		Description: "Without a URL it requests what a crawl would: a category in a place, by default those that `sources check` names.\n" +
			"A page is requested once, and robots.txt and the pace of the host are obeyed; a kept page needs no request. Nothing is stored.\n" +
			"If a page shows listings but says that nothing was found, you are told: the listings may be suggestions.\n" +
			"A listing's own page is read by the rules of `detail`, if the definition has any.\n" +
			"Exit codes: 0 the page has listings or cities, or says that there are none; 3 more than half of its listings are rejected\n" +
			"or missing, or the page does not exist; 5 a block page or a redirect; 7 an unknown layout, or more than half of the\n" +
			"page's cards can't be read.",
		Flags: append(frame.AsSettings(egressFlags()...),
			&cli.StringFlag{Name: "state", DefaultText: "of the sample place", Usage: "`STATE` by code or name"},
			&cli.StringFlag{Name: "city", DefaultText: "the largest known", Usage: "`CITY` by name or slug, as in the index if the source has one"},
			&cli.StringFlag{Name: "category", DefaultText: "the source's first", Usage: "`CATEGORY` to search for"},
			&cli.BoolFlag{Name: "next", Usage: "also request the next page, and say whether it has the same listings"},
			&cli.BoolFlag{Name: "index", Usage: "read the first page of the index of the state's cities"},
			&cli.StringFlag{Name: "own", DefaultText: "none", Usage: "read the own page of the listing `ID`"},
			&cli.Int64Flag{
				Name: "page", DefaultText: "none",
				Usage: "read the kept page with this `ID`: a crawl keeps 10 pages of unknown layout per source, and logs their ids",
			},
			&cli.StringFlag{Name: "base-url", DefaultText: "the source's", Usage: "`URL` of the site, instead of the address in the definition"},
			frame.JSONFlag(),
		),
		Action: p.sourcesTry,
	}
}

// waysToTry are the flags that say what is read; each excludes the others and an address.
var waysToTry = []string{"page", "index", "own"}

// checkTry refuses flags that say two different things.
func (p *Program) checkTry(c *cli.Context) error {
	if c.NArg() == 0 || c.NArg() > 2 || c.Int64("page") < 0 {
		return frame.Usagef("give a definition and a page: `ypcrawl sources try mine.yaml https://www.example.com/austin-tx/plumbers`, or --page ID for a kept one")
	}
	way := ""
	if c.NArg() == 2 {
		way = "an address"
	}
	for _, name := range waysToTry {
		if c.IsSet(name) && way != "" {
			return frame.Usagef("%s and --%s name two pages; leave out one", way, name)
		}
		if c.IsSet(name) {
			way = "--" + name
		}
	}
	for _, name := range [...]string{"state", "city", "category", "next", "base-url"} {
		fits := way == "" || way == "an address" && name == "next" || way == "--index" && (name == "state" || name == "base-url") ||
			way == "--own" && name == "base-url"
		if p.Typed(name) && !fits { // a setting is of all commands
			return frame.Usagef("--%s does not apply to %s; leave out one", name, way)
		}
	}
	return nil
}

func (p *Program) sourcesTry(c *cli.Context) error {
	if err := p.checkTry(c); err != nil {
		return err
	}
	src, err := readSource(c.Args().First())
	if err != nil {
		return err
	}
	if ignored := ignoredText(src); ignored != "" {
		p.Note("The definition %s.", ignored)
	}
	page, next, err := p.tryPages(c, src)
	if err != nil {
		return err
	}
	t := triedPageOf(page, next)
	if err := p.Tell(c, t, t.text); err != nil {
		return err
	}
	unread := page.Bad - page.Unread[site.PerhapsAds] // as a run counts them
	switch {
	case page.Outcome == site.HTMLChanged:
		return &exitError{code: ExitLayout}
	case page.Outcome == site.Missing:
		return &exitError{code: ExitFailures}
	case page.Outcome != site.OK && page.Outcome != site.NoListings:
		return &exitError{code: ExitBlocked}
	case 2*(len(t.Rejected)+unread) > len(page.Listings)+unread:
		return &exitError{code: ExitFailures}
	}
	return nil
}

// tryPages reads the page that the command names, and with --next what follows it: nil = nothing does.
func (p *Program) tryPages(c *cli.Context, src *site.Source) (page, next *tried, err error) {
	if c.IsSet("page") {
		page, err = p.tryKept(c, src)
		return page, nil, err
	}
	var address *url.URL
	if word := c.Args().Get(1); c.NArg() == 2 {
		if address, err = webAddress("", word, "https://www.example.com/austin-tx/plumbers"); err == nil && src.BaseURL().Host != address.Host {
			src = src.WithBaseURL(&url.URL{Scheme: address.Scheme, Host: address.Host})
		}
	} else if raw := c.String("base-url"); raw != "" {
		var base *url.URL
		if base, err = baseURL(raw); err == nil {
			src = src.WithBaseURL(base)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	a, err := p.newAsker(c, src)
	if err != nil {
		return nil, nil, err
	}
	defer a.end()
	if address != nil {
		page, err = p.tryAddress(c, a, src, address)
	} else {
		page, err = p.tryRequest(c, a, src)
	}
	if err == nil && c.Bool("next") && page.Outcome == site.OK && !page.Own && !page.index {
		next, err = p.follow(c, a, page)
	}
	return page, next, err
}

// triedPage is what a definition makes of a page.
type triedPage struct {
	Code     yp.ErrorCode `json:"code"`
	Reason   string       `json:"reason"`
	Detail   *yp.Listing  `json:"detail,omitempty"` // of a listing's own page; the rest is about results pages
	NextURL  *string      `json:"next_url"`
	Total    *int         `json:"total"`
	End      string       `json:"end"`             // what the page says of the end of its list
	Both     bool         `json:"says_both"`       // it shows listings and says that nothing was found
	Nothing  []string     `json:"nothing_found"`   // how a page with organic listings says that nothing was found
	OnNoCard []string     `json:"fields_missing"`  // of every listing
	Index    *triedCities `json:"index,omitempty"` // of a page of an index
	Next     *triedNext   `json:"next,omitempty"`  // with --next, where something follows
	Unmarked bool         `json:"no_chrome"`       // the page is not there, and has nothing of chrome
	// Fields says which rules gave what, of an own page too.
	Fields []site.TracedField `json:"fields"`
	Cards  int                `json:"cards"`
	Unread int                `json:"unread"` // cards
	// Unreadable says of the unread cards why, the first of them with what they say.
	Unreadable []string      `json:"unreadable"`
	Rejected   []rejected    `json:"rejected"`
	Listings   []*yp.Listing `json:"listings"`

	read int    // cards or items
	part string // which of them
}

// triedCities is what was read of a page of an index.
type triedCities struct {
	Cities int            `json:"cities"`
	First  []yp.FoundCity `json:"first"` // two of them
}

// triedNext is the page that follows.
type triedNext struct {
	Asked    string       `json:"asked"`
	Code     yp.ErrorCode `json:"code"`
	Reason   string       `json:"reason"`
	Listings int          `json:"listings"`
	Again    int          `json:"again"`   // of them, how many the first page has, too
	Repeats  bool         `json:"repeats"` // there are some, and all of them are on the first page
	NextURL  *string      `json:"next_url"`
}

// rejected is a listing that the definition's rules do not let pass.
type rejected struct {
	ID      string   `json:"id"`
	Reasons []string `json:"reasons"`
}

func triedPageOf(page, next *tried) *triedPage {
	src := page.src
	t := &triedPage{
		Code: page.Outcome.Code(), Reason: page.Reason, Detail: page.OwnListing(), Both: page.SaysBoth(), Cards: page.Raw,
		Unread: page.Bad, Unreadable: append([]string{}, unreadTexts(page.Page)...), Fields: append([]site.TracedField{}, page.trace.Fields(page.Page)...),
		Nothing: append([]string{}, page.Nothing...), OnNoCard: []string{}, Rejected: []rejected{}, Listings: []*yp.Listing{},
		Unmarked: page.Outcome == site.Missing, read: page.trace.Read(), part: "cards",
	}
	if page.Via == "json" {
		t.part = "items"
	}
	if t.End = endOf(src, page.Page); page.NextURL != "" {
		t.NextURL = &page.NextURL
	}
	if page.SiteTotal > 0 {
		t.Total = &page.SiteTotal
	}
	if page.index {
		t.Index = &triedCities{len(page.Cities), append([]yp.FoundCity{}, page.Cities[:min(len(page.Cities), 2)]...)}
	}
	if page.Own || page.index {
		return t
	}
	for i := range page.Listings {
		l := &page.Listings[i]
		t.Listings = append(t.Listings, l)
		if reasons := src.Check(l); !l.Sponsored && len(reasons) > 0 {
			t.Rejected = append(t.Rejected, rejected{l.ID, reasons})
		}
	}
	for _, f := range yp.ListingFields {
		if f.Is(yp.Defined) && f.From&yp.FromCard != 0 && len(t.Listings) > 0 &&
			!slices.ContainsFunc(t.Listings, func(l *yp.Listing) bool { return f.Text(l) != "" }) {
			t.OnNoCard = append(t.OnNoCard, f.Name)
		}
	}
	if next != nil {
		t.Next = triedNextOf(page, next)
	}
	return t
}

// triedNextOf compares the page that follows with the first.
func triedNextOf(first, next *tried) *triedNext {
	t := &triedNext{Asked: next.ask.Label(), Code: next.Outcome.Code(), Reason: next.Reason, Listings: len(next.Listings)}
	if next.NextURL != "" {
		t.NextURL = &next.NextURL
	}
	for i := range next.Listings {
		id := next.Listings[i].ID
		if slices.ContainsFunc(first.Listings, func(l yp.Listing) bool { return l.ID == id }) {
			t.Again++
		}
	}
	t.Repeats = t.Listings > 0 && t.Again == t.Listings
	return t
}

// endOf says what a page says of the end of its list: yes, no, or that it is not known, and by what.
func endOf(src *site.Source, page *site.Page) string {
	organic := 0
	for i := range page.Listings {
		if !page.Listings[i].Sponsored {
			organic++
		}
	}
	switch g := page.Paging; {
	case page.NextURL != "":
		return "no"
	case page.Outcome == site.NoListings:
		return "yes: the page says that there are no results"
	case page.Outcome != site.OK:
		return "not known"
	case g.Unfollowed != "":
		return "unknown: there is a next page that can't be followed, " + g.Unfollowed
	case page.NextHost != "":
		return "unknown: the next link leads to another site, " + yp.Printable(page.NextHost)
	case g.Later:
		return "no: a later page is mentioned that no link leads to"
	case page.LastMark != "":
		return "yes: " + page.LastMark + " says so"
	case page.SiteTotal > 0 && (page.RangeEnd == page.SiteTotal || organic >= page.SiteTotal):
		return "yes: by the site's count, the page shows the last listing"
	case g.Whole:
		return "yes, if the page is not full or other lists are longer: its pagination has no later page"
	case src.OnePage():
		return "yes: the definition says next: none"
	}
	return "unknown: no next link, and nothing says that the list ends here (last: or next: none in the definition would)"
}

// text tells it to people.
func (t *triedPage) text(w *frame.Sections) {
	switch {
	case t.Detail != nil:
		t.ownText(w)
		return
	case t.Index != nil:
		t.indexText(w)
		return
	}
	next, total := "", ""
	if t.NextURL != nil {
		next = *t.NextURL
	}
	if t.Total != nil {
		total = thousands(int64(*t.Total))
	}
	w.Lines(string(t.Code)+": "+t.Reason, "next:  "+orDash(next), "total: "+orDash(total), "end:   "+t.End)
	switch {
	case t.Both:
		w.More("both:  listings (which may be suggestions) and that nothing was found: the page " + strings.Join(t.Nothing, ", "))
	case len(t.Nothing) > 0:
		w.More("also:  the page " + strings.Join(t.Nothing, ", ") + ", but its total contradicts it")
	}
	t.nextText(w)
	if t.Unmarked {
		w.More("chrome: " + site.NoChrome)
	}
	if len(t.OnNoCard) > 0 {
		w.More("on no card: " + strings.Join(t.OnNoCard, ", "))
	}
	for _, r := range t.Rejected {
		w.Item("rejected ", r.ID+": "+strings.Join(r.Reasons, "; "))
	}
	for _, text := range t.Unreadable {
		w.Item("unreadable ", text)
	}
	w.Table(t.fieldsTable())
	rows := frame.NewTable("id", "name", "phone", "street", "city", "ZIP", "website", "ad")
	for _, l := range t.Listings {
		rows.Row(l.ID, orDash(l.Name), orDash(l.Phone), orDash(l.Street), orDash(l.City), orDash(l.PostalCode), orDash(l.Website), l.Sponsored)
	}
	w.Table(rows)
}

// nextText tells of the page that follows, where that was asked for.
func (t *triedPage) nextText(w *frame.Sections) {
	n := t.Next
	if n == nil {
		return
	}
	next := ""
	if n.NextURL != nil {
		next = *n.NextURL
	}
	text := "none of its listings is on the first page"
	switch {
	case n.Listings == 0:
		text = ""
	case n.Repeats:
		text = "it repeats the first page"
	case n.Again > 0:
		text = fmt.Sprintf("%d of its listings are also on the first page", n.Again)
	}
	w.More(fmt.Sprintf("page 2: %s: %s", n.Code, n.Reason), "        next: "+orDash(next))
	if text != "" {
		w.More("        " + text)
	}
}

// indexText tells of a page of an index how many cities it has, and of the first two all.
func (t *triedPage) indexText(w *frame.Sections) {
	w.Lines(string(t.Code)+": "+t.Reason, "a page of the index of cities")
	if t.Unmarked {
		w.More("chrome: " + site.NoChrome)
	}
	rows := frame.NewTable("city", "state", "slug")
	for _, city := range t.Index.First {
		rows.Row(city.Shown, orDash(city.State), city.Address)
	}
	w.Table(rows)
}

// fieldsTable says of each field which rules gave it, on how many cards, and two values.
func (t *triedPage) fieldsTable() *frame.Table {
	rows := frame.NewTable("field", "rule", t.part, "first values")
	for _, f := range t.Fields {
		name := f.Name
		for i := range f.Rules {
			r := &f.Rules[i]
			if r.Cards == 0 {
				continue
			}
			rows.Row(name, ruleText(r), fmt.Sprintf("%d of %d", r.Cards, max(t.read, len(t.Listings))), valuesText(f.Name, r.Values))
			name = ""
		}
	}
	return rows
}

// ruleText is a rule with its number: "2: .tel".
func ruleText(r *site.TracedRule) string {
	if r.Number == 0 {
		return r.Rule
	}
	return fmt.Sprintf("%d: %s", r.Number, r.Rule)
}

// valuesText shows what was found and what became of it, where that is something else: `"(030) 123456" → +4930123456`. Of phone numbers,
// postal codes and states, which the country decides on, it always shows both.
func valuesText(field string, values []site.TracedValue) string {
	var out []string
	for _, v := range values {
		text := fmt.Sprintf("%q → %s", v.Raw, v.Value)
		switch {
		case v.Value == "" && v.Why == "":
			text = v.Raw
		case v.Value == "":
			text = fmt.Sprintf("%q → none: %s", v.Raw, v.Why)
		case v.Why != "":
			text += " (" + v.Why + ")"
		case v.Raw == v.Value && field != "phone" && field != "postal_code" && field != "state":
			text = v.Raw
		}
		out = append(out, text)
	}
	return strings.Join(out, " · ")
}

// ownText tells of a listing's own page what is on it, by which rule, and what is not.
func (t *triedPage) ownText(w *frame.Sections) {
	var missing []string
	rows := frame.NewTable("field", "rule", "value")
	rows.Folds = true
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		rule, values := t.ruleOf(f.Name)
		switch text := shownText(f, t.Detail); {
		case text == "" && values != "": // found, and nothing that the field can hold
			rows.Row(f.Name, rule, values)
		case text != "" && f.Name == "phone" && values != "":
			rows.Row(f.Name, rule, values)
		case text != "":
			rows.Row(f.Name, rule, text)
		case f.From&yp.FromOwn != 0:
			missing = append(missing, f.Name)
		}
	}
	w.Lines(string(t.Code)+": "+t.Reason, "a listing's own page, read by the rules of `detail`")
	if len(missing) > 0 {
		w.More("not found: " + strings.Join(missing, ", "))
	}
	w.Table(rows)
}

// ruleOf is the rule that gave a field of an own page, with what it found.
func (t *triedPage) ruleOf(field string) (rule, values string) {
	for _, f := range t.Fields {
		for i := range f.Rules {
			if r := &f.Rules[i]; f.Name == field && r.Cards > 0 {
				return ruleText(r), valuesText(field, r.Values)
			}
		}
	}
	return "", ""
}

// shownText is a field for people: the items of a list with "; " between, "" for nothing.
func shownText(f *yp.ListingField, l *yp.Listing) string {
	switch v := f.At(l).(type) {
	case *[]string:
		return strings.Join(*v, "; ")
	case *bool:
		if !*v {
			return ""
		}
	}
	return f.Text(l)
}

// unreadTexts says which cards of a page could not be read and why: "no id: Acme (512) 555-0100". Of those that have no text here,
// such as those that are announced and not shown, it says how many there are.
func unreadTexts(page *site.Page) (texts []string) {
	rest := page.Unread
	for _, card := range page.UnreadCards {
		rest[card.Why]--
		text := card.Why.String()
		if card.Excerpt != "" {
			text += ": " + card.Excerpt
		}
		texts = append(texts, text)
	}
	if more := rest.Text(); more != "" {
		texts = append(texts, more)
	}
	return texts
}
