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
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// tried is a page that was read, by what and as what.
type tried struct {
	*site.Page
	src   *site.Source // where the page is
	trace *site.Trace
	ask   site.Request // "" of a page that nobody asked for
	index bool         // it was read as a page of an index
	place yp.Place     // that was asked for; none with an address
}

// tryKept reads a page that a crawl has kept. The source is where its page is.
func (p *Program) tryKept(c *cli.Context, src *site.Source) (*tried, error) {
	var page *kept.Page
	var body []byte
	pages, err := kept.OpenReader(pagesFile(c))
	if err == nil {
		defer func() { _ = pages.Close() }() // only read
		page, body, err = pages.Read(c.Context, c.Int64("page"))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, kept.ErrRemoved) {
		return nil, fmt.Errorf("--page %d: no such page in %s; the newest %d of unknown layout are kept per source",
			c.Int64("page"), pagesFile(c), kept.MaxUnknown)
	}
	if err != nil {
		return nil, err
	}
	t := &tried{index: page.Kind == yp.KindIndex}
	if asked := (site.Request{Method: page.Method, URL: page.URL, Body: page.Asked}); !asked.Plain() {
		p.noteAsked(asked, fmt.Sprintf("status %d, kept", page.Status))
	}
	src, t.trace = src.Tracing()
	t.src, t.Page, err = crawl.ParseKept(src, page, body)
	return t, err
}

// asker asks for pages as a crawl does: by robots.txt, and at the pace of the host.
type asker struct {
	p       *Program
	client  *fetch.Client
	secrets *fetch.Secrets
	timeout time.Duration
	close   []func()
}

// end lets go of what the asker holds.
func (a *asker) end() {
	for _, f := range slices.Backward(a.close) {
		f()
	}
}

// newAsker returns what asks the site of a source, unless that is held or may be asked by proxies alone.
func (p *Program) newAsker(c *cli.Context, src *site.Source) (a *asker, err error) {
	way, err := egressOf(c)
	if err == nil && way.Policy == fetch.PolicyRequire {
		err = errors.New("the settings require proxies, but this command requests directly; remove the requirement from the settings, or crawl with `ypcrawl run`")
	}
	if err != nil {
		return nil, err
	}
	a = &asker{p: p, timeout: cmp.Or(src.RequestTimeout(), fetch.DefaultTimeout)}
	defer func() {
		if err != nil {
			a.end()
		}
	}()
	how := fetch.Config{ConcurrencyPerHost: 1, Timeout: a.timeout, DelayMin: src.DefaultDelay()}
	k, err := p.open(c, existing)
	switch {
	case err == nil:
		a.close = append(a.close, func() { _ = k.DB().Close() }) // only the host's turn was written
		how.Turns = health.New(k.DB())
		host := src.BaseURL()
		held, err := k.HostAvailability(c.Context, fetch.HostKey(host))
		if err == nil && !held.Open() {
			err = &exitError{
				code: ExitBlocked,
				err:  fmt.Errorf("%s is held until %s: %s", host.Host, yp.Moment(k.DB().Now(), held.Until), held.Reason),
			}
		}
		if err != nil {
			return a, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return a, err
	}
	if a.secrets, err = sourceSecrets(src); err != nil {
		return a, err
	}
	p.noteSecrets(src)
	a.client = fetch.New(how)
	a.close = append(a.close, a.client.Close)
	return a, nil
}

// reader reads an answer in one of the ways that a source has.
type reader func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error)

