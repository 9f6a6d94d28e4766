package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) reparseCommand() *cli.Command {
	return &cli.Command{
		Name: "reparse", Usage: "Read kept pages again with another definition, without any request",
		UsageText: "  ypcrawl reparse --source-file mended.yaml --dry-run   counts what another definition would store\n" +
			"  ypcrawl reparse --source-file mended.yaml             stores it\n  ypcrawl changes --since 1h                            shows it",
		Description: "Reads the pages kept by `run --keep-pages DAYS`, the newest of each search and page number. It sends no request.\n" +
			"Listings are stored as if that crawl had used today's definition: newer data stays, no listing is closed, and no search\n" +
			"changes its status. `changes` marks these changes as reparsed. After a kill, run it again: nothing is lost.\n" +
			"Logs do not record this: after `wal replay` into another file, run it again there.",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "source-file", TakesFile: true, DefaultText: "the definition that a run would use, for each source",
				Usage: "read the pages of its source with this definition `FILE` (YAML)",
			},
			frame.OnlySourceFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "only count; store nothing"},
			frame.JSONFlag(),
		},
		Action: p.reparse,
	}
}

func (p *Program) reparse(c *cli.Context) error {
	cfg := crawl.ReparseConfig{Only: c.String("source"), DryRun: c.Bool("dry-run"), Reached: p.Reached}
	if path := c.String("source-file"); path != "" {
		src, err := readSource(path)
		if err != nil {
			return frame.Usagef("--source-file: %w", err)
		}
		if cfg.Only != "" && cfg.Only != src.Name() {
			return frame.Usagef("--source %s: %s is the definition of %s; leave out --source", cfg.Only, path, src.Name())
		}
		cfg.Only, cfg.Source = src.Name(), func(string) (*site.Source, error) { return src, nil }
	}
	pages, err := kept.OpenReader(pagesFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no pages are kept in %s; crawl with `ypcrawl run --keep-pages 30` first", pagesFile(c))
	}
	if err != nil {
		return fmt.Errorf("kept pages: %w", err)
	}
	defer func() { _ = pages.Close() }() // opened for reading only
	if cfg.Source == nil {
		stored, err := p.storedSources(c)
		if err != nil {
			return err
		}
		cfg.Source = func(name string) (*site.Source, error) {
			src, err := stored.load("", name)
			if err != nil {
				p.Note("The pages of %s are left out: %s.", yp.Printable(name), yp.Printable(err.Error()))
			}
			return src, err
		}
	}
	var out *crawl.Reparsed
	err = p.with(c, existing, func(k *database, _ store.Scope) error {
		cfg.Keeper, cfg.Pages = k.Keeper, pages
		out, err = crawl.Reparse(c.Context, cfg)
		return err
	})
	if err != nil {
		return err
	}
	return p.Tell(c, out, func(w *frame.Sections) { reparsedText(w, out) })
}

func reparsedText(w *frame.Sections, out *crawl.Reparsed) {
	x, verb := out.Stored, "stored"
	if out.DryRun {
		verb = "would be stored"
	}
	count := func(n int) string { return thousands(int64(n)) }
	w.Lines(
		fmt.Sprintf("%s read again, with %s; %s can't be read, %s show no listings with this definition",
			plural(out.Pages, "page"), plural(out.Listings, "listing"), count(out.Damaged), count(out.Unread)),
		fmt.Sprintf("%s %s: %s new, %s changed, %s completed; %s brought nothing new", plural(x.Stored, "page"), verb,
			plural(x.New, "listing"), count(x.Changed), count(x.Completed), plural(x.Same, "page")),
		fmt.Sprintf("%s: the database has newer data, so only empty fields were set; %s skipped: their target or listing is not in the database", plural(x.Older, "listing"), plural(x.Unknown, "page")),
	)
	if out.DryRun {
		w.More("Nothing was stored (--dry-run).")
	}
}
