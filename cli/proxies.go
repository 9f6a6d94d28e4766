package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) proxiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "proxies",
		Usage: "Your proxies (off by default, see run --proxy-policy): add, test, rest, remove",
		// A word that is no command may hold a password: it is not repeated as it is.
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			return Usagef("unknown command %q; see '%s --help'", redactURL(c.Args().First()), c.Command.HelpName)
		},
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List the proxies and how they fare; passwords are never shown", ArgsUsage: " ", Args: true,
				Flags: formatFlags(), Action: p.proxiesList,
			},
			{
				Name: "add", Usage: "Add proxies: http, https, socks5 or socks5h, with user and password if need be", ArgsUsage: "URL...", Args: true,
				Description: "As in http://user:password@proxy.example:8080; the port is 80, 443 or 1080 without one, and must be there without a scheme.\n" +
					"A command line is seen by other users of the machine: `ypcrawl proxies import -` reads from a pipe.",
				Flags: []cli.Flag{jsonFlag()}, Action: p.proxiesAdd,
			},
			{
				Name: "import", Usage: "Add the proxies of a file, one a line; - is standard input", ArgsUsage: "FILE", Args: true,
				Description: "Empty lines and comments (#) are passed over. Bad lines are named and the others taken.",
				Flags:       []cli.Flag{jsonFlag()}, Action: p.proxiesImport,
			},
			p.proxiesTestCommand(),
			p.proxySwitch("enable", "Use proxies again; their rest is over", true),
			p.proxySwitch("disable", "Leave proxies out until they are enabled", false),
			{
				Name: "remove", Usage: "Forget proxies, and how they fared", ArgsUsage: "ID or NAME...", Args: true,
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}, jsonFlag()},
				Action: p.proxiesRemove,
			},
		},
	}
}

func (p *Program) proxySwitch(name, usage string, enabled bool) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ID or NAME...", Args: true, Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			return p.eachProxy(c, name+"d", func(ctx context.Context, m *health.Monitor, id string) (bool, error) {
				return m.SetProxyEnabled(ctx, id, enabled)
			})
		},
	}
}

// proxyRow is a proxy as it may be shown: without its password.
type proxyRow struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Enabled   bool      `json:"enabled"`
	Successes int64     `json:"successes"`
	Failures  int64     `json:"failures"`
	InARow    int       `json:"consecutive_failures"`
	RestUntil time.Time `json:"cooldown_until,omitzero"`
	LastUsed  time.Time `json:"last_used_at,omitzero"`
	LastError string    `json:"last_error,omitempty"`
}

func (p *Program) proxiesList(c *cli.Context) error {
	if c.Args().Present() {
		return Usagef("unexpected argument %q: %s takes none", redactURL(c.Args().First()), c.Command.HelpName)
	}
	return listRows(p, c, listing[proxyRow]{
		none: "There are no proxies; `ypcrawl proxies add` takes them.",
		ask: func(k *database, _ store.Scope, _ int) (rows []proxyRow, err error) {
			all, err := health.New(k.DB()).Proxies(c.Context)
			for _, x := range all {
				rows = append(rows, proxyRow{x.ID, x.Name, x.Enabled, x.Successes, x.Failures, x.Consecutive, x.CooldownUntil, x.LastUsedAt, x.LastError})
			}
			return rows, err
		},
		columns: []string{"id", "name", "state", "ok", "failed", "in a row", "last used", "last error"},
		cells: func(now time.Time, r proxyRow) []any {
			return []any{
				idText(r.ID), r.Name, proxyState(now, r), r.Successes, r.Failures, r.InARow, ago(now, r.LastUsed),
				short(orDash(proxyReason(r.LastError, r.Name)), p.widthLeft(100)),
			}
		},
	})
}

// proxyReason is an error's text without what stands beside it in the same line.
func proxyReason(text, name string) string {
	return strings.Replace(reason(text), "proxy "+name+": ", "", 1)
}

func proxyState(now time.Time, r proxyRow) string {
	switch {
	case !r.Enabled:
		return "disabled"
	case r.RestUntil.After(now):
		return "rests for " + lasting(r.RestUntil.Sub(now))
	}
	return "active"
}

// addedRow is what became of a proxy that was to be added.
type addedRow struct {
	Name  string `json:"name"`
	Added bool   `json:"added"` // false: it was there already
}

func (p *Program) proxiesAdd(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("want the URL of a proxy, like http://user:password@proxy.example:8080")
	}
	var list []fetch.Proxy
	for i, text := range c.Args().Slice() {
		u, name, err := parseProxy(text)
		if err != nil {
			return Usagef("proxy %d: %w", i+1, err) // never the text: it may hold a password
		}
		list = append(list, fetch.Proxy{URL: u, Name: name})
	}
	rows, err := p.addProxies(c, list)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeRows(p.Out, rows)
	}
	for _, r := range rows {
		text := "added"
		if !r.Added {
			text = "there already"
		}
		if _, err := fmt.Fprintf(p.Out, "%s: %s\n", yp.Printable(r.Name), text); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) addProxies(c *cli.Context, list []fetch.Proxy) (rows []addedRow, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	k, err := p.open(c, create)
	if err != nil {
		return nil, err
	}
	defer func() { _ = k.DB().Close() }()
	m := health.New(k.DB())
	for _, x := range list {
		added, err := m.AddProxy(c.Context, x.URL.String(), x.Name)
		if err != nil {
			return rows, err
		}
		rows = append(rows, addedRow{x.Name, added})
	}
	return rows, nil
}