// get asks for a page once and reads it.
func (a *asker) get(c *cli.Context, src *site.Source, ask site.Request, read reader) (*site.Page, error) {
	if err := ask.Err(); err != nil {
		return nil, err
	}
	parse := func(res *fetch.Response) (*site.Page, error) {
		of := src.WithCharset(res.Charset).WithHeader(res.Header).On(time.Now())
		return read(of, slices.Clone(res.Body), res.URL, res.Status)
	}
	req := fetch.Request{
		Method: ask.Method, URL: ask.URL, Header: ask.Header, Body: ask.Body, Secrets: a.secrets,
		Base: src.BaseURL(), MaxHold: a.timeout,
		Leave: func(res *fetch.Response, to fetch.Refresh) bool {
			page, err := parse(res)
			return err == nil && crawl.Leaves(page, res, to)
		},
	}
	res, err := a.client.Get(c.Context, req)
	if req.Fresh = errors.Is(err, fetch.ErrStale); req.Fresh || fetch.AskAgain(err) != nil { // stale: the connection of robots.txt
		res, err = a.client.Get(c.Context, req)
	}
	if fe, ok := errors.AsType[*fetch.Error](err); ok && fe.Refused() {
		return &site.Page{Outcome: site.Unrecognised, Reason: report.Cause(fe.Error())}, nil
	}
	if errors.Is(err, fetch.ErrChallenge) {
		return &site.Page{Outcome: site.Unrecognised, Reason: "a block or a challenge, which ypcrawl never solves: " + err.Error()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	defer res.Release()
	a.p.noteAsked(ask, fmt.Sprintf("status %d, %s", res.Status, bytesText(int64(len(res.Body)))))
	if base := src.BaseURL(); base.Scheme == "http" && strings.HasPrefix(ask.URL, "http:") && res.URL.Scheme == "https" {
		a.p.Note("%s.", yp.Printable(fetch.SecureText(base, res.URL)))
	}
	return parse(res)
}

// noteAsked says what was requested, with the body of the request, and what came.
func (p *Program) noteAsked(ask site.Request, came string) {
	address := ask.URL
	if u, err := url.Parse(address); err == nil {
		address = u.Redacted()
	}
	p.Note("Requested %s: %s.", yp.Printable(ask.LabelAt(address)), came)
	if len(ask.Body) > 0 {
		p.Note("With %s", yp.Printable(yp.Clip(yp.Clean(string(ask.Body)), maxBodyShown)))
	}
}

// maxBodyShown is how much of the body of a request is shown, in bytes.
const maxBodyShown = 1000

// tryAddress asks for a page at an address. The source is where its page is.
func (p *Program) tryAddress(c *cli.Context, a *asker, src *site.Source, address *url.URL) (*tried, error) {
	t := &tried{src: src, ask: src.LinkRequest(address.String())}
	src, t.trace = src.Tracing()
	read := reader((*site.Source).ParseAny)
	if state, ok := src.IndexAt(address); ok {
		t.index, read = true, indexReader(state)
	}
	var err error
	t.Page, err = a.get(c, src, t.ask, read)
	return t, err
}

// indexReader reads the index of a state.
func indexReader(state string) reader {
	return func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		return src.ParseIndex(body, final, status, state)
	}
}

// pageReader reads the page of results that begins at a position of its list.
func pageReader(at site.Position) reader {
	return func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error) {
		return src.At(at).ParsePage(body, final, status)
	}
}

// tryRequest asks for a page as a crawl does: of results, of an index or a listing's own one.
func (p *Program) tryRequest(c *cli.Context, a *asker, src *site.Source) (*tried, error) {
	t := &tried{src: src}
	read := pageReader(site.Position{Page: 1})
	switch id := c.String("own"); {
	case id != "":
		ask, ok := src.DetailRequest(id, "")
		if !ok {
			return nil, frame.Usagef("--own: %s has no detail.url to make the address from; give the address of the page", src.Name())
		}
		t.ask, read = ask, (*site.Source).ParseDetail
	case c.Bool("index"):
		state, err := triedIndex(c, src)
		if err != nil {
			return nil, err
		}
		t.index, t.ask, read = true, src.IndexRequests(state)[0], indexReader(state)
	default:
		place, err := triedPlace(c, src)
		if err != nil {
			return nil, err
		}
		t.place, t.ask = place, src.TargetRequest(place, site.Position{Page: 1})
		p.Note("%s in %s.", yp.Printable(place.Category), yp.Printable(inState(place.City, place.State)))
	}
	src, t.trace = src.Tracing()
	var err error
	t.Page, err = a.get(c, src, t.ask, read)
	return t, err
}

// triedIndex is the state whose index --index reads, "" = of all.
func triedIndex(c *cli.Context, src *site.Source) (string, error) {
	if !src.HasIndex() {
		return "", frame.Usagef("--index: %s has no index of cities (no urls.state_index)", src.Name())
	}
	place, err := triedPlace(c, src)
	state := indexState(src, place.State)
	if err == nil && len(src.IndexRequests(state)) == 0 {
		err = frame.Usagef("--index: no states of %s are known: name one with --state", src.Name())
	}
	return state, err
}

