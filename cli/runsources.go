package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// sourceNames tells which sources go side by side: those that are named, of which there are several, or
// all of the database. Settings that name several give way to a command line that has one definition.
func (p *Program) sourceNames(c *cli.Context) (names []string, all bool) {
	for _, name := range SplitList(c.StringSlice("source")) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	all = slices.Contains(names, allSources)
	if len(names) < 2 && !all || p.typed("source-file") && !p.typed("source") {
		return nil, false
	}
	return names, all
}

// typed reports whether a flag stands on the command line: the library tells it from
// neither a variable nor the settings file.
func (p *Program) typed(flag string) bool {
	for _, arg := range p.args {
		if arg == "--" {
			return false
		}
		if isFlag(arg) {
			if name, _, _ := splitFlag(arg); name == flag {
				return true
			}
		}
	}
	return false
}

// several reports whether sources were asked for that go side by side: the summary has
// a line for each then, even if there is one.
func (r *run) several() bool {
	names, all := r.p.sourceNames(r.c)
	return len(names) > 0 || all
}

// chooseSources finds the sources of the run and what is selected of each. One that has
// nothing of it is left out with a word: others may have.
func (r *run) chooseSources() (runs []*sourceRun, err error) {
	sources, err := r.loadSources()
	if err != nil {
		return nil, err
	}
	if r.places, err = loadPlaces(r.sel.States); err != nil {
		return nil, err
	}
	known := map[string]*discover.Resolved{} // by extent: the places of a hundred sources are the same
	var last error
	for _, src := range sources {
		x := extent(src)
		key := fmt.Sprintf("%q %d %d", x.Categories, x.PlacesPerState, x.PageCap)
		resolved := known[key]
		if resolved == nil {
			if resolved, last = resolveIn(r.places, src, r.sel); last != nil {
				if len(sources) > 1 {
					r.log.Warn().Str("source", src.Name()).Str("reason", last.Error()).Msg("a source is left out")
				}
				continue
			}
			known[key] = resolved
		}
		runs = append(runs, &sourceRun{src: src, resolved: resolved})
	}
	if len(runs) == 0 {
		return nil, last
	}
	return runs, nil
}

