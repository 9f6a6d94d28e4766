package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

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
	return stored.load("--source ", name)
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
	case s.Stage == checkpoint.StageReview:
		return nil, closedSource(s)
	case s.Definition == "":
		return nil, Usagef("%s%q was crawled with a definition of your own, which the database does not hold: name the file with --source-file", what, name)
	}
	src, err := site.Parse(name+" (stored)", []byte(s.Definition))
	if err != nil {
		return nil, fmt.Errorf("the stored definition of source %s can't be used: %w: `ypcrawl sources show %s --yaml` prints it, `ypcrawl sources add` takes it back", name, err, name)
	}
	if src.Name() != name {
		return nil, fmt.Errorf("the stored definition of source %s calls itself %s: `ypcrawl sources show %s --yaml` prints it", name, src.Name(), name)
	}
	return movedTo(src, s)
}

// movedTo is a source where the database has it.
func movedTo(src *site.Source, s checkpoint.StoredSource) (*site.Source, error) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the stored address %q of source %s is none", s.BaseURL, s.Name)
	}
	return src.WithBaseURL(u), nil
}

// closedSource refuses a source that an operator has to look at first.
func closedSource(s checkpoint.StoredSource) error {
	why := "is disabled"
	if s.Stage == checkpoint.StageReview {
		why = "waits for a review"
	}
	return &exitError{code: ExitBlocked, err: fmt.Errorf(
		"source %s %s: read its definition with `ypcrawl sources show %s --yaml`, then `ypcrawl sources enable %s`", s.Name, why, s.Name, s.Name)}
}

// unknown names the sources that there are, or the nearest.
func (l storedList) unknown(what, name string) error {
	known := site.Builtins()
	for _, s := range l {
		known = append(known, s.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	hint := "there are " + strings.Join(known, " and ")
	if len(known) > 2 {
		hint = "there are " + strings.Join(known, ", ")
	}
	if near, ok := yp.Nearest(name, known); ok {
		hint = "did you mean " + near + "? " + hint
	}
	return Usagef("%sunknown source %q: %s (a definition of your own goes with --source-file)", what, name, hint)
}
