package frame

import (
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// DefaultDB is the default of --db.
const DefaultDB = "ypcrawl.db"

// DefaultLogs is the folder of logs, beside the database.
const DefaultLogs = "logs/yp_wal"

// GlobalFlags are the flags of the program, which each command takes.
func GlobalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "db", TakesFile: true, Value: DefaultDB, Usage: "SQLite database `FILE`"},
		&cli.StringFlag{Name: "wal-dir", TakesFile: true, DefaultText: DefaultLogs + " beside --db; in it, texas for texas.db", Usage: "`FOLDER` of the write-ahead logs"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "lowest `LEVEL` to log: trace, debug, info, warn or error"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORM` of log lines: text or json"},
		&cli.BoolFlag{Name: "quiet", Usage: "show no progress, only warnings and errors"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours (NO_COLOR works as well)"},
		&cli.StringFlag{Name: "config", TakesFile: true, Value: "ypcrawl.yaml", Usage: "settings `FILE`"},
	}
}

// OnlySourceFlag narrows an answer to one source.
func OnlySourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "source", DefaultText: "all", Usage: "only this `SOURCE`"}
}

// YesFlag is --yes, see Proceed.
func YesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "confirm without asking"}
}

// LimitFlag is --limit, see LimitOf.
func LimitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Value: 50, Usage: "at most this many `ROWS`; 0 = all"}
}

// LimitOf reads --limit: a number of rows, 0 = all. A negative one is a UsageError.
func LimitOf(c *cli.Context) (int, error) {
	if n := c.Int("limit"); n < 0 {
		return 0, Usagef("--limit %d: want a number from 0 up", n)
	}
	return c.Int("limit"), nil
}

// ErrorOf reads --error; "" = it was not given.
func ErrorOf(c *cli.Context) (code yp.ErrorCode, err error) {
	if word := c.String("error"); word != "" || c.IsSet("error") {
		if code, err = yp.ParseErrorCode(word); err != nil {
			return "", Usagef("--error: %w", err)
		}
	}
	return code, nil
}

// WordsOf reads a WordsFlag whose words parse understands; what it refuses is a UsageError.
func WordsOf[T any](c *cli.Context, name string, parse func(string) (T, error)) (all []T, err error) {
	words := SplitList(c.StringSlice(name))
	if err := NotEmpty(c, name, words); err != nil {
		return nil, err
	}
	for _, word := range words {
		v, err := parse(word)
		if err != nil {
			return nil, Usagef("--%s: %w", name, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// CSVFlag is --csv, see RowsTo.
func CSVFlag() cli.Flag {
	return &cli.BoolFlag{Name: "csv", Usage: "print CSV to stdout, with the names of --json as header"}
}

// OneForm refuses --json and --csv at once, with a UsageError.
func OneForm(c *cli.Context) error {
	if c.Bool("json") && c.Bool("csv") {
		return Usagef("--json and --csv: use one of them")
	}
	return nil
}

// StatesFlag is --states, see StatesOf.
func StatesFlag() cli.Flag {
	return WordsFlag("states", "`STATE...` by code or name: --states CA TX", "all", "s")
}

// JSONFlag is --json, see Tell and RowsTo.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON to stdout"}
}

// NotEmpty refuses a list that was given without a word in it: an unset variable
// of a script must not mean "everything".
func NotEmpty(c *cli.Context, name string, words []string) error {
	if c.IsSet(name) && strings.TrimSpace(strings.Join(words, "")) == "" {
		return Usagef("--%s is empty: give it a value, or leave it out", name)
	}
	return nil
}

// States says which texts are states, and which codes words mean.
type States interface {
	Lookup(text string) (yp.State, bool)
	Parse(words []string) (codes []string, err error)
}

// StatesOf reads --states as codes of states; nil = all. A word that is none is a UsageError.
func StatesOf(c *cli.Context, states States) ([]string, error) {
	if err := NotEmpty(c, "states", c.StringSlice("states")); err != nil {
		return nil, err
	}
	codes, err := states.Parse(StateList(c.StringSlice("states"), states))
	if err != nil {
		return nil, Usagef("--states: %w", err)
	}
	return codes, nil
}

// AllSources is the word of --source for all that are enabled.
const AllSources = "all"
