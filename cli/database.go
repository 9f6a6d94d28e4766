package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/export"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/wal"
	"ypcrawl/yp/folder"
)

// access says what a command does with the database.
type access int

const (
	create   access = iota // make the file if need be
	existing               // write to a file that must be there
	reading                // read only, all in one snapshot
	watching               // read only, for as long as somebody looks on
	indexing               // write to a file that must be there, or only read one that can't be written
	rebuild                // make the file if need be, from the logs that may be beside it
)

// database is an open database: what changes it, and what tells of it.
type database struct {
	*checkpoint.Keeper
	*report.Reader
}

// open opens the database that --db names. The first time it removes what killed exports to stdout have left in the
// system's temporary folder; what others have left is beside their files, and goes with the next export there.
func (p *Program) open(c *cli.Context, how access) (*database, error) {
	p.swept.Do(func() { export.RemoveParts(os.TempDir()) })
	absent, err := store.Absent(c.String("db"))
	if err == nil && absent && how != rebuild {
		err = p.lost(c, "")
	}
	if err != nil {
		return nil, err
	}
	cfg := store.Config{
		Path: c.String("db"), Schema: p.Schema, MustExist: how != create && how != rebuild,
		ReadOnly: how == reading || how == watching, LoseCommit: p.LoseCommit, Rewrite: p.Rewrite,
	}
	if p.Reached != nil {
		cfg.BeforeCommit = func() { p.Reached(crawl.PointInTx) }
	}
	db, err := store.Open(c.Context, cfg)
	if cfg.ReadOnly = true; how == indexing && errors.Is(err, store.ErrReadOnly) {
		db, err = store.Open(c.Context, cfg)
	}
	if err == nil && how != rebuild {
		err = p.begunAnew(c, db)
	}
	if err != nil {
		return nil, err
	}
	return &database{checkpoint.New(db), report.New(db)}, nil
}

// lostError says that a database is gone, and that logs of it are there.
type lostError struct{ path, logs, id string }

func (e *lostError) Error() string {
	return fmt.Sprintf("%s is empty, and the logs in %s belong to database %s", e.path, e.logs, e.id)
}

// lost looks for logs of another database beside one that is empty, and whose id is own, "" = it
// has none. The default log folder is the file's alone; a --wal-dir may have logs of other databases, and is not looked at.
func (p *Program) lost(c *cli.Context, own string) error {
	path, dir := c.String("db"), logDir(c)
	if filepath.Clean(dir) != filepath.Clean(logsOf(path)) {
		return nil
	}
	ids, err := wal.Writers(dir)
	if errors.As(err, new(*folder.DeniedError)) { // they may be those of another database
		return fmt.Errorf("%s is empty, and there may be logs of another database beside it: %w", path, err)
	}
	if err != nil {
		return nil //nolint:nilerr // there are none, or a run will tell why they can't be read
	}
	if ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || id == own }); len(ids) == 0 {
		return nil
	}
	if absent, err := store.Absent(path); own == "" && err == nil && !absent {
		return nil // another process made it meanwhile, and logs
	}
	return &lostError{path, dir, ids[0]}
}

// begunAnew closes a database that is empty and beside which there are logs of another one.
func (p *Program) begunAnew(c *cli.Context, db *store.DB) error {
	untouched, err := db.Untouched(c.Context)
	if err == nil && untouched {
		var own string
		if own, err = db.ID(c.Context); err == nil {
			err = p.lost(c, own)
		}
	}
	if err != nil {
		err = errors.Join(err, db.Close())
	}
	return err
}

// with opens the database, hands it to do with the scope of --source and --states, and
// closes it. What was typed is checked first.
func (p *Program) with(c *cli.Context, how access, do func(k *database, scope store.Scope) error) error {
	_, wrong := frame.StatesOf(c, usa())
	k, err := p.open(c, how)
	if err != nil && wrong != nil { // where there is no source of another country
		err = wrong
	}
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }() // every transaction was acknowledged
	scope, err := typedScope(c, k)
	if err != nil {
		return err
	}
	if how != reading {
		return do(k, scope)
	}
	return k.Snapshot(c.Context, func(at *report.Reader) error { return do(&database{k.Keeper, at}, scope) })
}

// unplanned says that nothing was planned for the source of --source.
type unplanned struct{ source, db string }

func (e unplanned) Error() string {
	return fmt.Sprintf("--source %q: nothing is planned for that source in %s", e.source, e.db)
}

// typedScope reads --source and --states by what is in a database.
func typedScope(c *cli.Context, k *database) (scope store.Scope, err error) {
	if name := c.String("source"); name != "" || c.IsSet("source") {
		if scope.SourceID, err = k.SourceID(c.Context, name); err == nil && scope.SourceID == 0 {
			err = frame.Usagef("%w", unplanned{name, c.String("db")})
		}
	}
	if err == nil {
		scope.States, err = statesIn(c, k, scope.SourceID)
	}
	return scope, err
}

// statesIn reads --states by the states of a source of the database, 0 = of all.
func statesIn(c *cli.Context, k *database, source int64) ([]string, error) {
	if !c.IsSet("states") {
		return nil, nil
	}
	known, err := k.KnownStates(c.Context, source)
	if err != nil {
		return nil, err
	}
	return frame.StatesOf(c, known)
}

// asUsage makes a usage error of what the database refused or does not have.
func asUsage(err error) error {
	var refused *store.RefusedError
	var unknown *report.NotFoundError
	if errors.As(err, &refused) || errors.As(err, &unknown) {
		return frame.Usagef("%w", err)
	}
	return err
}
