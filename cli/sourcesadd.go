package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/guess"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// sourcesAddCommand is `sources add`.
func (p *Program) sourcesAddCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "Guess a definition of a site from a few of its pages, score it, and store it as a source",
		ArgsUsage: "URL", Args: true,
		Description: fmt.Sprintf("At most %d pages are requested. Best is the address of a results page (one category in one city).\n", crawl.SampleRequests) +
			fmt.Sprintf("Score %d or more: stored, in the sandbox, where a source has %d targets and becomes active when its layout\n", guess.ScoreSandbox, checkpoint.SandboxTargets) +
			fmt.Sprintf("holds; from %d: stored, disabled, for you to review; less: refused, with the reasons. Adding it again updates it.", guess.ScoreReview),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", DefaultText: "from the host", Usage: "`NAME` of the source: lower-case letters, digits, - and _"},
			list("states", "a `STATE` that the site has, by code or name", "any", "s"),
			&cli.StringFlag{Name: "city", DefaultText: "a large one", Usage: "a `CITY` of that state that the site has"},
			&cli.StringFlag{Name: "category", DefaultText: "Plumbers", Usage: "a `CATEGORY` that the site has"},
			&cli.BoolFlag{Name: "dry-run", Usage: "store nothing, show the result"},
			&cli.GenericFlag{Name: "delay", Value: delayValue(defaultSampleDelay), Usage: "`TIME` between two requests to a host: 2s, 1s-3s or 0"},
			robotsFlag(),
			userAgentFlag(),
			requestTimeoutFlag(),
			jsonFlag(),
		},
		Action: p.sourcesAdd,
	}
}

// stagedRow is what `sources add` tells, and `sources set`.
type stagedRow struct {
	Name    string           `json:"name"`
	BaseURL string           `json:"base_url"`
	Form    string           `json:"form,omitempty"` // the built-in source that it looks like, or "structured"
	Score   *int             `json:"score"`
	Stored  bool             `json:"stored"`
	Updated bool             `json:"updated"`
	Stage   checkpoint.Stage `json:"stage,omitempty"`
	Enabled bool             `json:"enabled"`
	Reasons []string         `json:"reasons"`
	Pages   []crawl.Sampled  `json:"pages"`

	definition []byte
	changed    bool
}

func (p *Program) sourcesAdd(c *cli.Context) error {
	if c.Args().Len() != 1 {
		if s := c.StringSlice("states"); !c.Args().Present() && strings.Contains(strings.Join(s, " "), "://") {
			return Usagef("write the web address before --states, which takes all words after it: `ypcrawl sources add URL --states IL`")
		}
		return Usagef("want one web address, like https://www.example.com/austin-tx/plumbers")
	}
	address, err := webAddress("", c.Args().First(), "https://www.example.com/austin-tx/plumbers")
	if err != nil {
		return err
	}
	address.Fragment, address.RawFragment = "", ""
	s, asks, err := p.sampling(c)
	if err != nil {
		return err
	}
	a := adding{p: p, c: c, address: address}
	defer a.close()
	if err := a.open(); err != nil {
		return err
	}
	if err := a.name(); err != nil {
		return err
	}
	row, err := a.sample(s, asks)
	if err != nil {
		return err
	}
	if *row.Score < guess.ScoreReview || len(row.definition) == 0 {
		return a.refuse(row)
	}
	row.Stage = checkpoint.StageSandbox
	if *row.Score < guess.ScoreSandbox {
		row.Stage = checkpoint.StageReview
	}
	row.Enabled = row.Stage == checkpoint.StageSandbox
	if !c.Bool("dry-run") {
		if err := a.store(row); err != nil {
			return err
		}
	}
	return p.tellAdded(c, row)
}

// adding is one `sources add`.
type adding struct {
	p       *Program
	c       *cli.Context
	address *url.URL
	k       *database // nil = there is no database yet
	known   storedList
	called  string
}

