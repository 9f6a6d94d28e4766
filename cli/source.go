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

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// How a source is named, found and loaded: built in, stored in the database, or from a file.

// defaultSource is the default of --source.
const defaultSource = "yellowpages"

// sourceFlags choose a source.
func sourceFlags() []cli.Flag {
	one := &cli.StringFlag{
		Name: "source", Value: defaultSource,
		Usage: "`SOURCE`: " + strings.Join(site.Builtins(), ", ") + ", or one stored by `ypcrawl sources add`",
	}
	return append([]cli.Flag{one}, definitionFlags()...)
}

// sourcesFlags choose the sources of a run.
func sourcesFlags() []cli.Flag {
	some := &cli.StringSliceFlag{
		Name: "source", Value: cli.NewStringSlice(defaultSource), DefaultText: defaultSource,
		Usage: "`SOURCE...`: " + strings.Join(site.Builtins(), ", ") + ", others stored by `ypcrawl sources add`, or all",
	}
	return append([]cli.Flag{some}, definitionFlags()...)
}

func definitionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "source-file", TakesFile: true, DefaultText: "none",
			Usage: "definition `FILE` (YAML) of your own source, instead of --source",
		},
		&cli.StringFlag{Name: "base-url", DefaultText: "the source's", Usage: "`URL` of the site, instead of the one in the definition"},
	}
}

// source loads the source that the flags name.
func (p *Program) source(c *cli.Context) (src *site.Source, err error) {
	if path := c.String("source-file"); path == "" {
		src, err = p.namedSource(c, sourceName(c))
	} else if src, err = readSource(path); err != nil {
		err = frame.Usagef("--source-file: %w", err)
	} else {
		err = p.checkFileSecrets(c, src)
	}
	raw := c.String("base-url")
	if err != nil || raw == "" {
		return src, err
	}
	u, err := baseURL(raw)
	if err != nil {
		return nil, err
	}
	return src.WithBaseURL(u), nil
}

// sourceName is the one source that --source names.
func sourceName(c *cli.Context) string {
	if some := c.StringSlice("source"); some != nil {
		return strings.Join(frame.SplitList(some), ",")
	}
	return c.String("source")
}

// webAddress reads the address of a site or a page, like example. A password in it would end
// up in the database, the logs and every error. flag, "--url " say, is where it was typed.
func webAddress(flag, raw, example string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, frame.Usagef("%s%q: want a web address like %s", flag, frame.RedactURL(raw), example)
	case u.User != nil:
		return nil, frame.Usagef("%s%q: leave out user and password, which would be stored with every page", flag, frame.RedactURL(raw))
	}
	return u, nil
}

// baseURL reads --base-url. Its host and path are all that pages are found by.
func baseURL(raw string) (*url.URL, error) {
	u, err := webAddress("--base-url ", raw, "https://www.example.com")
	if err == nil && (u.RawQuery != "" || u.ForceQuery || u.Fragment != "") {
		err = frame.Usagef("--base-url %q: leave out everything from ? or # on: the source's URL templates add their own", raw)
	}
	return u, err
}

// readSource reads a definition file. Its errors name the file as it was typed.
func readSource(path string) (*site.Source, error) {
	text, err := frame.ReadBounded(path, "source definition")
	if err != nil {
		return nil, err
	}
	return site.ParseWith(path, text, besideFile(path))
}

// besideFile opens what a definition file names: it is beside the file or in a folder below that, also where links lead.
func besideFile(path string) site.Opener {
	return func(name string) (text []byte, err error) {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%q: want a file beside the definition, or in a folder below it", name)
		}
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }() // opened for reading only
		info, err := root.Stat(name)
		if err == nil && !info.Mode().IsRegular() { // a pipe may wait for ever
			err = fmt.Errorf("%s is not a regular file", name)
		}
		if err != nil {
			return nil, err
		}
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // opened for reading only
		return io.ReadAll(io.LimitReader(f, site.MaxCitiesFile+1))
	}
}

// storedCities opens the file of cities that is stored with a definition.
func storedCities(text string) site.Opener {
	return func(string) ([]byte, error) {
		if text == "" {
			return nil, errors.New("the file is not in the database")
		}
		return []byte(text), nil
	}
}

// sourceRow is a source as the database keeps it, but for its definition.
func sourceRow(src *site.Source) checkpoint.NewSource {
	n := checkpoint.NewSource{Name: src.Name(), BaseURL: src.BaseURL().String(), Country: src.Country(), Cities: string(src.CitiesFile())}
	if src.OwnPlaces() {
		n.States = src.States().All()
	}
	return n
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
		return nil, &exitError{code: ExitBlocked, err: fmt.Errorf("source %[1]s is disabled: `ypcrawl sources enable %[1]s` enables it", name)}
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
		return nil, frame.Usagef("%s%q was crawled with a definition from a file, which is not in the database; name the file with --source-file", what, name)
	}
	src, err := site.ParseWith(name+" (stored)", []byte(s.Definition), storedCities(s.Cities))
	if err != nil {
		return nil, fmt.Errorf("the stored definition of source %s can't be used: %w; `ypcrawl sources show %s --yaml` prints it, `ypcrawl sources add` replaces it", name, err, name)
	}
	if src.Name() != name {
		return nil, fmt.Errorf("the stored definition of source %s has the name %s: `ypcrawl sources show %s --yaml` prints it",
			name, src.Name(), name)
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

// unknown names the source that was probably meant, or those that there are.
func (l storedList) unknown(what, name string) error {
	known := site.Builtins()
	for _, s := range l {
		known = append(known, s.Name)
	}
	slices.Sort(known)
	return frame.Usagef("%sunknown source %q: %s", what, name, report.Meant(name, slices.Compact(known)))
}