// triedPlace is the place and the category that the flags name; what they leave out is as in samplePlace.
func triedPlace(c *cli.Context, src *site.Source) (yp.Place, error) {
	place := samplePlace(src)
	category, err := triedCategory(c, src)
	if err != nil {
		return place, err
	}
	state, city := c.String("state"), c.String("city")
	if state != "" {
		if state, err = triedState(src, state); err != nil {
			return place, err
		}
	}
	if state != "" || city != "" {
		if place, err = triedCity(src, city, state, place); err != nil {
			return place, err
		}
	}
	place.Category, place.CategorySlug = category, yp.CategorySlug(category)
	return place, nil
}

// triedState is the code of the state that --state names.
func triedState(src *site.Source, text string) (string, error) {
	if len(src.States().All()) == 0 {
		return text, nil
	}
	codes, err := src.States().Parse([]string{text})
	if err != nil || len(codes) != 1 {
		return "", frame.Usagef("--state: %w", cmp.Or(err, errors.New("want one state")))
	}
	return codes[0], nil
}

// triedCity is a city by its name or slug, "" = the largest, in a state, "" = in any. Where the source knows none, it is as it is typed.
func triedCity(src *site.Source, city, state string, sample yp.Place) (yp.Place, error) {
	g := gazetteer.New(src.Cities())
	if !src.OwnPlaces() {
		var states []string
		if state != "" {
			states = []string{state}
		}
		var err error
		if g, err = loadPlaces(states); err != nil {
			return sample, err
		}
	}
	all := g.All() // the largest first
	at := slices.IndexFunc(all, func(one gazetteer.Place) bool {
		named := city == "" || strings.EqualFold(one.Name, city) || strings.EqualFold(one.Slug, city)
		return named && (state == "" || one.State == state)
	})
	if place := (yp.Place{City: cmp.Or(city, sample.City), State: cmp.Or(state, sample.State)}); at < 0 && (len(all) == 0 || src.HasIndex()) {
		if place.CitySlug = cmp.Or(yp.Slug(place.City), place.City); src.HasIndex() { // which alone knows the city's slug
			place.CitySlug = cmp.Or(city, sample.CitySlug)
		}
		return place, nil
	}
	if at < 0 && city == "" {
		return sample, frame.Usagef("--state %s: %s has no city in it", state, src.Name())
	}
	if at < 0 {
		return sample, frame.Usagef("--city %q: %s has no such city%s", city, src.Name(), inStateText(state))
	}
	return yp.Place{City: all[at].Name, CitySlug: all[at].Slug, State: all[at].State}, nil
}

func inStateText(state string) string {
	if state == "" {
		return ""
	}
	return " in " + state
}

// triedCategory is the category that --category names, by default the source's first.
func triedCategory(c *cli.Context, src *site.Source) (string, error) {
	name, all := c.String("category"), src.Categories()
	if name == "" {
		return sampleCategory(src), nil
	}
	for _, one := range all {
		if strings.EqualFold(one, name) || yp.CategorySlug(one) == yp.CategorySlug(name) {
			return one, nil
		}
	}
	if near, ok := yp.Nearest(name, all); ok {
		return "", frame.Usagef("--category %q: did you mean %q?", name, near)
	}
	return name, nil
}

// follow asks for what follows a page of results; nil = nothing does.
func (p *Program) follow(c *cli.Context, a *asker, t *tried) (*tried, error) {
	next := &tried{src: t.src, place: t.place}
	at, isPosition := site.ParsePosition(t.NextURL)
	switch {
	case t.NextURL == "":
		return nil, nil
	case !isPosition:
		at = site.Position{Page: 2}
		next.ask = t.src.LinkRequest(t.NextURL)
	case t.place.City == "":
		return nil, frame.Usagef("--next: this list is requested by position, and an address doesn't say which place it is of; give --state, --city and --category instead")
	default:
		next.ask = t.src.TargetRequest(t.place, at)
	}
	var err error
	next.Page, err = a.get(c, t.src, next.ask, pageReader(at))
	return next, err
}
