package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// defaultDB is the default of --db.
const defaultDB = "ypcrawl.db"

// defaultLogs is the folder of logs, beside the database.
const defaultLogs = "logs/yp_wal"

// globalFlags are the flags of the program, which each command takes.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "db", TakesFile: true, Value: defaultDB, Usage: "SQLite database `FILE`"},
		&cli.StringFlag{Name: "wal-dir", TakesFile: true, DefaultText: defaultLogs + " beside --db, and in it texas for texas.db", Usage: "`FOLDER` of the write-ahead logs"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "least `LEVEL` to log: trace, debug, info, warn or error"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORM` of log lines: text or json"},
		&cli.BoolFlag{Name: "quiet", Usage: "no progress; only warnings and errors"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours (NO_COLOR works as well)"},
		&cli.StringFlag{Name: "config", TakesFile: true, Value: "ypcrawl.yaml", Usage: "settings `FILE`"},
	}
}

func onlySourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "source", DefaultText: "all", Usage: "only this `SOURCE`"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Value: 50, Usage: "at most so many `ROWS`; 0 = all"}
}

// limitOf reads --limit.
func limitOf(c *cli.Context) (int, error) {
	if n := c.Int("limit"); n < 0 {
		return 0, Usagef("--limit %d: want a number from 0 up", n)
	}
	return c.Int("limit"), nil
}

// errorOf reads --error.
func errorOf(c *cli.Context) (code yp.ErrorCode, err error) {
	if word := c.String("error"); word != "" || c.IsSet("error") {
		if code, err = yp.ParseErrorCode(word); err != nil {
			return "", Usagef("--error: %w", err)
		}
	}
	return code, nil
}

// wordsOf reads a list flag whose words parse understands.
func wordsOf[T any](c *cli.Context, name string, parse func(string) (T, error)) (all []T, err error) {
	words := SplitList(c.StringSlice(name))
	if err := notEmpty(c, name, words); err != nil {
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

func csvFlag() cli.Flag {
	return &cli.BoolFlag{Name: "csv", Usage: "print CSV to stdout, with the names of --json as its header"}
}

// bothForms refuses two forms at once.
func bothForms(c *cli.Context) error {
	if c.Bool("json") && c.Bool("csv") {
		return Usagef("--json and --csv: want one of them")
	}
	return nil
}

func statesFlag() cli.Flag {
	return list("states", "`STATE...` by code or name: --states CA TX", "all", "s")
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON to stdout"}
}

// notEmpty refuses a list that was given without a word in it: an unset variable
// of a script must not mean "everything".
func notEmpty(c *cli.Context, name string, words []string) error {
	if c.IsSet(name) && strings.TrimSpace(strings.Join(words, "")) == "" {
		return Usagef("--%s is empty: name what you want, or leave it out", name)
	}
	return nil
}

// states reads --states as codes.
func states(c *cli.Context) ([]string, error) {
	if err := notEmpty(c, "states", c.StringSlice("states")); err != nil {
		return nil, err
	}
	codes, err := yp.ParseStates(stateList(c.StringSlice("states")))
	if err != nil {
		return nil, Usagef("--states: %w", err)
	}
	return codes, nil
}

// allSources is the word of --source for all that are enabled.
const allSources = "all"
