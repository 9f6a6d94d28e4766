package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ypcrawl/cli/frame"

	_ "embed"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
	"ypcrawl/yp/gazetteer"
)

// the example of a log

func (p *Program) walCommand() *cli.Command {
	return &cli.Command{
		Name:  "wal",
		Usage: "The write-ahead logs: read, compress, rebuild a database from them",
		Subcommands: []*cli.Command{
			{
				Name: "read", Usage: "Print events in order of time, as text or JSON lines", ArgsUsage: "[FILE or FOLDER]",
				Args: true, Flags: []cli.Flag{
					&cli.BoolFlag{Name: "json", Usage: "print JSON lines on a terminal, too; elsewhere they are always printed"},
				}, Action: p.walRead,
			},
			{
				Name: "replay", Usage: "Rebuild the database (--db) from logs alone; repeating it changes nothing", ArgsUsage: "[FILE or FOLDER]...",
				Description: replayDescription, Args: true, Flags: []cli.Flag{
					frame.WordsFlag("database", "only lines of these databases: `ID...`; all = mix them", "all if there is only one"),
					frame.JSONFlag(),
				}, Action: p.walReplay,
			},
			{
				Name: "compress", Usage: "Compress the logs of workers that have ended", ArgsUsage: "[FOLDER]",
				Args: true, Flags: []cli.Flag{frame.JSONFlag()}, Action: p.walCompress,
			},
			{
				Name: "demo", Usage: "Write a small example log into a new folder (wal-demo), to try the other commands on", ArgsUsage: "[FOLDER]",
				Args: true, Action: p.walDemo,
			},
		},
	}
}

const replayDescription = `Name the logs when --db is a new file:  ypcrawl --db new.db wal replay logs/yp_wal
Several files and folders are read together. Without a name it reads the logs of --db itself. A new file becomes the database
of the logs, and a crawl can resume in it. Logs of two databases, or of another one than --db, are mixed only when
--database says so. Logs do not record deliveries: the first ` + "`export --as NAME`" + ` from a rebuilt file reports everything as new.`

// walPaths are the arguments, at most so many, or the log folder of --db. They must be there.
func walPaths(c *cli.Context, most int) ([]string, error) {
	paths := c.Args().Slice()
	if len(paths) > most {
		return nil, frame.Usagef("give one file or folder, not %d; see '%s --help'", len(paths), c.Command.HelpName)
	}
	if len(paths) == 0 {
		paths = []string{logDir(c)}
	}
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there are no logs at %s; start a crawl with `ypcrawl run`, or name a file or folder, such as %s",
				path, frame.DefaultLogs)
		}
	}
	return paths, nil
}

// describe is an event in a line for people.
func describe(e *wal.Event) string {
	s := fmt.Sprintf("%s  %s  %-15s", yp.FormatTime(e.Timestamp), yp.WorkerText(e.WorkerID), e.Type)
	if t := e.Target; t != nil {
		switch t.Kind {
		case yp.KindIndex:
			s += fmt.Sprintf("  index of %s", t.State)
		case yp.KindDetail:
			s += fmt.Sprintf("  listing %s of %s", t.Listing, t.Source)
		default:
			s += fmt.Sprintf("  %s in %s", t.Category, inState(t.City, t.State))
		}
	}
	if p := e.Page; p != nil {
		s += fmt.Sprintf("  page %d", p.Number)
		switch {
		case p.Own:
		case p.Path != "":
			s += fmt.Sprintf(": %s", plural(len(p.Cities), "city"))
		default:
			s += fmt.Sprintf(": %d of %d listings", p.Accepted, p.Raw)
		}
		if p.Last {
			s += ", last page"
		}
	}
	switch {
	case e.ErrorCode != "":
		s += fmt.Sprintf("  %s %s", e.ErrorCode, e.Error)
	case e.Lost != nil:
		s += fmt.Sprintf("  %s; the log had %s before", e.Error, plural(e.Lost.Pages, "page"))
	}
	return s
}

