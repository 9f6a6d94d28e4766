package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

const tryDescription = `The page is a URL or a file. A URL is requested once, with the robots.txt, pace and waits of a crawl; a file needs
no request. With --target, the URL comes from the definition.
SOURCE is a name (see "sources list"), FILE is a definition. No listing is stored.
Exit codes: 0 listings, or a page that says that there are none; 3 more than half of the cards can't be read or are
rejected; 5 a block page, a redirect, or a page that is not the site's; 7 a page of the site in an unknown layout.`

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: each value with the rule that gave it, what is empty or rejected, and why",
		ArgsUsage: "SOURCE|FILE [URL|PAGE.html]", Args: true, Description: tryDescription,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "read the page again whenever the definition (or the page's file) is saved, until Ctrl-C"},
			&cli.BoolFlag{Name: "details", Usage: "the page is a listing's own, not one of results"},
			&cli.StringFlag{Name: "target", DefaultText: "none", Usage: "`CITY/CATEGORY` whose first page it is, as the site writes them: austin-tx/plumbers"},
			&cli.StringFlag{Name: "save", DefaultText: "none", Usage: "save the requested page in `FILE`, to try it again without a request"},
			&cli.BoolFlag{Name: "all", Usage: "show every card in full, not only the first"},
			&cli.StringFlag{Name: "base-url", DefaultText: "the source's", Usage: "`URL` of the site, instead of the one that the source names"},
		}, keepFlags(), []cli.Flag{delayFlag(), robotsFlag(), userAgentFlag(), requestTimeoutFlag(), jsonFlag()}),
		Action: p.sourcesTry,
	}
}

// trial is one `sources try`.
type trial struct {
	p        *Program
	c        *cli.Context
	source   string     // name of a source, or its file
	file     bool       // it is a file
	place    *yp.Place  // --target
	address  *url.URL   // of the page; nil = it is a file
	page     string     // that file
	answered *tryAnswer // of the address: it is asked for once
}

// tryAnswer is a page as it came.
type tryAnswer struct {
	body   []byte
	final  *url.URL // nil = not known
	status int
	vendor string // whose block or challenge it is; "" = none
}

func (p *Program) sourcesTry(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 || len(args) > 2 {
		return Usagef("want a source, or the file of a definition, and a page: `ypcrawl sources try mine.yaml page.html`")
	}
	t := &trial{p: p, c: c, source: args[0], file: isFile(args[0])}
	if target := c.String("target"); target != "" {
		city, category, ok := strings.Cut(target, "/")
		if !ok || city == "" || category == "" {
			return Usagef("--target %q: want a city and a category as the site's addresses have them: austin-tx/plumbers", target)
		}
		t.place = placeOfSlugs(city, category)
	}
	switch {
	case len(args) == 2 && strings.Contains(args[1], "://"):
		address, err := webAddress("", args[1], "https://www.example.com/austin-tx/plumbers")
		if err != nil {
			return err
		}
		t.address = address
	case len(args) == 2:
		t.page = args[1]
	case t.place == nil:
		return Usagef("want a page: its address, or a file; or --target austin-tx/plumbers")
	}
	if n := c.Int("min-score"); n < 0 || n > 100 {
		return Usagef("--min-score %d: want a number from 0 to 100", n)
	}
	if c.IsSet("save") && t.page != "" {
		return Usagef("--save: %s is a file already; give an address, or --target alone", t.page)
	}
	if c.Bool("watch") {
		return t.watch()
	}
	return t.show()
}

// isFile reports whether a word names a definition's file and no source.
func isFile(word string) bool {
	ext := strings.ToLower(filepath.Ext(word))
	return ext == ".yaml" || ext == ".yml" || !site.ValidName(word)
}

// placeOfSlugs is the place that the parts of an address name.
func placeOfSlugs(city, category string) *yp.Place {
	pl := &yp.Place{City: city, CitySlug: city, Category: category, CategorySlug: category}
	words := func(slug string) string { return titleCase(strings.ReplaceAll(slug, "-", " ")) }
	pl.Category = words(category)
	if i := strings.LastIndexByte(city, '-'); i > 0 {
		if st, ok := yp.LookupState(city[i+1:]); ok {
			pl.State, city = st.Code, city[:i]
		}
	}
	pl.City = words(city)
	return pl
}

