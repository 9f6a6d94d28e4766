package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/start"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: its listings, empty fields, and what was taken for next, total and end",
		ArgsUsage: "FILE.yaml [URL]", Args: true,
		Description: "A URL is requested once, with the robots.txt and the pace of a crawl; a kept page needs no request. Nothing is stored.\n" +
			"A page that shows listings and says that nothing was found is told as such: what it shows may be suggestions.\n" +
			"A listing's own page is read by the rules of `detail`, where the definition has any.\n" +
			"Exit codes: 0 listings, or a page that says that there are none; 3 more than half of\n" +
			"its listings are rejected or missing, or it is not there; 5 a block page or a redirect; 7 an unknown layout,\n" +
			"also where more than half of its cards can't be read.",
		Flags: append(frame.AsSettings(egressFlags()...),
			&cli.Int64Flag{
				Name: "page", DefaultText: "none",
				Usage: "read the kept page with the number `ID`: a crawl keeps 10 pages of unknown layout a source, and tells their numbers",
			},
			frame.JSONFlag(),
		),
		Action: p.sourcesTry,
	}
}

func (p *Program) sourcesTry(c *cli.Context) error {
	id, word := c.Int64("page"), c.Args().Get(1)
	if id < 0 || c.NArg() == 0 || c.NArg() > 2 || (word == "") != (id > 0) {
		return frame.Usagef("want a definition and a page: `ypcrawl sources try mine.yaml https://www.example.com/austin-tx/plumbers`, or --page ID for a kept one")
	}
	src, err := readSource(c.Args().First())
	if err != nil {
		return err
	}
	read := p.tryAddress
	if id > 0 {
		read = tryKept
	}
	if ignored := ignoredText(src); ignored != "" {
		p.Note("The definition %s.", ignored)
	}
	src, page, err := read(c, src)
	if err != nil {
		return err
	}
	t := triedPageOf(src, page)
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

// triedPage is what a definition makes of a page.
type triedPage struct {
	Code     yp.ErrorCode `json:"code"`
	Reason   string       `json:"reason"`
	Detail   *yp.Listing  `json:"detail,omitempty"` // of a listing's own page; the rest is about results pages
	NextURL  *string      `json:"next_url"`
	Total    *int         `json:"total"`
	End      string       `json:"end"`            // what the page says of the end of its list
	Both     bool         `json:"says_both"`      // it shows listings and says that nothing was found
	Nothing  []string     `json:"nothing_found"`  // how a page with organic listings says that nothing was found
	OnNoCard []string     `json:"fields_missing"` // of every listing
	Cards    int          `json:"cards"`
	Unread   int          `json:"unread"` // cards
	// Unreadable says of the unread cards why, the first of them with what they say.
	Unreadable []string      `json:"unreadable"`
	Rejected   []rejected    `json:"rejected"`
	Listings   []*yp.Listing `json:"listings"`
}

// rejected is a listing that the definition's rules do not let pass.
type rejected struct {
	ID      string   `json:"id"`
	Reasons []string `json:"reasons"`
}

func triedPageOf(src *site.Source, page *site.Page) *triedPage {
	t := &triedPage{
		Code: page.Outcome.Code(), Reason: page.Reason, Detail: page.OwnListing(), Both: page.SaysBoth(), Cards: page.Raw,
		Unread: page.Bad, Unreadable: append([]string{}, unreadTexts(page)...),
		Nothing: append([]string{}, page.Nothing...), OnNoCard: []string{}, Rejected: []rejected{}, Listings: []*yp.Listing{},
	}
	if t.End = endOf(src, page); page.NextURL != "" {
		t.NextURL = &page.NextURL
	}
	if page.SiteTotal > 0 {
		t.Total = &page.SiteTotal
	}
	if page.Own {
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
		return "yes: the page says that nothing is there"
	case page.Outcome != site.OK:
		return "not known"
	case g.Unfollowed != "":
		return "not known: something leads on that can't be followed, " + g.Unfollowed
	case page.NextHost != "":
		return "not known: the next link leads to another site, " + yp.Printable(page.NextHost)
	case g.Later:
		return "no: a later page is named, which nothing leads to"
	case page.LastMark != "":
		return "yes: " + page.LastMark + " says so"
	case page.SiteTotal > 0 && (page.RangeEnd == page.SiteTotal || organic >= page.SiteTotal):
		return "yes: by its own count the page shows the last listing"
	case g.Whole:
		return "yes, if the page is not full or other lists go further: its pagination names no later page"
	case src.OnePage():
		return "yes: the definition says next: none"
	}
	return "not known: no next link, and nothing says that the list ends here (last: or next: none in the definition would)"
}

// text tells it to people.
func (t *triedPage) text(w *frame.Sections) {
	if t.Detail != nil {
		t.ownText(w)
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
		w.More("both:  listings, which may be suggestions, and that nothing was found: the page " + strings.Join(t.Nothing, ", "))
	case len(t.Nothing) > 0:
		w.More("also:  the page " + strings.Join(t.Nothing, ", ") + ", which its total gainsays")
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
	rows := frame.NewTable("id", "name", "phone", "street", "city", "ZIP", "website", "ad")
	for _, l := range t.Listings {
		rows.Row(l.ID, orDash(l.Name), orDash(l.Phone), orDash(l.Street), orDash(l.City), orDash(l.PostalCode), orDash(l.Website), l.Sponsored)
	}
	w.Table(rows)
}

// ownText tells of a listing's own page what is on it, and what is not.
func (t *triedPage) ownText(w *frame.Sections) {
	var missing []string
	rows := frame.NewTable("field", "value")
	rows.Folds = true
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		switch text := shownText(f, t.Detail); {
		case text != "":
			rows.Row(f.Name, text)
		case f.From&yp.FromOwn != 0:
			missing = append(missing, f.Name)
		}
	}
	w.Lines(string(t.Code)+": "+t.Reason, "a listing's own page, read by the rules of `detail`")
	if len(missing) > 0 {
		w.More("not on it: " + strings.Join(missing, ", "))
	}
	w.Table(rows)
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

// tryKept reads a page that a crawl has kept. The source is where its page is.
func tryKept(c *cli.Context, src *site.Source) (*site.Source, *site.Page, error) {
	var page *kept.Page
	var body []byte
	pages, err := kept.OpenReader(pagesFile(c))
	if err == nil {
		defer func() { _ = pages.Close() }() // only read
		page, body, err = pages.Read(c.Context, c.Int64("page"))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, kept.ErrRemoved) {
		return nil, nil, fmt.Errorf("no page has the number %d in %s: the newest %d of unknown layout are kept of each source",
			c.Int64("page"), pagesFile(c), kept.MaxUnknown)
	}
	if err != nil {
		return nil, nil, err
	}
	return crawl.ParseKept(src, page, body)
}

// tryAddress asks for a page as a crawl does. The source is where its page is.
func (p *Program) tryAddress(c *cli.Context, src *site.Source) (*site.Source, *site.Page, error) {
	address, err := webAddress("", c.Args().Get(1), "https://www.example.com/austin-tx/plumbers")
	var way start.Egress
	if err == nil {
		way, err = egressOf(c)
	}
	if err == nil && way.Policy == fetch.PolicyRequire {
		err = errors.New("the settings require proxies, and this asks directly: remove the requirement from the settings, or crawl with `ypcrawl run`")
	}
	if err != nil {
		return nil, nil, err
	}
	if src.BaseURL().Host != address.Host {
		src = src.WithBaseURL(&url.URL{Scheme: address.Scheme, Host: address.Host})
	}
	how := fetch.Config{ConcurrencyPerHost: 1, Timeout: cmp.Or(src.RequestTimeout(), fetch.DefaultTimeout), DelayMin: src.DefaultDelay()}
	if k, err := p.open(c, existing); err == nil {
		defer func() { _ = k.DB().Close() }() // only the host's turn was written
		how.Turns = health.New(k.DB())
		held, err := k.HostAvailability(c.Context, fetch.HostKey(address))
		if err == nil && !held.Open() {
			err = &exitError{
				code: ExitBlocked,
				err:  fmt.Errorf("%s is held until %s: %s", address.Host, yp.Moment(k.DB().Now(), held.Until), held.Reason),
			}
		}
		if err != nil {
			return nil, nil, err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, nil, err
	}
	client := fetch.New(how)
	defer client.Close()
	secrets, err := sourceSecrets(src)
	if err != nil {
		return nil, nil, err
	}
	p.noteSecrets(src)
	ask := src.LinkRequest(address.String())
	req := fetch.Request{
		Method: ask.Method, URL: ask.URL, Header: ask.Header, Body: ask.Body, Secrets: secrets,
		Base: src.BaseURL(), MaxHold: how.Timeout, Leave: leavesTried(src),
	}
	res, err := client.Get(c.Context, req)
	if req.Fresh = errors.Is(err, fetch.ErrStale); req.Fresh || fetch.AskAgain(err) != nil { // stale: the connection of robots.txt
		res, err = client.Get(c.Context, req)
	}
	if fe, ok := errors.AsType[*fetch.Error](err); ok && fe.Refused() {
		return src, &site.Page{Outcome: site.Unrecognised, Reason: report.Cause(fe.Error())}, nil
	}
	if errors.Is(err, fetch.ErrChallenge) {
		return src, &site.Page{Outcome: site.Unrecognised, Reason: "a block or a challenge, which ypcrawl never solves: " + err.Error()}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	defer res.Release()
	p.Note("Asked for %s once: status %d, %s.", yp.Printable(address.Redacted()), res.Status, bytesText(int64(len(res.Body))))
	if base := src.BaseURL(); base.Scheme == "http" && address.Scheme == "http" && res.URL.Scheme == "https" {
		p.Note("%s.", yp.Printable(fetch.SecureText(base, res.URL)))
	}
	page, err := readTried(src, res)
	return src, page, err
}

func readTried(src *site.Source, res *fetch.Response) (*site.Page, error) {
	return src.WithCharset(res.Charset).On(time.Now()).ParseAny(slices.Clone(res.Body), res.URL, res.Status)
}

// leavesTried says which pages are left for where they lead by themselves, as a crawl does.
func leavesTried(src *site.Source) func(*fetch.Response, fetch.Refresh) bool {
	return func(res *fetch.Response, to fetch.Refresh) bool {
		page, err := readTried(src, res)
		return err == nil && crawl.Leaves(page, res, to)
	}
}
