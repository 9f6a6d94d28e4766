package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
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
				Name: "add", Usage: "Add proxies: http, https, socks5 or socks5h, with user and password if needed", ArgsUsage: "[URL...]", Args: true,
				Description: "A URL looks like http://user:password@proxy.example:8080. The port is 80, 443 or 1080 if you leave it out; without a scheme it is required.\n" +
					"Other users of this machine can see a command line; `--file -` reads from a pipe instead. In a file, empty lines and\n" +
					"comments (#) are skipped; bad lines are reported, and the others are added.",
				Flags: []cli.Flag{&cli.StringFlag{
					Name: "file", TakesFile: true, DefaultText: "none",
					Usage: "add those in this `FILE`, one per line; - is standard input",
				}, frame.JSONFlag()},
				Action: p.proxiesAdd,
			},
			p.proxySwitch("enable", "Use proxies again, and end their cooldown", true),
			p.proxySwitch("disable", "Do not use proxies until they are enabled", false),
			{
				Name: "remove", Usage: "Remove proxies with their statistics", ArgsUsage: "ID or NAME...", Args: true,
				Flags:  []cli.Flag{frame.YesFlag(), frame.JSONFlag()},
				Action: p.proxiesRemove,
			},
		},
	}
}

func (p *Program) proxySwitch(name, usage string, enabled bool) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ID or NAME...", Args: true, Flags: []cli.Flag{frame.JSONFlag()},
		Action: func(c *cli.Context) error {
			return p.eachProxy(c, name+"d", "", func(m *health.Monitor, id int64) (bool, error) {
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
	return p.Tell(c, rows, func(w *frame.Sections) {
		for _, r := range rows {
			w.More(r.Name + ": " + r.Done)
		}
	})
}

func (p *Program) proxiesAdd(c *cli.Context) error {
	if !c.Args().Present() && !c.IsSet("file") {
		return frame.Usagef("give the URL of a proxy, like http://user:password@proxy.example:8080, or --file FILE")
	}
	var list []fetch.Proxy
	for i, text := range c.Args().Slice() {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			return frame.Usagef("proxy %d: %w", i+1, err) // never the text: it may hold a password
		}
		list = append(list, fetch.Proxy{URL: u, Name: name})
	}
	var bad error // lines of the file
	if c.IsSet("file") {
		text, err := p.readText(c.String("file"), maxProxyList)
		if err != nil {
			return err
		}
		var more []fetch.Proxy
		more, bad = fetch.ParseProxies(strings.NewReader(text))
		list = append(list, more...)
	}
	rows := []proxyRow{}
	if len(list) == 0 { // nothing is made
		return errors.Join(p.tellProxies(c, rows), bad)
	}
	err := p.with(c, create, func(k *database, _ store.Scope) error {
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
	if err == nil {
		err = p.tellProxies(c, rows)
	}
	return errors.Join(err, bad)
}

// maxProxyList bounds a list of proxies: a wrong path may name anything.
const maxProxyList = 16 << 20

// eachProxy does something to the proxies that the arguments name, once all of them were
// found, and the question, if there is one, was answered.
func (p *Program) eachProxy(c *cli.Context, done, effect string, do func(m *health.Monitor, id int64) (bool, error)) error {
	if !c.Args().Present() {
		return frame.Usagef("give the id or name of a proxy; see `ypcrawl proxies list`")
	}
	return p.with(c, existing, func(k *database, _ store.Scope) error {
		m := health.New(k.DB())
		found, err := namedProxies(c.Context, m, c.Args().Slice())
		if err != nil {
			return err
		}
		if effect != "" {
			if ok, err := p.Proceed(c, fmt.Sprintf(effect, plural(len(found), "proxy")), false); !ok {
				return err
			}
		}
		rows := []proxyRow{}
		for _, x := range found {
			if _, err = do(m, x.ID); err != nil {
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

// namedProxy finds one proxy, by its id or its name.
func namedProxy(all []health.Proxy, word string) (found health.Proxy, err error) {
	name := word
	if _, redacted, err := fetch.ParseProxy(word); err == nil {
		name = redacted
	}
	n := 0
	for _, x := range all {
		if fmt.Sprint(x.ID) == word {
			return x, nil
		}
		if x.Name == name {
			found, n = x, n+1
		}
	}
	switch n {
	case 0:
		return found, frame.Usagef("no proxy %q; see `ypcrawl proxies list`", frame.RedactURL(word))
	case 1:
		return found, nil
	}
	return found, frame.Usagef("several proxies are called %q; use the id", name)
}

func (p *Program) proxiesRemove(c *cli.Context) error {
	return p.eachProxy(c, "removed", "This removes %s with all statistics.", func(m *health.Monitor, id int64) (bool, error) {
		return m.RemoveProxy(c.Context, id)
	})
}