// open reads what is known already. Where there is no database none is made yet: what is
// refused leaves nothing behind.
func (a *adding) open() (err error) {
	how := existing
	if a.c.Bool("dry-run") {
		how = reading
	}
	if a.k, err = a.p.open(a.c, how); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.known, err = a.k.StoredSources(a.c.Context); err != nil {
		return err
	}
	closed, err := closedTo(a.c.Context, a.k, a.address)
	if err == nil && closed != "" {
		err = fmt.Errorf("no request may go to the site now: %s", closed)
	}
	return err
}

func (a *adding) close() {
	if a.k != nil {
		_ = a.k.DB().Close()
	}
}

// name finds the name of the source: that of the source that is at this host already,
// else the one that was typed, else one made from the host. A name, or a host, that
// belongs to another source is refused; an address of this machine, such as the demo's,
// belongs to nobody.
func (a *adding) name() error {
	typed, address := a.c.String("name"), a.address.String()
	for _, s := range a.known {
		if !checkpoint.SameHost(s.BaseURL, address) {
			continue
		}
		a.called = s.Name
		if isBuiltin(s.Name) {
			return a.taken(&checkpoint.SourceTakenError{Name: s.Name, BaseURL: s.BaseURL, Host: true, BuiltIn: true})
		}
		if typed != "" && typed != s.Name {
			a.p.note("%s is already the source %s: it is updated, and --name %s is not used.", s.BaseURL, s.Name, yp.Printable(typed))
		}
		return nil
	}
	a.called = cmp.Or(typed, crawl.SourceNameOf(a.address, false))
	if _, err := guess.Guess(a.called, a.address, nil, guess.Hints{}); err != nil { // of no samples, it only looks at the name
		return Usagef("--name: %w", err)
	}
	for _, name := range site.Builtins() {
		src, err := site.Builtin(name)
		if err != nil {
			return err
		}
		own := src.BaseURL()
		_, err = netip.ParseAddr(own.Hostname())
		if host := err != nil && checkpoint.SameHost(own.String(), address); host || name == a.called {
			return a.taken(&checkpoint.SourceTakenError{Name: name, BaseURL: own.String(), Host: host, BuiltIn: true})
		}
	}
	if s, ok := a.known.find(a.called); ok {
		return a.taken(&checkpoint.SourceTakenError{Name: s.Name, BaseURL: s.BaseURL})
	}
	return nil
}

// taken gives the error its next step.
func (a *adding) taken(e *checkpoint.SourceTakenError) error {
	switch {
	case e.Host && e.BuiltIn:
		return fmt.Errorf("%w: `ypcrawl run --source %s --base-url %s` crawls it", e, e.Name, e.BaseURL)
	case e.Host:
		return fmt.Errorf("%w: add it without --name to update it", e)
	}
	used := func(name string) bool {
		_, known := a.known.find(name)
		return known || isBuiltin(name)
	}
	base := crawl.SourceNameOf(a.address, false)
	name := base
	if used(name) {
		name = crawl.SourceNameOf(a.address, true)
	}
	for n := 2; used(name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return fmt.Errorf("%w: choose another one, for example --name %s", e, name)
}

// sample asks the site, and rates what it answers.
func (a *adding) sample(s crawl.Sampling, asks fetch.Config) (*stagedRow, error) {
	if a.k != nil && !a.c.Bool("dry-run") { // which writes nothing
		asks.Turns = health.New(a.k.DB())
	}
	client := fetch.New(asks)
	defer client.Close()
	s.Fetch = client
	found, err := s.Find(a.c.Context, a.called, a.address)
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		return nil, fmt.Errorf("%w: the site does not allow this page; name a page that it allows, or ask its owner", err)
	case errors.Is(err, fetch.ErrChallenge):
		return nil, fmt.Errorf("%w: the site blocks programs, and ypcrawl solves no challenge", err)
	case err != nil:
		return nil, fmt.Errorf("%w: open the address in a browser", err)
	}
	row := &stagedRow{
		Name: a.called, BaseURL: a.address.String(), Form: found.Form, Score: &found.Score,
		Reasons: append([]string{}, found.Reasons...), Pages: found.Pages, definition: found.YAML,
	}
	if found.Source != nil {
		row.BaseURL = found.Source.BaseURL().String()
	}
	return row, nil
}

