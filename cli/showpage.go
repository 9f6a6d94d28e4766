package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/measure"
	"ypcrawl/cli/web"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// showPage serves the page of `dashboard` until it is ended. It waits for a database that is not there yet, and goes on with
// another one that is put in its place.
func (p *Program) showPage(c *cli.Context, g *page) error {
	w := &lookout{p: p, c: c, page: g}
	cfg := g.config()
	switch first, err := w.open(); {
	case err == nil:
		cfg = first.Shown(cfg)
	case !errors.Is(err, store.ErrNotFound):
		return err
	default:
		if err := mayCome(c); err != nil {
			return err
		}
		cfg.Plain = g.measures(measure.Config{Hindrance: w.why})
		cfg.Missing = web.Missing{Path: yp.Printable(w.path()), Begin: beginning(c), Of: yp.Printable(c.String("source")), Why: w.why}
	}
	cfg.Open = w.again
	p.Note("Dashboard: http://%s/   (Ctrl-C stops it)", g.listener.Addr())
	if cfg.Reader == nil {
		p.Note("No crawl yet: waiting for %s. Start a crawl with `ypcrawl %s`; the dashboard shows it as soon as it begins.", w.path(), beginning(c))
	}
	return web.New(cfg).Serve(c.Context, g.listener)
}

// beginning is a command that begins a crawl, without the program's name.
func beginning(c *cli.Context) string {
	source := c.String("source")
	if source == "" || source == "demo" {
		return "run --source demo --states CA TX"
	}
	return frame.ShellLine([]string{"run", "--source", source})
}

// mayCome checks what was typed where there is no database: the states of a source that is named are known once it is planned.
func mayCome(c *cli.Context) error {
	if err := frame.NotEmpty(c, "states", c.StringSlice("states")); err != nil || c.IsSet("source") {
		return err
	}
	_, err := frame.StatesOf(c, usa())
	return err
}

// lookout opens the database of a page as often as there is another one.
type lookout struct {
	p    *Program
	c    *cli.Context
	page *page

	mu  sync.Mutex
	err error // why the last try failed; nil = it did not, or there was nothing
}

// path is that of the database, from the top.
func (w *lookout) path() string {
	path := w.c.String("db")
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// why is the reason for which a database that is there can't be shown.
func (w *lookout) why() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// again opens the database that is there by now; nil = there is none, or it can't be shown.
func (w *lookout) again(ctx context.Context) *web.Opened {
	opened, err := w.open()
	switch {
	case err == nil:
		opened.Showing = func() { w.p.Note("Now showing %s.", w.c.String("db")) }
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrReplaced), errors.As(err, new(unplanned)), ctx.Err() != nil:
		err = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && (w.err == nil || err.Error() != w.err.Error()) {
		w.p.Note("%s can't be shown: %v", w.c.String("db"), err)
	}
	w.err = err
	return opened
}

// open opens the database with the scope that was typed.
func (w *lookout) open() (*web.Opened, error) {
	k, err := w.p.open(w.c, watching)
	if err != nil {
		return nil, err
	}
	scope, err := typedScope(w.c, k)
	if err != nil {
		return nil, errors.Join(err, k.DB().Close())
	}
	about := strings.Join(slices.DeleteFunc([]string{w.c.String("source"), strings.Join(scope.States, ", ")},
		func(s string) bool { return s == "" }), " in ")
	return &web.Opened{
		Reader: k.Reader, Scope: scope, About: about, Plain: w.page.measures(measure.Config{Reader: k.Reader, Follows: true}),
		Close: func() { _ = k.DB().Close() }, // it was only read
	}, nil
}
