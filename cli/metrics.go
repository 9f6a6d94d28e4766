package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/measure"
	"ypcrawl/store"
)

// metricsOnceFlag is that of status. Its help is another one, so that a setting of run does not
// reach it, which would have `status` print nothing.
func metricsOnceFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "metrics-file", TakesFile: true, DefaultText: "none",
		Usage: "write figures for Prometheus to `FILE` once (a crawl with this setting does so all the time); without --check it prints nothing else",
	}
}

// meter measures the database that k is.
func meter(c *cli.Context, k *database) *measure.Meter {
	return measure.New(measure.Config{Reader: k.Reader, Database: filepath.Base(c.String("db")), Logs: logDir(c)})
}

// keepMetrics keeps the file of the setting metrics-file up to date until stop is called. That it can't be
// written is no error of the crawl.
func (r *run) keepMetrics(ctx context.Context) (stop func()) {
	name := r.c.String("metrics-file")
	if name == "" {
		return func() {}
	}
	return meter(r.c, r.keeper).KeepFile(ctx, name, func(err error) {
		r.log.Warn().Err(err).Str("file", name).
			Msg("the metrics file could not be written; the crawl goes on, and further failures are not reported")
	})
}

// writeMetrics is `status --metrics-file`.
func (p *Program) writeMetrics(c *cli.Context) error {
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		if err := wholeFile(c, "metrics-file"); err != nil {
			return err
		}
		return meter(c, k).WriteFile(c.String("metrics-file"))
	})
}

// wholeFile refuses flags that narrow what is about the whole file.
func wholeFile(c *cli.Context, flag string) error {
	for _, name := range []string{"states", "source"} {
		if c.IsSet(name) {
			return frame.Usagef("--%s is about the whole file; leave out --%s", flag, name)
		}
	}
	return nil
}
