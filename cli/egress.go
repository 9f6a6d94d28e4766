package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/start"
)

// egressFlags choose by which way and under which name requests leave.
func egressFlags() []cli.Flag {
	return []cli.Flag{
		frame.WordsFlag("proxy", "also use these proxies: `URL...`, http, https or socks5", "none"),
		&cli.StringFlag{Name: "proxy-file", TakesFile: true, DefaultText: "none", Usage: "also use the proxies in `FILE`, one per line"},
		&cli.StringFlag{
			Name: "proxy-policy", DefaultText: "off; require with --proxy or --proxy-file",
			Usage: "`POLICY`: off (no proxy), prefer (directly when none is left) or require (never directly)",
		},
		&cli.StringFlag{Name: "identity", Value: "honest", Usage: "request headers: `KIND` is honest or browser"},
	}
}

// egressOf reads those flags.
func egressOf(c *cli.Context) (w start.Egress, err error) {
	kind := c.String("identity")
	if kind != "honest" && kind != "browser" {
		return w, frame.Usagef("--identity %q: want honest or browser", kind)
	}
	w.Browser = kind == "browser"
	for _, text := range frame.SplitList(c.StringSlice("proxy")) {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			return w, frame.Usagef("--proxy: %w", err)
		}
		w.Proxies = append(w.Proxies, fetch.Proxy{URL: u, Name: name})
	}
	if path := c.String("proxy-file"); path != "" {
		more, err := readProxies(path)
		if err != nil {
			return w, err
		}
		w.Proxies = append(w.Proxies, more...)
	}
	w.Policy = fetch.PolicyOff
	if len(w.Proxies) > 0 {
		w.Policy = fetch.PolicyRequire // whoever names a proxy does not want to be seen without it
	}
	if text := c.String("proxy-policy"); text != "" {
		if w.Policy, err = fetch.ParsePolicy(text); err != nil {
			return w, frame.Usagef("--proxy-policy: %w", err)
		}
	}
	return w, nil
}

func readProxies(path string) ([]fetch.Proxy, error) {
	f, err := frame.OpenRegular(path)
	if err != nil {
		return nil, frame.Usagef("--proxy-file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	proxies, err := fetch.ParseProxies(io.LimitReader(f, maxProxyList))
	if err != nil {
		return nil, frame.Usagef("--proxy-file %s: %w", path, err)
	}
	return proxies, nil
}
