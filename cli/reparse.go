package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// pagesFile has the pages that --keep-pages keeps, and those whose layout was not known.
func pagesFile(c *cli.Context) string { return store.RealPath(c.String("db")) + ".pages" }

const defaultPagesSize = 2_000_000_000

func keepPagesFlag() cli.Flag {
	return &cli.GenericFlag{Name: "keep-pages", Value: daysValue(0), DefaultText: "0: off", Usage: "keep each page of results and of a listing for `DAYS`, compressed, in ypcrawl.db.pages, so that `reparse` can read it again; 0 = only pages of unknown layout, 10 a source"}
}

// leastPagesSize is what a run needs to keep pages in.
const leastPagesSize = 20_000_000

// keepPages opens the file of kept pages; nil = none is kept. A crawl is never the
// worse for it: what fails is only logged.
func (r *run) keepPages() *kept.Writer {
	w, err := kept.Open(kept.Config{
		Path: pagesFile(r.c), Days: int(timeOf(r.c, "keep-pages") / day), MaxBytes: flagValue[int64](r.c, "keep-pages-size"), Free: freeSpace, Logger: r.log,
	})
	if err != nil {
		r.log.Warn().Err(err).Str("file", pagesFile(r.c)).Msg("pages are not kept in this run; the crawl goes on")
		return nil
	}
	return w
}

const reparseExamples = `  ypcrawl reparse --source-file mended.yaml --dry-run   counts what another definition would store
  ypcrawl reparse --source-file mended.yaml             stores it
  ypcrawl changes --since 1h                            shows it`

const reparseHelp = `Reads the pages that ` + "`run --keep-pages DAYS`" + ` has kept, the newest of each target and page number. It sends no request.
Listings are stored as if that crawl had used today's definition: newer data stays, no listing is dropped, and no target
changes its status. ` + "`changes`" + ` marks these changes as reparsed. After a kill, type the same again: nothing is lost.`

func (p *Program) reparseCommand() *cli.Command {
	return &cli.Command{
		Name: "reparse", Usage: "Read kept pages again, by another definition, without a request", UsageText: reparseExamples, Description: reparseHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source-file", DefaultText: "the definition of each source that a run would take", Usage: "read the pages of its source by this definition `FILE` (YAML)"},
			onlySourceFlag(), statesFlag(),
			&cli.StringFlag{Name: "since", DefaultText: "all", Usage: "only pages fetched since `7d|DATE|RUN`"},
			&cli.StringFlag{Name: "until", DefaultText: "all", Usage: "only pages fetched until `7d|DATE|RUN`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "count, and store nothing"},
			jsonFlag(),
		},
		Action: p.reparse,
	}
}

func (p *Program) reparse(c *cli.Context) error {
	own, err := ownDefinition(c)
	if err != nil {
		return err
	}
	pages, err := kept.OpenReader(pagesFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no pages are kept in %s: crawl with `ypcrawl run --keep-pages 30`, then they can be read again", pagesFile(c))
	}
	if err != nil {
		return fmt.Errorf("kept pages: %w", err)
	}
	defer func() { _ = pages.Close() }() // opened for reading only
	var stored storedList
	if own == nil {
		if stored, err = p.storedSources(c); err != nil {
			return err
		}
	}
	var out *crawl.Reparsed
	do := func(k *database, log checkpoint.EditLog) error {
		which, err := pagesChosen(c, k, own)
		if err != nil {
			return err
		}
		out, err = crawl.Reparse(c.Context, crawl.ReparseConfig{
			Keeper: k.Keeper, Log: log, Pages: pages, Which: which, Source: p.definitions(own, stored), Heard: p.tellPages(c), Reached: p.Reached,
		})
		return err
	}
	if c.Bool("dry-run") {
		err = p.with(c, existing, func(k *database, _ store.Scope) error { return do(k, nil) })
	} else {
		err = p.edit(c, do)
	}
	if err != nil {
		return err
	}
	return p.tell(c, out, func(w *sections) { reparsedText(w, out) })
}

// tellPages tells from time to time how far it is.
func (p *Program) tellPages(c *cli.Context) func(done, all int) {
	last := time.Now()
	return func(done, all int) {
		if time.Since(last) >= 10*time.Second && !c.Bool("quiet") {
			last = time.Now()
			p.note("%s of %s pages are read again.", thousands(int64(done)), thousands(int64(all)))
		}
	}
}

