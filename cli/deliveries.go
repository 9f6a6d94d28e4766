package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) deliveriesCommand() *cli.Command {
	return &cli.Command{
		Name: "deliveries", Usage: "List deliveries made by `export --as NAME`: the last file and what was delivered",
		Flags: slices.Concat(formatFlags(), []cli.Flag{limitFlag()}), Action: p.deliveries,
		Subcommands: []*cli.Command{{
			Name: "forget", Usage: "Forget a delivery: its files stay, and its next file reports every listing as new", ArgsUsage: "NAME", Args: true,
			Flags: []cli.Flag{yesFlag(), jsonFlag()}, Action: p.forgetDelivery,
		}},
	}
}

// forgotten is what `export deliveries forget` tells.
type forgotten struct {
	Name       string `json:"name"`
	Deliveries int    `json:"deliveries"`
	Items      int    `json:"items"` // that the name had got, also those that closed or left
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
		question := fmt.Sprintf("Forget the delivery %s? Its next file reports every listing as new.", name)
		if ok, err := p.confirm(c.Context, question, c.Bool("yes")); err != nil || !ok {
			return err
		}
		out := forgotten{Name: name}
		var err error
		if out.Deliveries, out.Items, err = k.DB().ForgetDelivery(c.Context, name); err != nil {
			return err
		}
		return p.answer(c, out, "Forgot %s: %s, %s. Its files stay.", name, plural(out.Deliveries, "delivery"), plural(out.Items, "item"))
	})
}

// withGroup puts {group} into the name of a file, before its endings.
func withGroup(name string) string {
	folder, base := filepath.Split(name)
	stem, endings, _ := strings.Cut(base, ".")
	return folder + stem + "-{group}." + endings
}

// fileOf is the file of a group; "" = of those without one.
func (d *delivery) fileOf(group string) string {
	name := cmp.Or(yp.Slug(group), "none")
	if d.query.Group == report.GroupState {
		name = strings.ToUpper(name)
	}
	return strings.ReplaceAll(d.name, "{group}", name)
}

// emptyOthers writes the files anew, without rows, that an earlier export has written of groups which
// have none now: what stood in them does not hold any more.
func (d *delivery) emptyOthers() error {
	if d.query.Group == "" || !d.c.Bool("overwrite") {
		return nil
	}
	groups := []string{""}
	if d.query.Group == report.GroupState {
		for _, s := range yp.States() {
			groups = append(groups, s.Code)
		}
	} else {
		known, err := d.k.Words(d.c.Context, report.WordCategory, "", -1)
		if err != nil {
			return err
		}
		for _, w := range known {
			groups = append(groups, w.About)
		}
	}
	written := map[string]bool{}
	for _, f := range d.files {
		written[f.Name] = true
	}
	for _, group := range groups {
		name := d.fileOf(group)
		if written[name] || !errors.Is(export.Free(name, false), export.ErrExists) {
			continue
		}
		if err := errors.Join(d.endFile(), d.begin(group)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) deliveries(c *cli.Context) error {
	return listRows(p, c, listing[store.DeliveryRow]{
		noun: "delivery", none: "Nothing was delivered yet: `ypcrawl export -o FILE --as NAME` remembers which listings it delivers.",
		ask: func(k *database, _ store.Scope, limit int) ([]store.DeliveryRow, error) {
			return k.DB().Deliveries(c.Context, limit)
		},
		columns: []string{"name", "last file at", "rows", "file", "a row for each", "has", "choice"},
		cells: func(_ time.Time, r store.DeliveryRow) []any {
			return []any{r.Name, minute(r.At), r.Rows, r.File, orDash(string(r.Item)), r.Has, orDash(choiceText(r.Filters))}
		},
	})
}

// lowerMemory lowers the soft limit of memory where Parquet, which gathers rows, and what keeps
// deliveries would come to more than 80 MB together, until restore is called. GOMEMLIMIT wins.
func (d *delivery) lowerMemory() (restore func()) {
	const limit = 40 << 20
	before := debug.SetMemoryLimit(-1)
	if d.query.To == nil || d.format != export.Parquet || os.Getenv("GOMEMLIMIT") != "" || before <= limit || before == math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}

// choiceText writes filters as they are typed.
func choiceText(filters map[string]string) string {
	var words []string
	for name, value := range filters {
		words = append(words, "--"+name+" "+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// beginDelivery begins what --as remembers, and tells what the difference is told to.
func (d *delivery) beginDelivery() (err error) {
	name := d.c.String("as")
	if name == "" {
		return nil
	}
	item := store.ItemListing
	if d.query.OnePerCompany {
		item = store.ItemCompany
	}
	d.query.To, err = d.k.DB().BeginDelivery(d.c.Context, store.Delivery{Name: name, File: d.name, Filters: d.filters()}, item, report.TellableFields())
	if err != nil || !d.query.Difference {
		return asUsage(err)
	}
	switch last := d.query.To.Last; {
	case last == nil:
		d.since.text = fmt.Sprintf("the beginning: this is the first delivery to %s", name)
	case d.query.To.Forgotten:
		d.since.text = fmt.Sprintf("the beginning: an older version made the last delivery to %s and did not store what it delivered", name)
	default:
		d.since.text = fmt.Sprintf("the last delivery to %s, %s, of %s", name, minute(last.At), last.File)
		if !maps.Equal(last.Filters, d.filters()) {
			d.p.note("The last delivery to %s had another selection, %s: listings that are no longer selected are reported as left, newly selected ones as new.", name, cmp.Or(choiceText(last.Filters), "all listings"))
		}
	}
	return nil
}
