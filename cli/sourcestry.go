package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// maxSample is the largest page that is tried, in bytes.
const maxSample = 4 << 20

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: its listings, empty fields, and what was taken for next, total and end",
		ArgsUsage: "FILE.yaml|SOURCE [URL|PAGE.html]", Args: true,
		Description: "A URL is requested once, with the robots.txt, pace and waits of a crawl; a file or a kept page needs no request. Nothing is stored.\n" +
			"Exit codes: 0 listings, or a page that says that there are none; 3 more than half of\n" +
			"its cards are unread or rejected; 5 a block page or a redirect; 7 an unknown layout.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "details", Usage: "the page is a listing's own, not one of results"},
			&cli.Int64Flag{Name: "page", DefaultText: "none", Usage: "read the kept page with the number `ID`: a crawl keeps 10 pages of unknown layout a source, and tells their numbers"},
			robotsFlag(), userAgentFlag(), jsonFlag(),
		},
		Action: p.sourcesTry,
	}
}

// triedPage is what `sources try` tells.
type triedPage struct {
	Outcome  yp.ErrorCode `json:"outcome"` // of an attempt that ends with such a page; SUCCESS = it has listings
	Reason   string       `json:"reason"`
	Next     string       `json:"next_page_url"`
	Total    int          `json:"site_total"` // 0 = the page does not say
	End      bool         `json:"end"`        // no page follows
	Raw      int          `json:"raw_count"`  // cards
	Bad      int          `json:"bad_count"`  // cards without an id or a name
	Listings []yp.Listing `json:"listings"`
	Rejected []string     `json:"rejected"`   // "ID: why", of listings that may not be promoted
	Empty    []string     `json:"on_no_card"` // fields
	Detail   *yp.Detail   `json:"detail,omitempty"`
}

func (p *Program) sourcesTry(c *cli.Context) error {
	if id := c.Int64("page"); id < 0 || c.Args().Len() != 2 && id == 0 || c.Args().Len() != 1 && id > 0 {
		return Usagef("want a definition and a page: `ypcrawl sources try mine.yaml https://www.example.com/austin-tx/plumbers`, or --page ID for a kept one")
	}
	src, err := p.tried(c, c.Args().First())
	if err != nil {
		return err
	}
	if c.Bool("details") && !src.HasDetails() {
		return Usagef("%s: %w", src.Name(), site.ErrNoDetails)
	}
	var page *site.Page
	if word := c.Args().Get(1); word == "" {
		page, err = tryKept(c, src)
	} else if strings.Contains(word, "://") {
		var address *url.URL
		if address, err = webAddress("", word, "https://www.example.com/austin-tx/plumbers"); err != nil {
			return err
		}
		if src.BaseURL().Host != address.Host { // the site is where its page is
			src = src.WithBaseURL(&url.URL{Scheme: address.Scheme, Host: address.Host})
		}
		page, err = p.tryAddress(c, src, address)
	} else {
		page, err = p.tryFile(c, src, word)
	}
	if err != nil {
		return err
	}
	row := triedRow(src, page)
	if err := p.tell(c, row, row.text); err != nil {
		return err
	}
	switch page.Outcome {
	case site.OK, site.NoListings:
		if 2*(len(row.Rejected)+row.Bad) > len(row.Listings)+row.Bad {
			return &exitError{code: ExitFailures}
		}
		return nil
	case site.HTMLChanged:
		return &exitError{code: ExitLayout}
	default:
		return &exitError{code: ExitBlocked}
	}
}

// tried is the definition: of a file, or of a source, whatever its stage.
func (p *Program) tried(c *cli.Context, word string) (*site.Source, error) {
	if ext := strings.ToLower(filepath.Ext(word)); ext == ".yaml" || ext == ".yml" {
		return readSource(word)
	}
	stored, err := p.storedSources(c)
	if err != nil {
		return nil, err
	}
	return stored.load("", word)
}

// tryPage reads a page as a crawl does.
func tryPage(c *cli.Context, src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
	if c.Bool("details") {
		return src.ParseDetail(body, final, status)
	}
	return src.ParsePage(body, final, status)
}

// tryKept reads a page that a crawl has kept.
func tryKept(c *cli.Context, src *site.Source) (*site.Page, error) {
	id := c.Int64("page")
	pages, err := kept.OpenReader(pagesFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no page is kept in %s", pagesFile(c))
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = pages.Close() }() // only read
	page, body, err := pages.Read(c.Context, id)
	switch {
	case errors.Is(err, kept.ErrRemoved):
		return nil, fmt.Errorf("no page has the number %d in %s: the newest %d of unknown layout are kept of each source", id, pagesFile(c), kept.MaxUnknown)
	case err != nil:
		return nil, err
	case page.Kind == yp.KindIndex:
		return nil, fmt.Errorf("page %d is of an index of cities: `ypcrawl discover` reads those", id)
	}
	final, err := url.Parse(page.URL)
	if err != nil {
		return nil, err
	}
	if page.Kind == yp.KindDetail {
		return src.ParseDetail(body, final, page.Status)
	}
	return src.ParsePage(body, final, page.Status)
}

func (p *Program) tryFile(c *cli.Context, src *site.Source, path string) (*site.Page, error) {
	page, err := readBounded(path, "page of a directory")
	if err != nil {
		return nil, err
	}
	body, vendor, err := fetch.Saved(page)
	if err != nil || vendor != "" {
		return &site.Page{Outcome: site.Unrecognised, Reason: "a block or a challenge: " + vendor}, err
	}
	return tryPage(c, src, body, nil, 200)
}

