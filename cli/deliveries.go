package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) deliveriesCommand() *cli.Command {
	return &cli.Command{
		Name: "deliveries", Usage: "List deliveries made by `export --as NAME`: the last file and what was delivered",
		Flags: slices.Concat(formatFlags(), []cli.Flag{limitFlag()}), Action: p.deliveries,
	}
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
