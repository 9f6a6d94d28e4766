package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/yp/gazetteer"
)

const demoSource = "demo"

// startDemo serves the demo directory in this process when the run asks for it
// without saying where it is. It listens where it did last time if it can, so
// that a resumed crawl finds its pages at the same address.
// With several sources, one that somebody else serves is left to them.
func (r *run) startDemo(ctx context.Context) (stop func(), err error) {
	ownDemo := r.ownDemo()
	if ownDemo == nil {
		return func() {}, nil
	}
	dir, err := newDirectory(demo.Config{Logger: r.log})
	if err != nil {
		return nil, err
	}
	last, err := r.keeper.BaseURL(ctx, demoSource)
	if err != nil {
		return nil, err
	}
	server, err := serveDemo(ctx, dir, last)
	if err != nil {
		return nil, fmt.Errorf("start the demo directory: %w", err)
	}
	base, err := url.Parse(server.URL())
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	ownDemo.src = ownDemo.src.WithBaseURL(base)
	r.log.Info().Str("url", server.URL()).Msg("the demo directory is served by this process")
	return func() { _ = server.Close() }, nil
}

func serveDemo(ctx context.Context, dir *demo.Directory, last string) (*demo.Server, error) {
	keep := context.WithoutCancel(ctx) // an interrupted crawl finishes its pages
	if u, err := url.Parse(last); err == nil && u.Port() != "" {
		if s, err := demo.Serve(keep, "127.0.0.1:"+u.Port(), dir); err == nil {
			return s, nil
		}
	}
	return demo.Serve(keep, "127.0.0.1:0", dir)
}

func newDirectory(cfg demo.Config) (*demo.Directory, error) {
	g, err := gazetteer.Load()
	if err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	return demo.New(cfg, g)
}

func (p *Program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "A directory to try things on: serve it, or print what a crawl of it must find",
		Subcommands: []*cli.Command{
			{
				Name:   "serve",
				Usage:  "Serve the demo directory; its base URL is printed once it listens",
				Flags:  append(directoryFlags(), serveFlags()...),
				Action: p.demoServe,
			},
			{
				Name:   "truth",
				Usage:  "Print the listings and companies that a complete crawl must end with, as JSON",
				Flags:  append(directoryFlags(), truthFlags()...),
				Action: p.demoTruth,
			},
		},
	}
}

func directoryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Int64Flag{Name: "seed", Usage: "`NUMBER` that decides all content"},
		&cli.IntFlag{Name: "epoch", Usage: fmt.Sprintf("the directory after `N` steps of change, up to %d: businesses opened, closed, moved, renamed; cities come and gone", demo.MaxEpoch)},
		&cli.GenericFlag{Name: "places", Value: &placesValue{}, DefaultText: "40", Usage: "the `N` largest places of every state, or all"},
	}
}

func serveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "addr", Value: "127.0.0.1:0", Usage: "`ADDRESS` to listen on; port 0 takes a free one"},
		&cli.IntFlag{Name: "count", Value: 1, Usage: "serve `N` directories, each on a port and with a seed of its own: --seed and the ones after it"},
		&cli.GenericFlag{Name: "latency", Value: ageValue(0), DefaultText: "none", Usage: "`TIME` before every answer: 150ms, 2s"},
		&cli.GenericFlag{
			Name: "fail", Value: &ratesValue{known: troubles(), timed: "retry-after"}, DefaultText: "none",
			Usage: "`SHARES` of the requests that fail: 429=0.05,503=0.02,challenge=0.01,timeout=0.01,truncate=0.01,cut=0.01,layout=0.01; with retry-after=60, 429s and 503s say so many seconds (else 429s say 1), with 0 none does",
		},
	}
}

// troubles are the kinds of failure that the demo directory knows.
func troubles() []string {
	return []string{"429", "503", "challenge", "timeout", "truncate", "cut", "layout"}
}

func truthFlags() []cli.Flag {
	return append(selectFlags(),
		&cli.StringFlag{Name: "base-url", DefaultText: "the source's", Usage: "`URL` at which the crawled directory stood; profile addresses start with it"},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "ads too"},
		list("since", "add the changes that a crawl of --epoch tells after crawls of these `EPOCH...`, in this order; gone is what two crawls running miss", "the epoch before, if there is one"),
		&cli.BoolFlag{Name: "planned", Usage: "the crawls take their cities from the gazetteer, whatever the indexes say since"},
		&cli.BoolFlag{Name: "details", Usage: "add what the listings' own pages say"},
		&cli.BoolFlag{Name: "index", Usage: "add the cities that a crawl of the state indexes must find"},
	)
}

// directoryConfig reads the flags that both commands have.
func directoryConfig(c *cli.Context) (demo.Config, error) {
	cfg := demo.Config{Seed: c.Int64("seed"), Epoch: c.Int("epoch"), Places: placesOf(c, "places")}
	return cfg, checkEpoch("epoch", cfg.Epoch)
}

func checkEpoch(flag string, n int) error {
	if n < 0 || n > demo.MaxEpoch {
		return Usagef("--%s %d: want an epoch from 0 to %d", flag, n, demo.MaxEpoch)
	}
	return nil
}

// maxDirectories bounds --count: each takes a port and some goroutines.
const maxDirectories = 1000