// store stores what was found, in a new database if there is none.
func (a *adding) store(row *stagedRow) (err error) {
	if a.k == nil {
		if a.k, err = a.p.open(a.c, create); err != nil {
			return err
		}
	}
	err = storeSource(a.c.Context, a.k, row, false)
	if taken, ok := errors.AsType[*checkpoint.SourceTakenError](err); ok {
		return a.taken(taken)
	}
	return err
}

// storeSource stores the row, and notes in it what became of it.
func storeSource(ctx context.Context, k *database, row *stagedRow, moves bool) error {
	added, err := k.AddSource(ctx, checkpoint.NewSource{
		Name: row.Name, BaseURL: row.BaseURL, Definition: string(row.definition), Stage: row.Stage, Score: row.Score, Notes: row.Reasons,
		Moves: moves, BuiltIn: site.Builtins(),
	})
	if err != nil {
		return err
	}
	row.Stored, row.Updated, row.Stage, row.Enabled = true, added.Updated, added.Stage, added.Enabled
	row.changed = added.Changed
	return nil
}

// refuse tells why nothing is stored, and ends with exit code 1.
func (a *adding) refuse(row *stagedRow) error {
	row.BaseURL = a.address.String()
	if a.c.Bool("json") {
		if err := writeJSON(a.p.Out, row); err != nil {
			return err
		}
	}
	verb := "added"
	if _, known := a.known.find(a.called); known {
		verb = "updated, and " + a.called + " stays as it is"
	}
	text := fmt.Sprintf("%s was not %s: score %d, want %d or more", yp.Printable(a.address.Redacted()), verb, *row.Score, guess.ScoreReview)
	for _, reason := range row.Reasons {
		text += "\n  " + reason
	}
	for _, page := range row.Pages {
		switch {
		case page.Error != "":
			text += "\n  " + page.URL + ": " + report.Cause(page.Error)
		case page.LedTo != "":
			text += "\n  " + yp.Printable(page.URL+" led to "+page.LedTo)
		}
	}
	text += "\nNext: use the address of a results page, for one category in one city; or write a definition yourself, starting from\n" +
		"  `ypcrawl sources show yellowpages`; `ypcrawl sources try FILE URL` says what it reads, `ypcrawl sources set " + a.called + " --file FILE` stores it"
	return errors.New(text)
}

// tellAdded tells what was stored, in what stage, why, and what comes next.
func (p *Program) tellAdded(c *cli.Context, row *stagedRow) error {
	return p.tell(c, row, func(w *sections) {
		w.lines(addedText(row))
		for _, reason := range row.Reasons {
			w.item("  ", reason)
		}
		switch {
		case !row.Stored:
			w.more("Nothing was stored (--dry-run).")
		case row.Stage == checkpoint.StageReview:
			w.more(fmt.Sprintf("Next: look at it with `ypcrawl sources show %s --yaml`, then `ypcrawl sources enable %s` tries it in the sandbox.",
				row.Name, row.Name))
		case !row.Enabled:
			w.more(fmt.Sprintf("Next: `ypcrawl sources enable %s`.", row.Name))
		default:
			w.more(fmt.Sprintf("Next: `ypcrawl run --source %s --states CA`.", row.Name))
		}
	})
}

