package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
)

func (p *Program) proxiesCommand() *cli.Command {
	return &cli.Command{
		Name:  "proxies",
		Usage: "Your proxies (off by default, see run --proxy-policy): add, enable, disable, remove",
		Subcommands: []*cli.Command{
			p.listCommand("proxies list"),
			{
				Name: "add", Usage: "Add proxies: http, https, socks5 or socks5h, with user and password if needed", ArgsUsage: "URL...", Args: true,
				Description: "As in http://user:password@proxy.example:8080; without a port it is 80, 443 or 1080; without a scheme the port is required.\n" +
					"Other users of the machine can see a command line: `ypcrawl proxies import -` reads from a pipe.",
				Flags: []cli.Flag{jsonFlag()}, Action: p.proxiesAdd,
			},
			{
				Name: "import", Usage: "Add the proxies of a file, one a line; - is standard input", ArgsUsage: "FILE", Args: true,
				Description: "Empty lines and comments (#) are skipped. Bad lines are reported and the others added.",
				Flags:       []cli.Flag{jsonFlag()}, Action: p.proxiesImport,
			},
			p.proxySwitch("enable", "Use proxies again; their cooldown ends", true),
			p.proxySwitch("disable", "Do not use proxies until they are enabled", false),
			{
				Name: "remove", Usage: "Remove proxies with their statistics", ArgsUsage: "ID or NAME...", Args: true,
				Flags:  []cli.Flag{yesFlag(), jsonFlag()},
				Action: p.proxiesRemove,
			},
		},
	}
}

func (p *Program) proxySwitch(name, usage string, enabled bool) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ID or NAME...", Args: true, Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			return p.eachProxy(c, name+"d", "", func(m *health.Monitor, id string) (bool, error) {
				return m.SetProxyEnabled(c.Context, id, enabled)
			})
		},
	}
}

// proxyRow is a proxy with what became of it.
type proxyRow struct {
	Name string `json:"name"`
	Done string `json:"done"` // added, known, enabled, disabled, removed
}

func (p *Program) tellProxies(c *cli.Context, rows []proxyRow) error {
	return p.tell(c, rows, func(w *sections) {
		for _, r := range rows {
			w.more(r.Name + ": " + r.Done)
		}
	})
}

func (p *Program) proxiesAdd(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("want the URL of a proxy, like http://user:password@proxy.example:8080")
	}
	var list []fetch.Proxy
	for i, text := range c.Args().Slice() {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			return Usagef("proxy %d: %w", i+1, err) // never the text: it may hold a password
		}
		list = append(list, fetch.Proxy{URL: u, Name: name})
	}
	rows, err := p.addProxies(c, list)
	if err != nil {
		return err
	}
	return p.tellProxies(c, rows)
}

// addProxies stores proxies.
func (p *Program) addProxies(c *cli.Context, list []fetch.Proxy) (rows []proxyRow, err error) {
	rows = []proxyRow{}
	if len(list) == 0 {
		return rows, nil
	}
	err = p.with(c, create, func(k *database, _ store.Scope) error {
		m := health.New(k.DB())
		for _, x := range list {
			done := "known"
			isNew, err := m.AddProxy(c.Context, x.URL.String(), x.Name)
			if err != nil {
				return err
			}
			if isNew {
				done = "added"
			}
			rows = append(rows, proxyRow{x.Name, done})
		}
		return nil
	})
	return rows, err
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
	known := len(slices.DeleteFunc(slices.Clone(rows), func(r proxyRow) bool { return r.Done != "known" }))
	return errors.Join(p.answer(c, rows, "%s added, %d known", plural(len(rows)-known, "proxy"), known), bad)
}

// readProxies reads a list of proxies from a file; the error names what is bad of
// it, and the rest is given all the same.
func (p *Program) readProxies(path string) ([]fetch.Proxy, error) {
	text, err := p.readText(path, maxProxyList)
	if err != nil {
		return nil, err
	}
	return fetch.ParseProxies(strings.NewReader(text))
}

// maxProxyList bounds a list of proxies: a wrong path may name anything.
const maxProxyList = 16 << 20

// eachProxy does something to the proxies that the arguments name, once all of them were
// found, and the question, if there is one, was answered.
func (p *Program) eachProxy(c *cli.Context, done, question string, do func(m *health.Monitor, id string) (bool, error)) error {
	if !c.Args().Present() {
		return Usagef("want the id or the name of a proxy; see `ypcrawl proxies list`")
	}
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		m := health.New(k.DB())
		found, err := namedProxies(c.Context, m, c.Args().Slice())
		if err != nil {
			return err
		}
		if question != "" {
			if ok, err := p.proceed(c, fmt.Sprintf(question, plural(len(found), "proxy")), false); !ok {
				return err
			}
		}
		rows := []proxyRow{}
		for _, x := range found {
			if _, err = do(m, idText(x.ID)); err != nil {
				break
			}
			rows = append(rows, proxyRow{x.Name, done})
		}
		return errors.Join(p.tellProxies(c, rows), err)
	})
}

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
		if idText(x.ID) == word || x.URL == url {
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
	return p.eachProxy(c, "removed", "Remove %s with all statistics?", func(m *health.Monitor, id string) (bool, error) {
		return m.RemoveProxy(c.Context, id)
	})
}