func (p *Program) proxiesImport(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want one file of proxies, one a line, or - for standard input")
	}
	list, bad := p.readProxies(c.Args().First())
	rows, err := p.addProxies(c, list)
	if err != nil {
		return errors.Join(err, bad)
	}
	added := 0
	for _, r := range rows {
		if r.Added {
			added++
		}
	}
	return errors.Join(p.answer(c, struct {
		Added   int        `json:"added"`
		Known   int        `json:"known"` // there already
		Proxies []addedRow `json:"proxies"`
	}{added, len(rows) - added, append([]addedRow{}, rows...)}, "%s added, %d there already", plural(added, "proxy"), len(rows)-added), bad)
}

// readProxies reads a list of proxies from a file; the error names what is bad of
// it, and the rest is given all the same.
func (p *Program) readProxies(path string) ([]fetch.Proxy, error) {
	in := p.In
	if path != "-" {
		f, err := openRegular(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // opened for reading only
		in = f
	}
	return parseProxies(in)
}

// maxProxyList bounds a list of proxies: a wrong path may name anything.
const maxProxyList = 16 << 20

// eachProxy does something to the proxies that the arguments name.
func (p *Program) eachProxy(c *cli.Context, done string, do func(context.Context, *health.Monitor, string) (bool, error)) error {
	m, found, closeDB, err := p.findProxies(c, existing)
	if err != nil {
		return err
	}
	defer closeDB()
	return p.doEach(c, m, found, done, do)
}

func (p *Program) doEach(c *cli.Context, m *health.Monitor, found []health.Proxy, done string, do func(context.Context, *health.Monitor, string) (bool, error)) error {
	rows := []addedName{}
	for _, x := range found {
		if _, err := do(c.Context, m, strconv.FormatInt(x.ID, 10)); err != nil {
			return err
		}
		rows = append(rows, addedName{x.ID, x.Name, done})
		if !c.Bool("json") {
			if _, err := fmt.Fprintf(p.Out, "%s: %s\n", yp.Printable(x.Name), done); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		return writeRows(p.Out, rows)
	}
	return nil
}

// addedName is a proxy with what was done to it.
type addedName struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Done string `json:"done"`
}

// findProxies finds the proxies that the arguments name, by id, by name or by URL,
// before anything is done to one of them.
func (p *Program) findProxies(c *cli.Context, how access) (*health.Monitor, []health.Proxy, func(), error) {
	if !c.Args().Present() {
		return nil, nil, nil, Usagef("want the id or the name of a proxy; see `ypcrawl proxies list`")
	}
	k, err := p.open(c, how)
	if err != nil {
		return nil, nil, nil, err
	}
	m := health.New(k.DB())
	found, err := namedProxies(c.Context, m, c.Args().Slice())
	if err != nil {
		return nil, nil, nil, errors.Join(err, k.DB().Close())
	}
	return m, found, func() { closeQuietly(k.DB()) }, nil
}

// closeQuietly closes a database whose transactions were all acknowledged.
func closeQuietly(db *store.DB) { _ = db.Close() }

func namedProxies(ctx context.Context, m *health.Monitor, words []string) (found []health.Proxy, err error) {
	all, err := m.Proxies(ctx)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		x, err := namedProxy(all, word)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f health.Proxy) bool { return f.ID == x.ID }) {
			found = append(found, x)
		}
	}
	return found, nil
}

// namedProxy finds one proxy. A word with a password means the proxy that has it;
// without one, the only proxy of that name.
func namedProxy(all []health.Proxy, word string) (health.Proxy, error) {
	url, name := "", word
	if u, redacted, err := fetch.ParseProxy(word); err == nil {
		url, name = u.String(), redacted
	}
	var byName []health.Proxy
	for _, x := range all {
		if strconv.FormatInt(x.ID, 10) == word || x.URL == url {
			return x, nil
		}
		if x.Name == word || x.Name == name {
			byName = append(byName, x)
		}
	}
	switch len(byName) {
	case 0:
		return health.Proxy{}, Usagef("no proxy %q; see `ypcrawl proxies list`", redactURL(word))
	case 1:
		return byName[0], nil
	}
	return health.Proxy{}, Usagef("%q: %w", name, health.ErrAmbiguous)
}

func (p *Program) proxiesRemove(c *cli.Context) error {
	m, found, closeDB, err := p.findProxies(c, existing)
	if err != nil {
		return err
	}
	defer closeDB()
	ok, err := p.confirm(c.Context, fmt.Sprintf("Remove %s and forget how it fared?", plural(len(found), "proxy")), c.Bool("yes"))
	if err != nil {
		return err
	}
	if !ok {
		p.note("Nothing was changed.")
		return nil
	}
	return p.doEach(c, m, found, "removed", func(ctx context.Context, m *health.Monitor, id string) (bool, error) {
		return m.RemoveProxy(ctx, id)
	})
}