// walRead writes events: whole JSON lines for programs, a line each for people.
func (p *Program) walRead(c *cli.Context) error {
	paths, err := walPaths(c, 1)
	if err != nil {
		return err
	}
	asJSON := c.Bool("json") || !frame.IsTerminal(p.Out)
	r, err := wal.OpenReader(paths[0], wal.Options{SkipListings: !asJSON})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	out, bad := bufio.NewWriter(p.Out), 0
	for e, err := range r.Events() {
		if c.Context.Err() != nil {
			break
		}
		if damage, ok := errors.AsType[*wal.CorruptError](err); ok && errors.Is(err, wal.ErrDevelopment) {
			return fmt.Errorf("%s is a log of a development version of ypcrawl, which this version can't read", yp.Printable(damage.File))
		}
		if err != nil {
			bad++
			p.Note("ypcrawl: %s", yp.Printable(err.Error()))
			continue
		}
		var text []byte
		if asJSON {
			text, err = e.MarshalJSON()
		} else {
			text = []byte(yp.Printable(describe(e)))
		}
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
	p.noteTorn(r)
	if err := out.Flush(); err != nil || bad == 0 {
		return err
	}
	return damaged(bad)
}

func (p *Program) noteTorn(r *wal.Reader) {
	for _, t := range r.Torn() {
		p.Note("ypcrawl: %s ends in the middle of a line (%d bytes at offset %d): a write was interrupted there, and nothing before it is lost",
			yp.Printable(t.File), t.Bytes, t.Offset)
	}
}

// noteLost says what folders of logs lack.
func (p *Program) noteLost(paths, databases []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue // what the others of its folder lack is not asked
		}
		all, err := wal.Losses(path)
		if err != nil {
			return err
		}
		for _, l := range all {
			if slices.Contains(databases, l.Database) {
				p.Note("ypcrawl: %s in %s %s while it was written: %s with %s of that time are not in these logs",
					yp.Printable(l.File), yp.Printable(path), l.How,
					plural(l.Pages, "page"), plural(l.Listings, "listing"))
			}
		}
	}
	return nil
}

func (p *Program) walReplay(c *cli.Context) error {
	paths, err := walPaths(c, math.MaxInt)
	if err != nil {
		return err
	}
	g, err := loadPlaces(nil)
	if err != nil {
		return err
	}
	path, also := paths[0], paths[1:]
	writers, err := wal.Databases(paths...)
	if errors.As(err, new(*folder.DeniedError)) { // what is rebuilt without them passes for the whole
		return fmt.Errorf("nothing was replayed because the logs can't be read: %w", err)
	}
	if err != nil {
		return err
	}
	named := strings.Join(paths, " and ")
	chosen, err := chooseDatabases(c, named, writers)
	if err != nil {
		return err
	}
	absent, err := store.Absent(p.Database)
	if err != nil {
		return err
	}
	err = p.with(c, rebuild, func(k *database, _ store.Scope) error {
		adopt, err := adoptable(c, k.DB(), named, chosen)
		if err != nil {
			return err
		}
		if _, err := k.RecoverDead(c.Context, store.Scope{}); err != nil { // a replay moves no target that is held
			return err
		}
		opts := wal.Options{Also: also, ByCommit: true}
		if len(chosen) < len(writers) {
			opts.Databases = chosen
		}
		r, err := wal.OpenReader(path, opts)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		out, err := k.Replay(c.Context, r.Events(), checkpoint.ReplayConfig{
			BaseURL: baseURLOf, City: cityOf(g), Adopt: adopt,
			Damaged: func(err error) { p.Note("ypcrawl: %s", yp.Printable(err.Error())) },
		})
		if err != nil {
			return err
		}
		out.Torn = len(r.Torn())
		p.noteTorn(r)
		if err := p.noteLost(paths, chosen); err != nil {
			return err
		}
		if err := p.Tell(c, out, func(w *frame.Sections) { replayText(w, c.String("db"), out) }); err != nil || out.Damaged == 0 {
			return err
		}
		return damaged(out.Damaged)
	})
	if absent && errors.Is(err, store.ErrDiskFull) { // a part of a replay must not pass for a new database
		alone, held := store.TakeLock(p.Database, store.RunLock, false)
		if errors.Is(held, store.ErrLocked) {
			return err // a run has begun in it meanwhile
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(p.Database + end)
		}
		if held == nil {
			_ = alone.Release()
		}
	}
	return err
}

// chooseDatabases returns the ids of the databases whose lines are to be replayed.
func chooseDatabases(c *cli.Context, path string, there []wal.Writer) ([]string, error) {
	if len(there) == 0 {
		return nil, fmt.Errorf("there is nothing to replay in %s; name the folder of a crawl's logs, or one log", path)
	}
	var all []string
	list := ""
	for _, d := range there {
		if d.ID == "" {
			return nil, fmt.Errorf("%s has logs of a development version of ypcrawl, which this version can't replay: crawl into a new --db", path)
		}
		all = append(all, d.ID)
		list += fmt.Sprintf("\n  %s: %s, the first from %s", d.ID, plural(d.Files, "file"), yp.FormatTime(d.First))
	}
	words := frame.SplitList(c.StringSlice("database"))
	if len(words) == 0 && len(all) > 1 {
		return nil, fmt.Errorf("the logs in %s belong to %d databases; choose one with --database ID, or mix them with --database all%s",
			path, len(all), list)
	}
	if len(words) == 0 || slices.Contains(words, "all") {
		return all, nil
	}
	for _, id := range words {
		if !slices.Contains(all, id) {
			return nil, frame.Usagef("--database %s: the logs in %s have no line of that database; they belong to%s", id, path, list)
		}
	}
	return words, nil
}

