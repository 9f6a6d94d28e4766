package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) deliveriesCommand() *cli.Command {
	cmd := p.listCommand("export deliveries")
	cmd.Subcommands = []*cli.Command{{
		Name: "forget", Usage: "Forget a delivery: its files stay, and the next one reports every listing as new", ArgsUsage: "NAME", Args: true,
		Flags: []cli.Flag{frame.YesFlag(), frame.JSONFlag()}, Action: p.forgetDelivery,
	}}
	return cmd
}

func (p *Program) forgetDelivery(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return frame.Usagef("give one name; `ypcrawl export deliveries` lists them")
	}
	name := c.Args().First()
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		if ok, err := k.DB().HasDelivery(c.Context, name); err != nil {
			return err
		} else if !ok {
			return frame.Usagef("nothing was delivered to %q; `ypcrawl export deliveries` lists all deliveries", name)
		}
		what := fmt.Sprintf("This forgets what was delivered to %s: the next file reports every listing as new.", name)
		if ok, err := p.Confirm(c.Context, what, c.Bool("yes")); err != nil || !ok {
			return err
		}
		deliveries, listings, err := k.DB().ForgetDelivery(c.Context, name) // listings that were dropped or left, too
		if err != nil {
			return err
		}
		return p.Answer(c, report.Object{
			{Name: "name", Value: name},
			{Name: "deliveries", Value: deliveries},
			{Name: "listings", Value: listings},
		},
			"Forgot %s: %s, %s. Its files stay.", name, plural(deliveries, "delivery"), plural(listings, "listing"))
	})
}

// beginDelivery begins what --as remembers, and tells what the difference is told to.
func (d *delivery) beginDelivery() (err error) {
	name := d.c.String("as")
	if name == "" {
		return nil
	}
	if err := d.resolveIntent(name); err != nil {
		return asUsage(err)
	}
	d.query.To, err = d.k.DB().BeginDelivery(d.c.Context, name)
	if err != nil || !d.query.Difference {
		return asUsage(err)
	}
	last := d.query.To.Last
	if last == nil {
		d.since.text = fmt.Sprintf("the beginning: this is the first delivery to %s", name)
		return nil
	}
	d.since.text = fmt.Sprintf("the last delivery to %s, %s, of %s", name, yp.Minute(last.At), last.File)
	return nil
}

// resolveIntent decides about what an export under the name left that was cut off.
func (d *delivery) resolveIntent(name string) error {
	before, err := d.k.DB().ResolveDelivery(d.c.Context, name, d.name)
	if err == nil && before != nil && !d.c.Bool("quiet") {
		d.p.Note("%s, %s, counts as delivered to %s: the export that wrote it was cut off just after that.",
			yp.Printable(before.File), plural(before.Rows, "listing"), name)
	}
	return err
}

// deliver gives the file its name, and remembers how it told each listing: what that is stands in the database
// before, so that a death at any step leaves all of it told, or nothing.
func (d *delivery) deliver() (size int64, err error) {
	to, now := d.query.To, store.Delivery{At: d.mark.At, Event: d.mark.Event, File: d.name, Rows: d.rows, Filters: d.filters()}
	size, sum, err := d.file.Finish()
	if err != nil {
		return 0, d.explain(err)
	}
	d.p.reachedStep("export_finished")
	if err := to.Intend(d.c.Context, now, store.PlacedFile{Path: d.placed(), Bytes: size, SHA256: sum}); err != nil {
		if errors.As(err, new(*store.RefusedError)) {
			err = fmt.Errorf("%w; export again once that one has ended", err)
		}
		return 0, fmt.Errorf("nothing was written: %w", err)
	}
	defer to.Close()
	d.p.reachedStep("export_intended")
	if _, err := d.file.Publish(); err != nil {
		return 0, d.explain(err)
	}
	d.p.reachedStep("export_named")
	if err := to.Complete(d.c.Context, now); err != nil {
		return 0, fmt.Errorf("%s is written, and counts as delivered when the next export to %s finds it there: %w", d.name, to.Name, err)
	}
	d.p.reachedStep("export_counted")
	return size, nil
}

// placed is the path of the file, where the name that was typed leads: what is typed next may lead elsewhere. It is
// relative where that was.
func (d *delivery) placed() string {
	path := d.file.Path()
	if filepath.IsAbs(d.name) || !filepath.IsAbs(path) {
		return path
	}
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil {
		return rel
	}
	return path
}
