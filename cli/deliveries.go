package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) deliveriesCommand() *cli.Command {
	cmd := p.listCommand("export deliveries")
	cmd.Subcommands = []*cli.Command{{
		Name: "forget", Usage: "Forget a delivery: its files stay, and its next file reports every listing as new", ArgsUsage: "NAME", Args: true,
		Flags: []cli.Flag{yesFlag(), jsonFlag()}, Action: p.forgetDelivery,
	}}
	return cmd
}

func (p *Program) forgetDelivery(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want one name; `ypcrawl export deliveries` lists them all")
	}
	name := c.Args().First()
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		if ok, err := k.DB().HasDelivery(c.Context, name); err != nil {
			return err
		} else if !ok {
			return Usagef("nothing was delivered to %q: `ypcrawl export deliveries` lists them all", name)
		}
		question := fmt.Sprintf("Forget the delivery %s, so that its next file reports every listing as new?", name)
		if ok, err := p.confirm(c.Context, question, c.Bool("yes")); err != nil || !ok {
			return err
		}
		deliveries, listings, err := k.DB().ForgetDelivery(c.Context, name) // listings that closed or left, too
		if err != nil {
			return err
		}
		return p.answer(c, report.Object{{Name: "name", Value: name}, {Name: "deliveries", Value: deliveries}, {Name: "listings", Value: listings}},
			"Forgot %s: %s, %s. Its files stay.", name, plural(deliveries, "delivery"), plural(listings, "listing"))
	})
}

// beginDelivery begins what --as remembers, and tells what the difference is told to.
func (d *delivery) beginDelivery() (err error) {
	name := d.c.String("as")
	if name == "" {
		return nil
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
	d.since.text = fmt.Sprintf("the last delivery to %s, %s, of %s", name, minute(last.At), last.File)
	return nil
}