// adoptable returns the id that a new file takes over from the logs. A file that holds
// another database is mixed with them only when --database says so.
func adoptable(c *cli.Context, db *store.DB, path string, chosen []string) (string, error) {
	untouched, err := db.Untouched(c.Context)
	if err != nil {
		return "", err
	}
	if untouched {
		if len(chosen) == 1 {
			return chosen[0], nil
		}
		return "", nil
	}
	own, err := db.ID(c.Context)
	if err != nil {
		return "", err
	}
	if len(c.StringSlice("database")) == 0 && !slices.Contains(chosen, own) {
		return "", fmt.Errorf("%s is database %s, but the logs in %s belong to database %s; name a new file with --db, or mix the two with --database %s",
			db.Path(), own, path, chosen[0], chosen[0])
	}
	return "", nil
}

func replayText(w *frame.Sections, db string, out checkpoint.Replayed) {
	w.Lines(fmt.Sprintf("%s, %s, %s, %s of them new, in %s", plural(out.Targets, "target"), plural(out.Pages, "page"),
		plural(out.Listings, "listing"), thousands(int64(out.New)), db))
	for _, line := range []struct {
		n          int
		noun, what string
	}{
		{out.Indexes, "page", "of indexes of cities"},
		{out.Details, "detail", ""},
		{out.Known, "page", "skipped: already in the database"},
		{out.Late, "page", "not the next page of its target, or of one that a run holds: only unknown listings were added"},
		{out.Uncommitted, "page", "skipped: never committed"},
		{out.Unknown, "event", "skipped: of a kind that this version does not know"},
	} {
		if line.n > 0 {
			w.More(strings.TrimSpace(plural(line.n, line.noun) + " " + line.what))
		}
	}
}

// damaged is how reading ends when not all could be read.
func damaged(places int) error {
	return fmt.Errorf("%s could not be read; the rest was", plural(places, "place"))
}

func baseURLOf(source string) string {
	if s, err := site.Builtin(source); err == nil {
		return s.BaseURL().String()
	}
	return ""
}

func cityOf(g *gazetteer.Gazetteer) func(name, slug, state string) (yp.City, bool) {
	return func(name, slug, state string) (yp.City, bool) {
		pl, ok := g.Find(name, state)
		if !ok || pl.Slug != slug {
			return yp.City{}, false
		}
		return yp.City{
			Slug: pl.Slug, Name: pl.Name, State: pl.State, Population: pl.Population, Lat: pl.Lat, Lon: pl.Lon, Tier: pl.Tier,
		}, true
	}
}

func (p *Program) walCompress(c *cli.Context) error {
	paths, err := walPaths(c, 1)
	if err != nil {
		return err
	}
	if info, err := os.Stat(paths[0]); err == nil && !info.IsDir() {
		return frame.Usagef("%s is not a folder: only whole folders can be compressed", paths[0])
	}
	rep, err := wal.CompressClosed(c.Context, paths[0], nil)
	if err != nil {
		return err
	}
	for _, cause := range rep.Foreign {
		p.Note("ypcrawl: left as it is: %s", yp.Printable(cause))
	}
	return p.Answer(c, rep, "%s compressed, %s to %s bytes; %d in use left out", plural(rep.Files, "file"),
		thousands(rep.BytesBefore), thousands(rep.BytesAfter), rep.Live)
}

//go:embed example.jsonl
var exampleLog string

// walDemo writes what a worker that crawled two pages and then died would
// leave, its torn last line included. Never among logs of a crawl: their replay
// would take the example's businesses for real.
func (p *Program) walDemo(c *cli.Context) error {
	if n := c.Args().Len(); n > 1 {
		return frame.Usagef("give one file or folder, not %d; see '%s --help'", n, c.Command.HelpName)
	}
	dir := cmp.Or(c.Args().First(), "wal-demo")
	if there, err := os.ReadDir(dir); len(there) > 0 {
		return fmt.Errorf("%s is not empty: name another folder for the example", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write an example log: %w", err)
	}
	path := filepath.Join(dir, yp.WorkerID(0, 1)+".jsonl")
	err := wal.MakeDir(dir)
	if err == nil {
		err = writeNew(path, []byte(strings.TrimSuffix(exampleLog, "\n")))
	}
	if err == nil {
		err = p.Answer(c, nil, "%s", path)
	}
	if err == nil {
		p.Note("Try:  %s", p.Command("wal", "read", frame.Operand(dir)))
	}
	return err
}

func writeNew(path string, text []byte) error {
	f, err := folder.New(path, os.O_WRONLY, 0o600, nil)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