func addedText(row *stagedRow) string {
	text := row.Name
	switch {
	case !row.Stored:
		text += " would be stored"
	case row.Updated && !row.changed:
		text += " was there, with the same definition, and is updated"
	case row.Updated:
		text += " was there, and is updated: its definition is a new one"
	default:
		text += " was added"
	}
	if row.Score != nil {
		text += fmt.Sprintf(" (score %d)", *row.Score)
	}
	switch row.Stage {
	case checkpoint.StageSandbox:
		text += fmt.Sprintf("; it is in the sandbox: %d targets at most, until its layout has proved stable", checkpoint.SandboxTargets)
	case checkpoint.StageReview:
		text += "; it is disabled, for you to review"
	case checkpoint.StageActive:
		text += "; it is active"
	}
	if row.Stage != checkpoint.StageReview && !row.Enabled {
		text += ", and disabled"
	}
	return text
}

// sampling reads the flags that say where, and how, the site is asked.
func (p *Program) sampling(c *cli.Context) (s crawl.Sampling, how fetch.Config, err error) {
	if how, err = p.asking(c); err != nil {
		return s, how, err
	}
	g, err := loadPlaces()
	if err != nil {
		return s, how, err
	}
	if s.Place, err = samplePlace(c, g); err != nil {
		return s, how, err
	}
	s.Hints, s.MaxHold = hints(g), how.Timeout
	return s, how, nil
}

// asking reads the flags that say how a site is asked for single pages.
func (p *Program) asking(c *cli.Context) (how fetch.Config, err error) {
	if rule := c.String("robots"); rule != "obey" && rule != "ignore" {
		return how, Usagef("--robots %q: want obey or ignore", rule)
	}
	if err := checkUserAgent(c.String("user-agent")); err != nil {
		return how, err
	}
	if p.requiresProxies(c) {
		return how, errors.New("the settings require proxies, and this asks directly: remove the requirement from the settings, " +
			"or crawl with `ypcrawl run`")
	}
	how = fetch.Config{
		UserAgent: c.String("user-agent"), ConcurrencyPerHost: 1, MaxBody: maxSample, Timeout: timeOf(c, "request-timeout"),
		IgnoreRobots: c.String("robots") == "ignore",
	}
	how.DelayMin, how.DelayMax = delayOf(c, "delay")
	how.Logger, err = p.logger(c, p.Err)
	return how, err
}

const (
	// defaultSampleDelay is between two requests for samples: nothing is known of the
	// site yet.
	defaultSampleDelay = 2 * time.Second
	// maxSample is the largest sample, in bytes: all of them are held at once.
	maxSample = 4 << 20
)

// samplePlace is what is searched for on the site: what the flags say, else plumbers in
// the largest place of the state, or of all.
func samplePlace(c *cli.Context, g *gazetteer.Gazetteer) (yp.Place, error) {
	codes, err := states(c)
	if err != nil {
		return yp.Place{}, err
	}
	sel := discover.Selection{States: codes, MaxCities: 1, AnyCategory: true, Categories: []string{c.String("category")}}
	if !c.IsSet("category") {
		sel.Categories = []string{"Plumbers"}
	}
	if city := c.String("city"); city != "" {
		sel.Cities, sel.MaxCities = []string{city}, 0
	} else if len(codes) == 0 {
		sel.States = []string{"CA"} // New York's slug has several forms, Los Angeles' has one
	}
	r, err := discover.Resolve(g, discover.Source{}, sel)
	if err != nil {
		return yp.Place{}, Usagef("%w", err)
	}
	city, category := r.Cities[0], r.Categories[0]
	return yp.Place{City: city.Name, CitySlug: city.Slug, State: city.State, Category: category.Name, CategorySlug: category.Slug}, nil
}

// hints are the places and categories that are known.
func hints(g *gazetteer.Gazetteer) guess.Hints {
	all := g.All()
	bySlug := make(map[string]*gazetteer.Place, len(all))
	for i := range all {
		bySlug[all[i].Slug] = &all[i]
	}
	return guess.Hints{
		Categories: discover.KnownCategories(),
		City: func(slug string) (city, state string, ok bool) {
			p, ok := bySlug[slug]
			if !ok {
				return "", "", false
			}
			return p.Name, p.State, true
		},
	}
}
