package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/demo"
	"ypcrawl/yp/gazetteer"
)

const demoSource = "demo"

// startDemo serves the demo directory in this process when the run asks for it
// without saying where it is. It listens where it did last time if it can, so
// that a resumed crawl finds its pages at the same address.
func (r *run) startDemo(ctx context.Context) (stop func(), err error) {
	if r.src.Name() != demoSource || r.c.IsSet("base-url") || r.c.IsSet("source-file") {
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
	r.src = r.src.WithBaseURL(base)
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
		&cli.GenericFlag{Name: "places", Value: &placesValue{}, DefaultText: "40", Usage: "the `N` largest places of every state, or all"},
	}
}

func serveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "addr", Value: "127.0.0.1:0", Usage: "`ADDRESS` to listen on; port 0 takes a free one"},
		&cli.GenericFlag{Name: "latency", Value: ageValue(0), DefaultText: "none", Usage: "`TIME` before every answer: 150ms, 2s"},
		&cli.GenericFlag{
			Name: "fail", Value: &ratesValue{known: troubles()}, DefaultText: "none",
			Usage: "`SHARES` of the requests that fail: 429=0.05,503=0.02,challenge=0.01,timeout=0.01,truncate=0.01,layout=0.01",
		},
	}
}

// troubles are the kinds of failure that the demo directory knows.
func troubles() []string {
	return []string{"429", "503", "challenge", "timeout", "truncate", "layout"}
}

func truthFlags() []cli.Flag {
	return append(selectFlags(),
		&cli.StringFlag{Name: "base-url", DefaultText: "the source's", Usage: "`URL` at which the crawled directory stood; profile addresses start with it"},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "ads too"},
	)
}

func directoryConfig(c *cli.Context) demo.Config {
	return demo.Config{Seed: c.Int64("seed"), Places: placesOf(c, "places")}
}

func (p *Program) demoServe(c *cli.Context) error {
	cfg := directoryConfig(c)
	cfg.Latency, cfg.Fail = timeOf(c, "latency"), ratesOf(c, "fail")
	var err error
	if cfg.Logger, err = p.logger(c, p.Err); err != nil {
		return err
	}
	dir, err := newDirectory(cfg)
	if err != nil {
		return Usagef("%w", err)
	}
	server, err := demo.Serve(context.WithoutCancel(c.Context), c.String("addr"), dir)
	if err != nil {
		return fmt.Errorf("%w: choose another --addr; port 0 takes a free one", err)
	}
	if _, err := fmt.Fprintln(p.Out, reachable(server.URL())); err != nil {
		return errors.Join(err, server.Close())
	}
	p.note("Serving until Ctrl-C. Crawl it:  ypcrawl run --source demo --base-url %s --states CA TX", reachable(server.URL()))
	<-c.Context.Done()
	return server.Close()
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
	dir, err := newDirectory(directoryConfig(c))
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
	return writeJSON(p.Out, dir.Truth(base, want))
}

// truthSelection resolves the words as a run does.
func truthSelection(c *cli.Context, src *site.Source, sel discover.Selection) (demo.Selection, error) {
	r, err := resolve(src, sel)
	if err != nil {
		return demo.Selection{}, err
	}
	want := demo.Selection{
		States: r.States, MaxPages: sel.MaxPages, MinPopulation: sel.MinPopulation, IncludeSponsored: c.Bool("include-sponsored"),
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
