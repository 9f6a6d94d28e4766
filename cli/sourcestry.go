package cli

import (
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

const tryDescription = `The page is the address of one, which is asked for once, as a crawl would ask (robots.txt, pace, what the database
knows of the host), or a file, for which nobody is asked. With --target, the source says what the address is.
SOURCE is a name (see "sources list"), or the FILE of a definition. Nothing is stored.
Exit codes: 0 listings, or a page that says that there are none; 3 more than half of the listings are rejected; 5 a block
page, a redirect, or a page that is not the site's; 7 the site's page, but its layout is not known.`

// sourcesTryCommand is `sources try`.
func (p *Program) sourcesTryCommand() *cli.Command {
	return &cli.Command{
		Name: "try", Usage: "Read one page with a definition: each value with the rule that gave it, what is empty or rejected, and why",
		ArgsUsage: "SOURCE|FILE [URL|PAGE.html]", Args: true, Description: tryDescription,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "read the page again whenever the definition (or the page's file) is saved, until Ctrl-C"},
			&cli.BoolFlag{Name: "details", Usage: "the page is a listing's own, not one of results"},
			&cli.StringFlag{Name: "target", DefaultText: "none", Usage: "`CITY/CATEGORY` whose first page it is, as the site writes them: austin-tx/plumbers"},
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
	src, err := t.definition()
	if err != nil {
		return err
	}
	if t.c.Bool("details") && !src.HasDetails() {
		return Usagef("%s: %w", src.Name(), site.ErrNoDetails)
	}
	a, err := t.get(src)
	if err != nil {
		return err
	}
	row, err := t.read(src, a)
	if err != nil {
		return err
	}
	if err := t.p.tell(t.c, row, func(w *sections) { row.text(w, t.room()) }); err != nil {
		return err
	}
	if row.ExitCode != ExitOK {
		return &exitError{code: row.ExitCode}
	}
	return nil
}

// room is how many cards get a line: as many as fit on a terminal, all elsewhere.
func (t *trial) room() func(used int) int {
	return func(used int) int {
		if !isTerminal(t.p.Out) || t.c.Bool("all") {
			return -1
		}
		return max(0, heightOf(t.p.Out)-used-2)
	}
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
		err = fmt.Errorf("%s is larger than %s: no page of a directory", t.page, bytesText(maxSample))
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
		return nil, Usagef("%s is no page of %s, which is at %s: if the site is the same, pass --base-url %s",
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
			err = fmt.Errorf("the site may not be asked now: %s", closed)
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
		return nil, fmt.Errorf("%w: the site does not want this; give a page that it allows, or ask its owner", err)
	case errors.Is(err, fetch.ErrChallenge) && errors.As(err, &failed):
		return &tryAnswer{status: failed.Status, final: address, vendor: failed.Err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("%w: look at the address with a browser", err)
	}
	defer res.Release()
	t.p.note("Asked for %s once: status %d, %s.", yp.Printable(address.Redacted()), res.Status, bytesText(int64(len(res.Body))))
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
		row.Reason = "a block or a challenge, and no challenge is ever solved: " + a.vendor
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
	filter.Sponsored = filter.Sponsored || !t.c.IsSet("include-sponsored") // ads are listings, and said to be ads
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
	case 2*row.Rejected > listings:
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
	for seen := ""; ; {
		if now := stamps(files); now != "" && now != seen {
			if t.p.live(t.p.Out) && !t.c.Bool("json") {
				_, _ = io.WriteString(t.p.Out, "\x1b[H\x1b[2J")
			} else if seen != "" {
				t.p.note("--- saved, and read again")
			}
			seen = now
			t.p.exit(t.c.Context, t.show())
			if t.c.Context.Err() == nil {
				t.p.note("Watching %s; Ctrl-C ends it.", strings.Join(files, " and "))
			}
		}
		select {
		case <-t.c.Context.Done():
			return nil
		case <-tick.C:
		}
	}
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

// text tells what was read. left says how many lines there are for cards, -1 = any number.
func (row *triedPage) text(w *sections, left func(used int) int) {
	counting := &lineCounter{Writer: w.w}
	w.w = counting
	width := w.p.widthLeft(0)
	w.title(yp.Printable(short(codeText(string(row.Outcome), false)+": "+row.Reason, 4*width)))
	around := newTable("page", "value", "rule")
	for _, v := range row.Around {
		around.row(row.cells(v, width)...)
	}
	w.table(around)
	detail := newTable("field", "value", "rule")
	for _, v := range row.Detail {
		detail.row(row.cells(v, width)...)
	}
	w.table(detail)
	first := slices.IndexFunc(row.Cards, func(c triedCard) bool { return c.Unread == "" && !c.Listing.Sponsored })
	for i := range row.Cards {
		if row.full || i == max(first, 0) {
			row.cardText(w, &row.Cards[i], width)
		}
	}
	row.hintLines(w, width)
	if len(row.Cards) == 0 && len(row.Detail) == 0 {
		var signs []string
		for _, r := range row.Signs {
			signs = append(signs, "  "+row.rule(&r))
		}
		w.lines("The page has these signs of the definition:")
		if w.more(signs...); len(signs) == 0 {
			w.more("  none: chrome says what each page of the site has")
		}
	}
	if row.full || len(row.Cards) < 2 {
		return
	}
	room := left(counting.lines)
	others := newTable("card", "id", "name", "phone", "city", "fields", "score", "")
	n := 0
	for i := range row.Cards {
		c := &row.Cards[i]
		if i == max(first, 0) || room >= 0 && n >= room {
			continue
		}
		n++
		others.row(c.Number, short(c.ID, 12), short(c.Name, max(12, width-76)), c.Listing.Phone, short(c.Listing.City, 14), len(c.Values), c.Score, short(c.fate(), 30))
	}
	w.table(others)
	if kept := len(row.Cards) - 1 - n; kept > 0 {
		w.more(fmt.Sprintf("%s more; --all shows every card in full.", thousands(int64(kept))))
	}
}

// cardText shows a card in full.
func (row *triedPage) cardText(w *sections, c *triedCard, width int) {
	head := fmt.Sprintf("Card %d of %d, score %d", c.Number, len(row.Cards), c.Score)
	if c.Rule != nil {
		head += ": " + row.rule(c.Rule)
	}
	w.lines(short(head, width))
	if fate := c.fate(); fate != "" {
		w.more("  " + fate)
	}
	t := newTable("field", "value", "rule")
	for _, v := range c.Values {
		t.row(row.cells(v, width)...)
	}
	w.begun = false // the table stands below its head
	w.table(t)
	if len(c.Empty) > 0 {
		w.more("empty: " + strings.Join(c.Empty, ", "))
	}
}

// fate tells why a card is no listing, or is not kept, or is an ad.
func (c *triedCard) fate() string {
	switch {
	case c.Unread != "":
		return "unread: " + c.Unread
	case c.LeftOut != "":
		return "left out: " + c.LeftOut
	case len(c.Reasons) > 0:
		return "rejected: " + strings.Join(c.Reasons, "; ")
	case c.Listing.Sponsored:
		return "ad"
	}
	return ""
}

// hintLines names what no card has, and what its rules lack.
func (row *triedPage) hintLines(w *sections, width int) {
	if len(row.Never) > 0 {
		w.lines("On no card: " + strings.Join(row.Never, ", "))
	} else if len(row.Hints) > 0 {
		w.lines("What the rules find:")
	}
	for i, h := range row.Hints {
		if i > 0 && siblings(row.Hints[i-1].Key, h.Key) && !row.full && !strings.Contains(h.Text, "did you mean") && !strings.Contains(h.Text, ";") {
			continue // the first rule of a field tells most
		}
		w.more("  " + row.rule(&h.Rule) + ": " + h.Text)
	}
}

// siblings reports whether two rules are of one field.
func siblings(a, b string) bool {
	a, _, _ = strings.Cut(a, "[")
	b, _, _ = strings.Cut(b, "[")
	return a == b
}

// cells are the cells of a value: what it is of, the value, and what gave it.
func (row *triedPage) cells(v site.Value, width int) []any {
	value := short(v.Text, max(20, width*35/100))
	if v.Text == "" {
		value = "rejected: " + short(v.Taken, max(12, width*35/100-10))
	}
	rule := v.From
	if v.Rule != nil {
		rule = row.rule(v.Rule)
	}
	return []any{v.Field, value, short(rule, max(20, width-width*35/100-22))}
}

// rule names a rule: its key, the line on which it stands, and what it says.
func (row *triedPage) rule(r *site.Rule) string {
	file := ""
	if r.File != row.own {
		file = " " + filepath.Base(r.File)
	}
	return fmt.Sprintf("%s%s:%d %s", r.Key, file, r.Line, r.Text)
}

// lineCounter counts the lines that go through it.
type lineCounter struct {
	io.Writer
	lines int
}

// Write implements io.Writer.
func (l *lineCounter) Write(b []byte) (int, error) {
	l.lines += strings.Count(string(b), "\n")
	return l.Writer.Write(b)
}
