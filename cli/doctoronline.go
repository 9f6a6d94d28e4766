package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/idna"

	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// robots asks each source that may be asked for its robots.txt.
func (d *diagnosis) robots(ctx context.Context) {
	if d.p.requiresProxies(d.c) {
		d.add("robots.txt", fine, d.command("proxies", "test"), "not asked: the settings require proxies, and this would ask directly")
		return
	}
	all, err := d.k.Sources(ctx)
	if err != nil {
		d.failed("robots.txt", err)
		return
	}
	client := fetch.New(fetch.Config{UserAgent: d.c.String("user-agent"), Timeout: timeOf(d.c, "request-timeout"), DelayMin: defaultSampleDelay, IgnoreRobots: true}) // it is robots.txt itself
	defer client.Close()
	for _, s := range all {
		if s.Gate == store.GateDisabled {
			continue
		}
		d.oneRobots(ctx, client, s)
	}
}

func (d *diagnosis) oneRobots(ctx context.Context, client *fetch.Client, s report.SourceStatus) {
	u, err := baseURL(s.BaseURL)
	if err != nil {
		d.failed("robots.txt", err)
		return
	}
	why, err := closedTo(ctx, d.k, u)
	if err != nil {
		d.failed("robots.txt", err)
		return
	}
	if why != "" {
		d.add("robots.txt", fine, "", "%s was not asked: %s", s.Name, why)
		return
	}
	res, err := client.Get(ctx, fetch.Request{URL: "/robots.txt", Base: u, MaxHold: timeOf(d.c, "request-timeout")})
	defer res.Release()
	var fe *fetch.Error
	switch {
	case err == nil:
		d.add("robots.txt", fine, "", "%s answered %d at %s", s.Name, res.Status, s.BaseURL)
	case errors.As(err, &fe) && fe.Status >= 400 && fe.Status < 500 && fe.Status != 429:
		d.add("robots.txt", fine, "", "%s has none (%d), which allows everything", s.Name, fe.Status)
	default:
		d.add("robots.txt", broken, "look at "+s.BaseURL+" with a browser; nothing is crawled while its robots.txt can't be had", "%s: %s", s.Name, reason(err.Error()))
	}
}

// closedTo tells why the host of a web address may not be asked now: it is held, or a
// source that lives there is held, paused or in quarantine. "" = it may. (To disable
// a source is to leave it alone, not to spare its host.)
func closedTo(ctx context.Context, k *database, u *url.URL) (string, error) {
	all, err := k.Sources(ctx)
	if err != nil {
		return "", err
	}
	now, host := k.DB().Now(), hostOf(u)
	for _, s := range all {
		base, err := url.Parse(s.BaseURL)
		if err == nil && hostOf(base) == host && s.Gate != store.GateOpen && s.Gate != store.GateDisabled {
			return remedyText(now, s), nil
		}
	}
	g, err := k.HostGate(ctx, host)
	if err != nil || g.Open() {
		return "", err
	}
	return fmt.Sprintf("%s is held until %s: %s", host, moment(now, g.Until), g.Reason), nil
}

// hostOf names a host as the hosts table does: with the port if it is no scheme's own.
func hostOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	switch port := u.Port(); {
	case port != "" && port != "80" && port != "443":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// requiresProxies reports whether `run` would ask through proxies only by what the
// environment and the settings file say. The file was checked when this command began.
func (p *Program) requiresProxies(c *cli.Context) bool {
	said := func(flag string) string {
		return cmp.Or(p.getenv(envName([]string{mainCommand}, flag)), p.getenv(envName(nil, flag)))
	}
	root, err := readConfig(c.String(configFlag), false)
	if err == nil && root != nil {
		r := &configReader{path: c.String(configFlag), c: c, command: []string{mainCommand}}
		if r.read(root) == nil {
			env := said
			said = func(flag string) string { return cmp.Or(env(flag), strings.Join(r.found[flag].values, "")) }
		}
	}
	policy, err := fetch.ParsePolicy(cmp.Or(said("proxy-policy"), string(fetch.PolicyOff)))
	if said("proxy-policy") == "" && said("proxy")+said("proxy-file") != "" {
		policy = fetch.PolicyRequire // as for `run`: who names one does not want to be seen without it
	}
	return err == nil && policy == fetch.PolicyRequire
}