// tryAddress asks for a page as a crawl does.
func (p *Program) tryAddress(c *cli.Context, src *site.Source, address *url.URL) (_ *site.Page, err error) {
	how := fetch.Config{
		UserAgent: c.String("user-agent"), ConcurrencyPerHost: 1, MaxBody: maxSample, Timeout: cmp.Or(src.RequestTimeout(), fetch.DefaultTimeout),
		DelayMin: src.DefaultDelay(), IgnoreRobots: c.String("robots") == "ignore",
	}
	switch rule := c.String("robots"); {
	case rule != "obey" && rule != "ignore":
		return nil, Usagef("--robots %q: want obey or ignore", rule)
	case p.requiresProxies(c):
		return nil, errors.New("the settings require proxies, and this asks directly: remove the requirement from the settings, or crawl with `ypcrawl run`")
	}
	if err := checkUserAgent(how.UserAgent); err != nil {
		return nil, err
	}
	if how.Logger, err = p.logger(c, p.Err); err != nil {
		return nil, err
	}
	k, err := p.open(c, existing)
	if err == nil {
		defer func() { _ = k.DB().Close() }() // only the host's turn was written
		how.Turns = health.New(k.DB())
		closed, err := closedTo(c.Context, k, address)
		if err == nil && closed != "" {
			err = fmt.Errorf("no request may go to the site now: %s", closed)
		}
		if err != nil {
			return nil, err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	client := fetch.New(how)
	defer client.Close()
	res, err := client.Get(c.Context, fetch.Request{URL: address.String(), Base: src.BaseURL(), MaxHold: how.Timeout})
	switch {
	case errors.Is(err, fetch.ErrChallenge):
		return &site.Page{Outcome: site.Unrecognised, Reason: "a block or a challenge, which ypcrawl never solves: " + err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	defer res.Release()
	p.note("Asked for %s once: status %d, %s.", yp.Printable(address.Redacted()), res.Status, bytesText(int64(len(res.Body))))
	return tryPage(c, src, slices.Clone(res.Body), res.URL, res.Status)
}

func triedRow(src *site.Source, page *site.Page) *triedPage {
	row := &triedPage{
		Outcome: page.Outcome.Code(), Reason: page.Reason, Next: page.NextURL, Total: page.SiteTotal, End: page.NextURL == "",
		Raw: page.Raw, Bad: page.Bad, Listings: append([]yp.Listing{}, page.Listings...), Rejected: []string{}, Empty: []string{}, Detail: page.Detail,
	}
	for i := range row.Listings {
		l := &row.Listings[i]
		if reasons := src.Check(l); len(reasons) > 0 && !l.Sponsored {
			row.Rejected = append(row.Rejected, l.ID+": "+strings.Join(reasons, "; "))
		}
	}
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		given := func(l yp.Listing) bool { return !reflect.ValueOf(f.At(&l)).Elem().IsZero() }
		if f.Is(yp.Defined) && len(row.Listings) > 0 && !slices.ContainsFunc(row.Listings, given) {
			row.Empty = append(row.Empty, f.Name)
		}
	}
	return row
}

// text tells the outcome first, then what is wrong, then the listings.
func (row *triedPage) text(w *sections) {
	next, total, end := orDash(row.Next), "-", "no"
	if row.Total > 0 {
		total = thousands(int64(row.Total))
	}
	if row.End {
		end = "yes: no page follows"
	}
	w.lines(string(row.Outcome)+": "+row.Reason, "next:  "+next, "total: "+total, "end:   "+end)
	if row.Detail != nil {
		all := row.Detail.Texts()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			w.item("  ", name+": "+all[name])
		}
	}
	if row.Bad > 0 {
		w.more(plural(int64(row.Bad), "card") + " without an id or a name")
	}
	if len(row.Empty) > 0 {
		w.more("on no card: " + strings.Join(row.Empty, ", "))
	}
	for _, r := range row.Rejected {
		w.item("rejected ", r)
	}
	w.table(tableOf(row.Listings, func(l yp.Listing) []any {
		ad := ""
		if l.Sponsored {
			ad = "ad"
		}
		return []any{l.ID, l.Name, l.Phone, l.Street, l.City, l.PostalCode, l.Website, ad}
	}, "id", "name", "phone", "street", "city", "ZIP", "website", "").without("website", "street", "ZIP"))
}

// closedTo tells why the host of a web address may not be asked now: it is held, or a
// source that lives there is held, paused or in quarantine. "" = it may. (To disable
// a source is to leave it alone, not to spare its host.)
func closedTo(ctx context.Context, k *database, u *url.URL) (string, error) {
	all, err := k.Sources(ctx)
	if err != nil {
		return "", err
	}
	now, host := k.DB().Now(), fetch.HostKey(u)
	for _, s := range all {
		base, err := url.Parse(s.BaseURL)
		if err == nil && fetch.HostKey(base) == host && s.Availability != store.SourceOpen && s.Availability != store.SourceDisabled {
			return remedyText(now, s), nil
		}
	}
	g, err := k.HostAvailability(ctx, host)
	if err != nil || g.Open() {
		return "", err
	}
	return fmt.Sprintf("%s is held until %s: %s", host, moment(now, g.Until), g.Reason), nil
}
