package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/measure"
	"ypcrawl/cli/web"
	"ypcrawl/yp"
)

const defaultListen = "127.0.0.1:8081"

func (p *Program) dashboardCommand() *cli.Command {
	return &cli.Command{
		Name:  "dashboard",
		Usage: "Show the crawl as a live page in the browser, with or without a run",
		Description: "It only reads the database; Ctrl-C ends it. `run --web` serves the\n" +
			"same page during a run. Before the first crawl, the page says how to begin; it shows the crawl as soon as there is one.\n" +
			"Only this machine can open it, unless --listen names another address. There is no password: anyone who\n" +
			"can reach the address can see the listings. A browser must use that address, or a name given with --allow-host.",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "listen", Value: defaultListen,
				Usage: "`ADDRESS` to serve the page at; a port alone means 127.0.0.1, and 0 any free port",
			},
			allowHostFlag(),
			frame.StatesFlag(),
			frame.OnlySourceFlag(),
		},
		Action: p.dashboard,
	}
}

func allowHostFlag() cli.Flag {
	return frame.WordsFlag("allow-host", "also let browsers open the page under these host names: `NAME...`, such as that of a proxy in front of it", "none")
}

func (p *Program) dashboard(c *cli.Context) error {
	log, err := p.logger(c, p.Err)
	if err != nil {
		return err
	}
	page, err := p.listen(c, "listen", log)
	if err != nil {
		return err
	}
	defer page.close()
	err = p.showPage(c, page)
	if c.Context.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is how it ends, however early
	}
	return err
}

// page is the page of a program that serves one: its address is taken before anything else is
// done, so that a run whose page can't be served does not begin.
type page struct {
	listener net.Listener
	hosts    []string
	db       string
	command  string // how this program is called for it
	logs     string // the folder of the write-ahead logs
	log      zerolog.Logger
}

// listenError says why an address that is well written can't be listened at now.
type listenError struct{ error }

// listen takes the address that a flag names.
func (p *Program) listen(c *cli.Context, flag string, log zerolog.Logger) (*page, error) {
	address, err := listenAddress(c.String(flag))
	if err != nil {
		return nil, frame.Usagef("--%s %q: %w", flag, c.String(flag), err)
	}
	hosts := frame.SplitList(c.StringSlice("allow-host"))
	if err := frame.NotEmpty(c, "allow-host", hosts); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(hosts, func(h string) bool { return h == "" || strings.ContainsAny(h, "/*@ ") }); i >= 0 {
		return nil, frame.Usagef("allow-host %q: want a name like crawl.example.com, without http:// before it", hosts[i])
	}
	var lc net.ListenConfig
	l, err := lc.Listen(c.Context, "tcp", address.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, frame.Usagef("--%s %s: %w", flag, address,
			listenError{errors.New("another program uses this address, perhaps another dashboard; choose another port, or 0 for any free one")})
	case err != nil:
		return nil, frame.Usagef("--%s %s: %w", flag, address, listenError{fmt.Errorf("%w: name an address of this machine", err)})
	}
	if !address.Addr().IsLoopback() {
		log.Warn().Str("address", address.String()).Msg("other machines can reach the page, and it has no password: anyone who reaches it sees the listings")
	}
	g := &page{listener: l, hosts: hosts, db: filepath.Base(c.String("db")), command: p.Command(), logs: logDir(c), log: log}
	return g, nil
}

// listenAddress reads an address: "8081" and ":8081" mean this machine alone.
func listenAddress(s string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if _, perr := strconv.ParseUint(s, 10, 16); perr != nil {
			return netip.AddrPort{}, errors.New("want an address like " + defaultListen)
		}
		host, port = "", s
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not an IP address of this machine: want one like %s", host, defaultListen)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: want a number from 0 to 65,535", port)
	}
	return netip.AddrPortFrom(ip, uint16(n)), nil
}

func (g *page) close() { _ = g.listener.Close() }

// config is that of the page, for whatever is shown.
func (g *page) config() web.Config {
	return web.Config{
		Database: yp.Printable(g.db), Command: yp.Printable(g.command), Hosts: g.hosts, Logger: g.log, Health: measure.Health,
	}
}

// measures are what monitoring asks beside the page.
func (g *page) measures(cfg measure.Config) map[string]http.Handler {
	cfg.Database, cfg.Logs = g.db, g.logs
	return measure.New(cfg).Handlers()
}

// serveRun serves the page of the run of this process until ctx ends.
func (g *page) serveRun(ctx context.Context, k *database) error {
	cfg := g.config()
	cfg.Reader, cfg.Plain = k.Reader, g.measures(measure.Config{Reader: k.Reader, Run: true})
	return web.New(cfg).Serve(ctx, g.listener)
}

// beside serves the page of a run, by readers of its own, until stop is called with the last
// word to those who look on. A page that fails is told, and the run goes on.
func (g *page) beside(r *run) (stop func(last string), err error) {
	k, err := r.p.open(r.c, reading)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.c.Context))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.serveRun(ctx, k); err != nil {
			g.log.Warn().Err(err).Msg("the page is no longer served; the crawl goes on")
		}
	}()
	g.log.Info().Msgf("dashboard: http://%s/", g.listener.Addr())
	return func(last string) {
		cancel(web.Ended(last))
		<-done
		_ = k.DB().Close() // it was only read
	}, nil
}

func webFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "web", DefaultText: "no page",
		Usage: "serve the dashboard at `ADDRESS` while it runs: " + defaultListen + ", or a port alone",
	}
}

// takeAddress takes the address of --web before anything is done. One of the settings holds for every run, also
// for that of tonight while that of yesterday still has the port: then the crawl is worth more than its page.
func (r *run) takeAddress() (err error) {
	if !r.c.IsSet("web") {
		return nil
	}
	r.page, err = r.p.listen(r.c, "web", r.log)
	if errors.As(err, new(listenError)) && !r.p.Typed("web") {
		r.log.Warn().Err(err).Msg("this run has no page; it crawls without one")
		return nil
	}
	return err
}

// servePage serves the page from now on, where one is wanted.
func (r *run) servePage() (err error) {
	if r.page != nil {
		r.endPage, err = r.page.beside(r)
	}
	return err
}

// leavePage ends the page with a last word to those who look on; the first one counts.
func (r *run) leavePage(last string) {
	switch {
	case r.endPage != nil:
		r.endPage(last)
	case r.page != nil:
		r.page.close()
	}
	r.page, r.endPage = nil, nil
}
