package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: its listings, empty fields, and what was taken for next, total and end", ArgsUsage: "FILE.yaml [URL]", Args: true,
		Description: "A URL is requested once, with the robots.txt and the pace of a crawl; a kept page needs no request. Nothing is stored.\n" +
			"Exit codes: 0 listings, or a page that says that there are none; 3 more than half of\n" +
			"its cards are unread or rejected; 5 a block page or a redirect; 7 an unknown layout.",
		Flags: append(asSettings(egressFlags()...),
			&cli.Int64Flag{Name: "page", DefaultText: "none", Usage: "read the kept page with the number `ID`: a crawl keeps 10 pages of unknown layout a source, and tells their numbers"},
		),
		Action: p.sourcesTry,
	}
}

func (p *Program) sourcesTry(c *cli.Context) error {
	id, word := c.Int64("page"), c.Args().Get(1)
	if id < 0 || c.NArg() == 0 || c.NArg() > 2 || (word == "") != (id > 0) {
		return Usagef("want a definition and a page: `ypcrawl sources try mine.yaml https://www.example.com/austin-tx/plumbers`, or --page ID for a kept one")
	}
	src, err := readSource(c.Args().First())
	if err != nil {
		return err
	}
	read := p.tryAddress
	if id > 0 {
		read = tryKept
	}
	src, page, err := read(c, src)
	if err != nil {
		return err
	}
	total, end := "", "no"
	if page.SiteTotal > 0 {
		total = thousands(int64(page.SiteTotal))
	}
	if page.NextURL == "" {
		end = "yes: no page follows"
	}
	var empty []string // fields
	for _, f := range yp.ListingFields {
		if f.Is(yp.Defined) && !slices.ContainsFunc(page.Listings, func(l yp.Listing) bool { return f.Text(&l) != "" }) {
			empty = append(empty, f.Name)
		}
	}
	w := &sections{p: p, w: p.Out}
	w.lines(string(page.Outcome.Code())+": "+page.Reason, "next:  "+orDash(page.NextURL), "total: "+orDash(total), "end:   "+end)
	if len(page.Listings) > 0 && len(empty) > 0 {
		w.more("on no card: " + strings.Join(empty, ", "))
	}
	rejected := 0
	for i := range page.Listings {
		if l := &page.Listings[i]; !l.Sponsored && len(src.Check(l)) > 0 {
			w.item("rejected ", l.ID+": "+strings.Join(src.Check(l), "; "))
			rejected++
		}
	}
	t := newTable("id", "name", "phone", "street", "city", "ZIP", "website", "ad")
	for _, l := range page.Listings {
		t.row(l.ID, orDash(l.Name), orDash(l.Phone), orDash(l.Street), orDash(l.City), orDash(l.PostalCode), orDash(l.Website), l.Sponsored)
	}
	w.table(t)
	switch {
	case w.err != nil:
		return w.err
	case page.Outcome == site.HTMLChanged:
		return &exitError{code: ExitLayout}
	case page.Outcome != site.OK && page.Outcome != site.NoListings:
		return &exitError{code: ExitBlocked}
	case 2*(rejected+page.Bad) > len(page.Listings)+page.Bad:
		return &exitError{code: ExitFailures}
	}
	return nil
}

// tryKept reads a page that a crawl has kept. The source stands where its page is.
func tryKept(c *cli.Context, src *site.Source) (*site.Source, *site.Page, error) {
	var page *kept.Page
	var body []byte
	pages, err := kept.OpenReader(pagesFile(c))
	if err == nil {
		defer func() { _ = pages.Close() }() // only read
		page, body, err = pages.Read(c.Context, c.Int64("page"))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, kept.ErrRemoved) {
		return nil, nil, fmt.Errorf("no page has the number %d in %s: the newest %d of unknown layout are kept of each source", c.Int64("page"), pagesFile(c), kept.MaxUnknown)
	}
	if err != nil {
		return nil, nil, err
	}
	return crawl.ParseKept(src, page, body)
}

// tryAddress asks for a page as a crawl does. The source stands where its page is.
func (p *Program) tryAddress(c *cli.Context, src *site.Source) (*site.Source, *site.Page, error) {
	address, err := webAddress("", c.Args().Get(1), "https://www.example.com/austin-tx/plumbers")
	var way egress
	if err == nil {
		way, err = egressOf(c)
	}
	if err == nil && way.policy == fetch.PolicyRequire {
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
			err = &exitError{code: ExitBlocked, err: fmt.Errorf("%s is held until %s: %s", address.Host, yp.Moment(k.DB().Now(), held.Until), held.Reason)}
		}
		if err != nil {
			return nil, nil, err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, nil, err
	}
	client := fetch.New(how)
	defer client.Close()
	res, err := client.Get(c.Context, fetch.Request{URL: address.String(), Base: src.BaseURL(), MaxHold: how.Timeout})
	if errors.Is(err, fetch.ErrChallenge) {
		return src, &site.Page{Outcome: site.Unrecognised, Reason: "a block or a challenge, which ypcrawl never solves: " + err.Error()}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	defer res.Release()
	p.note("Asked for %s once: status %d, %s.", yp.Printable(address.Redacted()), res.Status, bytesText(int64(len(res.Body))))
	page, err := src.ParsePage(slices.Clone(res.Body), res.URL, res.Status)
	return src, page, err
}