// ownDefinition reads --source-file.
func ownDefinition(c *cli.Context) (*site.Source, error) {
	path := c.String("source-file")
	if path == "" {
		return nil, nil
	}
	src, err := readSource(path)
	if err != nil {
		return nil, Usagef("--source-file: %w", err)
	}
	if name := c.String("source"); name != "" && name != src.Name() {
		return nil, Usagef("--source %s: %s is the definition of %s; leave --source out", name, path, src.Name())
	}
	return src, nil
}

// definitions are what pages are read by.
func (p *Program) definitions(own *site.Source, stored storedList) func(name string) (*site.Source, error) {
	return func(name string) (*site.Source, error) {
		if own != nil {
			return own, nil
		}
		src, err := stored.load("", name)
		if err != nil {
			p.note("The pages of %s are left out: %s.", yp.Printable(name), yp.Printable(err.Error()))
			return nil, site.ErrNoSource
		}
		return src, nil
	}
}

// pagesChosen tells which pages the flags mean.
func pagesChosen(c *cli.Context, k *database, own *site.Source) (which kept.Selection, err error) {
	which.Source = c.String("source")
	if own != nil {
		which.Source = own.Name()
	}
	if which.States, err = states(c); err != nil {
		return which, err
	}
	for flag, at := range map[string]*time.Time{"since": &which.Since, "until": &which.Until} {
		if c.IsSet(flag) {
			s, err := momentOf(c, k, flag)
			if err != nil {
				return which, err
			}
			*at = s.at
		}
	}
	return which, nil
}

func reparsedText(w *sections, out *crawl.Reparsed) {
	head := fmt.Sprintf("%s read again, the newest of %s, with %s", plural(out.Pages, "page"), plural(out.Kept, "kept page"), plural(out.Listings, "listing"))
	for _, x := range []struct {
		n    int
		what string
	}{{out.Unread, "say nothing by this definition"}, {out.Damaged, "can't be read"}, {out.LeftOut, "are of a source that is not known any more"}} {
		if x.n > 0 {
			head += fmt.Sprintf("; %s %s", thousands(int64(x.n)), x.what)
		}
	}
	w.lines(head)
	verb, x := "stored", out.Stored
	if out.DryRun {
		verb = "would be stored"
	}
	w.more(fmt.Sprintf("%s %s: %s new, %s changed, %s completed, %s restored, %s rejected; %s brought nothing new", plural(x.Stored, "page"), verb, plural(x.New, "listing"),
		thousands(int64(x.Changed)), thousands(int64(x.Completed)), thousands(int64(x.Restored)), thousands(int64(x.Rejected)), plural(x.Same, "page")))
	if x.Older > 0 {
		w.more(fmt.Sprintf("%s: the database has newer data, so only empty fields were set", plural(x.Older, "listing")))
	}
	if x.Unknown > 0 {
		w.more(fmt.Sprintf("%s skipped: their target or listing is not in the database", plural(x.Unknown, "page")))
	}
	if out.DryRun {
		w.more("Nothing was stored (--dry-run).")
	}
}

// sizeValue is a number of bytes: "500MB", "2GB".
func sizeValue(def int64) cli.Generic {
	units := []struct {
		name string
		n    int64
	}{{"GB", 1e9}, {"MB", 1e6}}
	parse := func(s string) (int64, error) {
		for _, u := range units {
			number, ok := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(s)), u.name)
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if ok && err == nil && n > 0 && n < 1e6 {
				return int64(n * float64(u.n)), nil
			}
		}
		return 0, errors.New("want a size like 500MB or 2GB")
	}
	return &value[int64]{v: def, parse: parse, text: func(n int64) string {
		for _, u := range units {
			if n >= u.n {
				return strconv.FormatFloat(float64(n)/float64(u.n), 'g', -1, 64) + u.name
			}
		}
		return strconv.FormatInt(n, 10)
	}}
}

// edit changes a database with the log of this process, in which what is changed stands before it
// is committed: so a replay makes it again.
func (p *Program) edit(c *cli.Context, fn func(*database, checkpoint.EditLog) error) error {
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		id, err := k.DB().ID(c.Context)
		if err != nil {
			return err
		}
		number, err := k.EditNumber(c.Context)
		if err != nil {
			return err
		}
		log, err := wal.Create(wal.Config{
			Dir: logDir(c), WorkerID: yp.WorkerID(0, os.Getpid()), Database: id, RunNumber: number, NoCompress: true,
		})
		if err != nil {
			return fmt.Errorf("open write-ahead log: %w", err)
		}
		return asUsage(errors.Join(fn(k, log), log.Close()))
	})
}