func titleCase(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// definition reads the definition anew: it may have been saved.
func (t *trial) definition() (src *site.Source, err error) {
	if t.file {
		src, err = readSource(t.source)
	} else {
		var stored storedList
		if stored, err = t.p.storedSources(t.c); err != nil {
			return nil, err
		}
		for i := range stored { // one that waits for a review is what is to be tried
			stored[i].Stage = checkpoint.StageActive
		}
		src, err = stored.load("", t.source)
	}
	if raw := t.c.String("base-url"); err == nil && raw != "" {
		base, err := baseURL(raw)
		if err != nil {
			return nil, err
		}
		src = src.WithBaseURL(base)
	}
	return src, err
}

// show reads the page once, and tells.
func (t *trial) show() error {
	row, err := t.look()
	if err != nil {
		return err
	}
	if err := t.p.tell(t.c, row, row.text); err != nil {
		return err
	}
	if row.ExitCode != ExitOK {
		return &exitError{code: row.ExitCode}
	}
	return nil
}

// look reads the page with the definition as it is now.
func (t *trial) look() (*triedPage, error) {
	src, err := t.definition()
	if err != nil {
		return nil, err
	}
	if t.c.Bool("details") && !src.HasDetails() {
		return nil, Usagef("%s: %w", src.Name(), site.ErrNoDetails)
	}
	a, err := t.get(src)
	if err != nil {
		return nil, err
	}
	return t.read(src, a)
}

// get has the page: from its file, or by asking for it, which is done once.
func (t *trial) get(src *site.Source) (*tryAnswer, error) {
	if t.page != "" {
		return t.saved(src)
	}
	if t.answered == nil {
		address := t.address
		if address == nil {
			u, err := url.Parse(src.TargetURL(*t.place, 1))
			if err != nil {
				return nil, err
			}
			address = u
		}
		a, err := t.ask(src, address)
		if err != nil {
			return nil, err
		}
		t.answered = a
	}
	return t.answered, nil
}

func (t *trial) saved(src *site.Source) (*tryAnswer, error) {
	f, err := openRegular(t.page)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	page, err := io.ReadAll(io.LimitReader(f, maxSample+1))
	if err == nil && len(page) > maxSample {
		err = fmt.Errorf("%s is larger than %s: too large for a page of a directory", t.page, bytesText(maxSample))
	}
	if err != nil {
		return nil, err
	}
	a := &tryAnswer{status: 200}
	if t.place != nil {
		if a.final, err = url.Parse(src.TargetURL(*t.place, 1)); err != nil {
			return nil, err
		}
	}
	a.body, a.vendor, err = fetch.Saved(page)
	return a, err
}

// ask asks for a page as a crawl does.
func (t *trial) ask(src *site.Source, address *url.URL) (*tryAnswer, error) {
	if base := src.BaseURL(); hostOf(base) != hostOf(address) && strings.TrimPrefix(hostOf(base), "www.") != strings.TrimPrefix(hostOf(address), "www.") {
		root := url.URL{Scheme: address.Scheme, Host: address.Host}
		return nil, Usagef("%s is not a page of %s (%s): if the site is the same, pass --base-url %s",
			yp.Printable(address.Redacted()), src.Name(), base.Redacted(), root.String())
	}
	how, err := t.p.asking(t.c)
	if err != nil {
		return nil, err
	}
	if !t.c.IsSet("delay") {
		how.DelayMin, how.DelayMax = src.DefaultDelay(), src.DefaultDelay()
	}
	k, err := t.p.open(t.c, existing)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	default:
		defer func() { _ = k.DB().Close() }()
		closed, err := closedTo(t.c.Context, k, address)
		if err == nil && closed != "" {
			err = fmt.Errorf("no request may go to the site now: %s\nTo try a kept page without a request:  `ypcrawl sources samples`, `ypcrawl sources sample ID > page.html`", closed)
		}
		if err != nil {
			return nil, err
		}
		how.Turns = health.New(k.DB())
	}
	client := fetch.New(how)
	defer client.Close()
	res, err := client.Get(t.c.Context, fetch.Request{URL: address.String(), Base: src.BaseURL(), MaxHold: how.Timeout})
	var failed *fetch.Error
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		return nil, fmt.Errorf("%w: the site does not allow this page; name a page that it allows, or ask its owner", err)
	case errors.Is(err, fetch.ErrChallenge) && errors.As(err, &failed):
		return &tryAnswer{status: failed.Status, final: address, vendor: failed.Err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	defer res.Release()
	t.p.note("Asked for %s once: status %d, %s.", yp.Printable(address.Redacted()), res.Status, bytesText(int64(len(res.Body))))
	if path := t.c.String("save"); path != "" {
		if err := os.WriteFile(path, res.Body, 0o644); err != nil {
			return nil, err
		}
	}
	return &tryAnswer{body: slices.Clone(res.Body), final: res.URL, status: res.Status}, nil
}

// triedPage is what `sources try` tells.
type triedPage struct {
	Source     string       `json:"source"`
	Definition string       `json:"definition"` // its file, or the name of the source
	Page       string       `json:"page"`       // its file, or its address
	Asked      bool         `json:"asked"`      // the site was asked for it
	Status     int          `json:"status"`     // of the answer
	Outcome    yp.ErrorCode `json:"outcome"`    // error code of an attempt that ends with such a page; SUCCESS = it has listings
	Reason     string       `json:"reason"`
	ExitCode   int          `json:"exit_code"`
	Raw        int          `json:"raw_count"` // cards
	Bad        int          `json:"bad_count"` // cards without an id or a name
	Rejected   int          `json:"rejected_count"`
	Around     []site.Value `json:"page_values"` // next link, total
	Cards      []triedCard  `json:"cards"`
	Detail     []site.Value `json:"detail,omitempty"` // what a listing's own page says
	Never      []string     `json:"on_no_card"`       // fields
	Hints      []site.Hint  `json:"hints"`
	Signs      []site.Rule  `json:"signs"` // of the site, and of an empty result, that the page has

	full bool   // all cards are shown in full
	own  string // what the rules of the definition call its file
}

// triedCard is a card of the page.
type triedCard struct {
	site.Card
	Number  int    `json:"number"` // on the page, from 1
	ID      string `json:"id"`
	Name    string `json:"name"`
	Score   int    `json:"score"`              // 0 to 100
	LeftOut string `json:"left_out,omitempty"` // why the filters of the command line leave it out
}

// read reads the page.
func (t *trial) read(src *site.Source, a *tryAnswer) (*triedPage, error) {
	row := &triedPage{
		Source: src.Name(), Definition: t.source, Page: t.page, Asked: t.page == "", Status: a.status, full: t.c.Bool("all"), own: src.File(),
		Around: []site.Value{}, Cards: []triedCard{}, Never: []string{}, Hints: []site.Hint{}, Signs: []site.Rule{},
	}
	if a.final != nil && row.Asked {
		row.Page = a.final.Redacted()
	}
	if a.vendor != "" {
		row.Outcome, row.ExitCode = yp.CauseBlocked.Policy().Code, ExitBlocked
		row.Reason = "a block or a challenge, which ypcrawl never solves: " + a.vendor
		return row, nil
	}
	r, err := src.Read(a.body, a.final, a.status, t.c.Bool("details"))
	if err != nil {
		return nil, err
	}
	row.Outcome, row.Reason, row.Raw, row.Bad = r.Outcome.Code(), r.Reason, r.Raw, r.Bad
	row.Around, row.Detail = append(row.Around, r.Around...), r.Detail
	row.Never, row.Hints, row.Signs = append(row.Never, r.Never...), append(row.Hints, r.Hints...), append(row.Signs, r.Signs...)
	filter := keepFilter(t.c)
	listings := 0
	for i, card := range r.Cards {
		l := &card.Listing
		one := triedCard{Card: card, Number: i + 1, ID: l.ID, Name: l.Name, Score: yp.Score(l)}
		if card.Unread == "" {
			listings++
			if one.LeftOut = filter.Fault(l); one.LeftOut == "" && len(card.Reasons) > 0 {
				row.Rejected++
			}
		}
		row.Cards = append(row.Cards, one)
	}
	switch {
	case r.Outcome == site.HTMLChanged:
		row.ExitCode = ExitLayout
	case r.Outcome == site.Redirected || r.Outcome == site.Unrecognised:
		row.ExitCode = ExitBlocked
	case 2*(row.Rejected+row.Bad) > listings+row.Bad:
		row.ExitCode = ExitFailures
	}
	return row, nil
}

// watchEvery is how often the files are looked at.
const watchEvery = 250 * time.Millisecond

// watch shows the page again whenever a file is saved, until ctx ends.
func (t *trial) watch() error {
	files := []string{}
	if t.file {
		files = append(files, t.source)
	}
	if t.page != "" {
		files = append(files, t.page)
	}
	if len(files) == 0 {
		return Usagef("--watch: there is no file to watch; put the definition into one (`ypcrawl sources show %s --yaml > %s.yaml`)", t.source, t.source)
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	note := fmt.Sprintf("Watching %s; Ctrl-C ends it.", strings.Join(files, " and "))
	for seen := ""; ; {
		if now := stamps(files); now != "" && now != seen {
			if seen = now; t.p.live(t.p.Out) && !t.c.Bool("json") {
				t.p.exit(t.c.Context, t.screen(note))
			} else {
				t.p.exit(t.c.Context, t.show())
			}
			if t.c.Context.Err() == nil {
				t.p.note("%s", note)
			}
		}
		select {
		case <-t.c.Context.Done():
			return nil
		case <-tick.C:
		}
	}
}

// screen shows on a terminal what fits there above a note: the outcome and what is wrong come first.
func (t *trial) screen(note string) error {
	row, err := t.look()
	if err != nil {
		return errors.Join(drawScreen(t.p.Out, nil, 0), err)
	}
	var text bytes.Buffer
	row.text(&sections{p: t.p, w: &text})
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	below := strings.Count(foldLine(t.p.Out, note), "\n") + 2 // and the cursor's line
	return drawScreen(t.p.Out, lines[:min(len(lines), max(1, heightOf(t.p.Out)-below))], widthOf(t.p.Out))
}

// stamps tells one state of the files from another; "" = one is not there, as while an editor replaces it.
func stamps(files []string) string {
	var all []string
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		all = append(all, info.ModTime().String(), fmt.Sprint(info.Size()))
	}
	return strings.Join(all, " ")
}