func (p *Program) demoServe(c *cli.Context) error {
	cfg, err := directoryConfig(c)
	if err != nil {
		return err
	}
	cfg.Latency, cfg.Fail = timeOf(c, "latency"), ratesOf(c, "fail")
	if after := c.Generic("fail").(*ratesValue).after; after != nil {
		cfg.RetryAfter = cmp.Or(*after, -1)
	}
	if cfg.Logger, err = p.logger(c, p.Err); err != nil {
		return err
	}
	count, err := directoryCount(c)
	if err != nil {
		return err
	}
	g, err := gazetteer.Load()
	if err != nil {
		return fmt.Errorf("load places: %w", err)
	}
	dirs, err := demo.NewMany(cfg, g, count)
	if err != nil {
		return Usagef("%w", err)
	}
	return p.serveAll(c, dirs)
}

// directoryCount reads --count. Several directories cannot stand at one port.
func directoryCount(c *cli.Context) (int, error) {
	n := c.Int("count")
	if n < 1 || n > maxDirectories {
		return 0, Usagef("--count %d: want a number of directories from 1 to %d", n, maxDirectories)
	}
	if _, port, err := net.SplitHostPort(c.String("addr")); n > 1 && err == nil && port != "" && port != "0" {
		return 0, Usagef("--count %d: %d directories cannot share port %s; with port 0 each takes a free one", n, n, port)
	}
	return n, nil
}

// serveAll serves directories until the context ends; their base URLs are
// printed once all of them listen.
func (p *Program) serveAll(c *cli.Context, dirs []*demo.Directory) error {
	servers := make([]*demo.Server, 0, len(dirs))
	urls := ""
	for _, dir := range dirs {
		server, err := demo.Serve(context.WithoutCancel(c.Context), c.String("addr"), dir)
		if err != nil {
			return errors.Join(fmt.Errorf("%w: choose another --addr; port 0 takes a free one", err), closeAll(servers))
		}
		servers = append(servers, server)
		urls += reachable(server.URL()) + "\n"
	}
	if _, err := fmt.Fprint(p.Out, urls); err != nil {
		return errors.Join(err, closeAll(servers))
	}
	p.note("Serving until Ctrl-C. Crawl it:  ypcrawl run --source demo --base-url %s --states CA TX", reachable(servers[0].URL()))
	<-c.Context.Done()
	return closeAll(servers)
}

// closeAll closes servers side by side: each may wait for answers under way.
func closeAll(servers []*demo.Server) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// reachable is the address under which this machine reaches a server that
// listens on all of its addresses.
func reachable(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String()
}

func (p *Program) demoTruth(c *cli.Context) error {
	src, err := site.Builtin(demoSource)
	if err != nil {
		return err
	}
	base := src.BaseURL()
	if raw := c.String("base-url"); raw != "" {
		if base, err = baseURL(raw); err != nil {
			return err
		}
	}
	cfg, err := directoryConfig(c)
	if err != nil {
		return err
	}
	since, err := sinceEpochs(c)
	if err != nil {
		return err
	}
	dir, err := newDirectory(cfg)
	if err != nil {
		return err
	}
	sel, err := selection(c)
	if err != nil {
		return err
	}
	want, err := truthSelection(c, src, sel)
	if err != nil {
		return err
	}
	truth, err := wholeTruth(c, dir, base, want, since)
	if err != nil {
		return err
	}
	return writeJSON(p.Out, truth)
}

// wholeTruth adds to the truth what the flags ask for.
func wholeTruth(c *cli.Context, dir *demo.Directory, base *url.URL, want demo.Selection, since []int) (demo.Truth, error) {
	truth := dir.Truth(base, want)
	if len(since) > 0 {
		changes, err := dir.Changes(want, since...)
		if err != nil {
			return truth, err
		}
		truth.Changes = &changes
	}
	if c.Bool("details") {
		truth.Details = dir.Details(base, want)
	}
	if c.Bool("index") {
		truth.Cities = dir.Cities(want.States...)
	}
	return truth, nil
}

// sinceEpochs is what was crawled before --epoch: the epoch before it unless --since
// says otherwise.
func sinceEpochs(c *cli.Context) ([]int, error) {
	if n := c.Int("epoch"); !c.IsSet("since") && n > 0 {
		return []int{n - 1}, nil
	}
	return epochs(c.StringSlice("since"))
}

// epochs reads the words of --since.
func epochs(words []string) ([]int, error) {
	var all []int
	for _, word := range SplitList(words) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, Usagef("--since %q: want an epoch from 0 to %d", word, demo.MaxEpoch)
		}
		if err := checkEpoch("since", n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// truthSelection resolves the words as a run does.
func truthSelection(c *cli.Context, src *site.Source, sel discover.Selection) (demo.Selection, error) {
	r, err := resolve(src, sel)
	if err != nil {
		return demo.Selection{}, err
	}
	want := demo.Selection{
		States: r.States, MaxPages: sel.MaxPages, MinPopulation: sel.MinPopulation, IncludeSponsored: c.Bool("include-sponsored"), Planned: c.Bool("planned"),
	}
	for _, k := range r.Categories {
		want.Categories = append(want.Categories, k.Name)
	}
	if r.ByCity {
		for _, city := range r.Cities {
			want.Cities = append(want.Cities, city.Slug)
		}
	}
	return want, nil
}