// loadSources loads the sources that --source means, and refuses flags that say two things.
func (r *run) loadSources() (all []*site.Source, err error) {
	names, every := r.p.sourceNames(r.c)
	if len(names) == 0 && !every {
		src, err := r.p.source(r.c)
		return []*site.Source{src}, err
	}
	if len(names) > 1 && every {
		return nil, Usagef("--source %s: name sources or say all, not both", strings.Join(names, " "))
	}
	for _, name := range []string{"source-file", "base-url"} {
		if r.p.typed(name) {
			return nil, Usagef("--%s is about one source: leave it out, or name one source with --source", name)
		}
	}
	stored, err := r.p.storedSources(r.c)
	if err != nil {
		return nil, err
	}
	if every {
		return r.p.allSources(r.c, stored)
	}
	for _, name := range names {
		src, err := stored.load("--source: ", name)
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	return all, nil
}

// allSources loads every source of the database that is enabled and past review. One
// whose definition is a file of the operator's can't be had here.
func (p *Program) allSources(c *cli.Context, stored storedList) (all []*site.Source, err error) {
	for _, s := range stored {
		switch {
		case !s.Enabled:
			continue
		case s.Definition == "" && !isBuiltin(s.Name):
			p.note("%s is left out: its definition is a file; crawl it with --source-file.", yp.Printable(s.Name))
			continue
		}
		src, err := stored.load("", s.Name)
		if err != nil {
			p.note("%s is left out: %s.", yp.Printable(s.Name), yp.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		all = append(all, src)
	}
	if len(all) == 0 {
		return nil, Usagef("--source all: %s has no enabled source; add one with `ypcrawl sources add FILE.yaml`, or name them", c.String("db"))
	}
	return all, nil
}

// ownDemo is the run over the demo directory if this process has to serve it: its
// address was not given. Of several sources, it may be one that somebody else serves.
func (r *run) ownDemo() *sourceRun {
	for _, c := range r.sources {
		switch {
		case c.src.Name() != demoSource, !r.several() && (r.c.IsSet("base-url") || r.c.IsSet("source-file")):
		case r.several() && !isBuiltinPlace(c.src) && !vacant(c.src.BaseURL().Host):
		default:
			return c
		}
	}
	return nil
}

// isBuiltinPlace reports whether a source is where its definition says: nobody has
// ever crawled it elsewhere.
func isBuiltinPlace(src *site.Source) bool {
	b, err := site.Builtin(src.Name())
	return err == nil && b.BaseURL().Host == src.BaseURL().Host
}

// vacant reports whether an address of this machine is there to be served at.
func vacant(host string) bool {
	at, err := netip.ParseAddrPort(host)
	if err != nil || !at.Addr().IsLoopback() {
		return false
	}
	l, err := net.Listen("tcp", host) //nolint:noctx // it is closed at once
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// storedList is the sources that the database knows.
type storedList []checkpoint.StoredSource

// storedSources reads them. It makes no database; without one there are none.
func (p *Program) storedSources(c *cli.Context) (storedList, error) {
	how := existing // an older file is upgraded
	if c.Bool("dry-run") {
		how = reading
	}
	k, err := p.open(c, how)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := k.StoredSources(c.Context)
	return all, errors.Join(err, k.DB().Close())
}

// namedSource loads the source that --source names: built in, or stored. The database
// is looked at only for a name that is not built in.
func (p *Program) namedSource(c *cli.Context, name string) (*site.Source, error) {
	if isBuiltin(name) {
		return site.Builtin(name)
	}
	stored, err := p.storedSources(c)
	if err != nil {
		return nil, err
	}
	if s, ok := stored.find(name); ok && !s.Enabled {
		return nil, closedSource(s)
	}
	return stored.load("--source: ", name)
}

func isBuiltin(name string) bool { return slices.Contains(site.Builtins(), name) }

func (l storedList) find(name string) (checkpoint.StoredSource, bool) {
	i := slices.IndexFunc(l, func(s checkpoint.StoredSource) bool { return s.Name == name })
	if i < 0 {
		return checkpoint.StoredSource{}, false
	}
	return l[i], true
}

// load returns a source by its name, where the database has it if it does. what says
// where the name was typed.
func (l storedList) load(what, name string) (*site.Source, error) {
	s, known := l.find(name)
	switch {
	case isBuiltin(name):
		src, err := site.Builtin(name)
		if err != nil || !known {
			return src, err
		}
		return movedTo(src, s)
	case !known:
		return nil, l.unknown(what, name)
	case s.Definition == "":
		return nil, Usagef("%s%q was crawled with a definition from a file, which the database does not hold: name the file with --source-file", what, name)
	}
	src, err := site.Parse(name+" (stored)", []byte(s.Definition))
	if err != nil {
		return nil, fmt.Errorf("the stored definition of source %s can't be used: %w: `ypcrawl sources show %s --yaml` prints it, `ypcrawl sources add` replaces it", name, err, name)
	}
	if src.Name() != name {
		return nil, fmt.Errorf("the stored definition of source %s has the name %s: `ypcrawl sources show %s --yaml` prints it", name, src.Name(), name)
	}
	return movedTo(src, s)
}

// movedTo is a source where the database has it.
func movedTo(src *site.Source, s checkpoint.StoredSource) (*site.Source, error) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the stored address %q of source %s is not a web address", s.BaseURL, s.Name)
	}
	return src.WithBaseURL(u), nil
}

// closedSource refuses a source that an operator has disabled.
func closedSource(s checkpoint.StoredSource) error {
	return &exitError{code: ExitBlocked, err: fmt.Errorf("source %s is disabled: `ypcrawl sources enable %s` enables it", s.Name, s.Name)}
}

// unknown names the sources that there are, or the nearest.
func (l storedList) unknown(what, name string) error {
	var names []string
	for _, s := range l {
		names = append(names, s.Name)
	}
	return Usagef("%s%s (use --source-file for a definition of your own)", what, unknownSource(name, names))
}

// unknownSource says which sources there are, built in and of these names.
func unknownSource(name string, names []string) string {
	known := append(site.Builtins(), names...)
	slices.Sort(known)
	known = slices.Compact(known)
	hint := "there are " + strings.Join(known, " and ")
	if len(known) > 2 {
		hint = "there are " + strings.Join(known, ", ")
	}
	if near, ok := yp.Nearest(name, known); ok {
		hint = "did you mean " + near + "? " + hint
	}
	return fmt.Sprintf("unknown source %q: %s", name, hint)
}
