package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/idna"

	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/wal"
)

// Bounds of what doctor looks at without --full, and of free space: a crawl of one
// state brings about 1 GB, and a commit needs room for the journal.
const (
	checkLogsUpTo = 256 << 20
	littleSpace   = 2_000_000_000
	noSpace       = 200_000_000
)

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1e3)
}

// disk looks at the room left where the database and the logs lie.
func (d *diagnosis) disk(context.Context) error {
	for _, place := range []struct{ check, path string }{{"disk", filepath.Dir(d.c.String("db"))}, {"disk of logs", logDir(d.c)}} {
		dir := existingFolder(place.path)
		free, err := freeSpace(dir)
		switch {
		case err != nil:
			d.failed(place.check, err)
		case free < noSpace:
			d.add(place.check, broken, "free some space; committed pages are safe", "%s free at %s: the next run will stop soon", bytesText(free), dir)
		case free < littleSpace:
			d.add(place.check, dubious, "free some space; "+d.command("wal", "compress")+" shrinks old logs", "%s left at %s", bytesText(free), dir)
		default:
			d.add(place.check, fine, "", "%s left at %s", bytesText(free), dir)
		}
	}
	return nil
}

// existingFolder is the folder, or the nearest above it that is there.
func existingFolder(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// logFolder tries to write where the logs go.
func (d *diagnosis) logFolder(context.Context) error {
	dir := logDir(d.c)
	there := existingFolder(dir)
	_, missing := os.Stat(dir)
	if err := tryWrite(there); err != nil {
		d.add("log folder", broken, "correct its permissions, or name another folder with --wal-dir", "%s can't be written: %v", there, err)
	} else if there == dir {
		d.add("log folder", fine, "", "%s can be written", dir)
	} else if missing != nil {
		d.add("log folder", fine, "", "%s is not there yet; the next run makes it", dir)
	} else {
		d.add("log folder", broken, "name another folder with --wal-dir", "%s is not a folder", dir)
	}
	return nil
}

// permissions looks for files that other users of the machine can read: the database
// may hold the passwords of proxies, and so may the settings.
func (d *diagnosis) permissions(context.Context) error {
	if runtime.GOOS == "windows" {
		return nil // who may read a file there does not stand in its mode
	}
	db := d.c.String("db")
	places := []string{db, db + "-wal", db + "-shm", store.LockDir(db), logDir(d.c), pagesDir(d.c)}
	text, err := readBounded(d.c.String(configFlag), "settings file")
	if err == nil && regexp.MustCompile(`://[^/\s]+@`).Match(text) { // it names a proxy with its user
		places = append(places, d.c.String(configFlag))
	}
	var wide []string
	for _, place := range places {
		wide = append(wide, wideFiles(place)...)
	}
	if len(wide) == 0 {
		d.add("permissions", fine, "", "nobody else can read the database, its logs, its locks and its kept pages")
		return nil
	}
	shown := strings.Join(wide[:min(len(wide), 3)], ", ")
	if len(wide) > 3 {
		shown += " ..."
	}
	d.add("permissions", dubious, shellLine(append([]string{"chmod", "go="}, wide[:min(len(wide), 50)]...)), "other users of this machine can read or write %s: %s", plural(len(wide), "path"), shown)
	return nil
}

// wideFiles lists what of a file, or of a folder and the logs and locks in it, is not its
// owner's alone. The folder that one works in is nobody's secret.
func wideFiles(place string) (wide []string) {
	look := func(path string) {
		if info, err := os.Stat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) && info.Mode().Perm()&0o077 != 0 {
			wide = append(wide, path)
		}
	}
	if filepath.Clean(place) != "." {
		look(place)
	}
	entries, _ := os.ReadDir(place) // a file has none; a folder that can't be listed is told of by others
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".jsonl", ".zst", ".lock", ".pages":
			look(filepath.Join(place, e.Name()))
		}
	}
	return wide
}

// logs looks for lines that a kill cut off, and for damage where the logs are
// small enough to read, or with --full.
func (d *diagnosis) logs(ctx context.Context) error {
	dir := logDir(d.c)
	all, err := logsIn(dir, time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if all.plain+all.packed <= checkLogsUpTo || d.c.Bool("full") {
		return d.readLogs(ctx, dir)
	}
	var torn []string
	for _, name := range all.files {
		t, tornErr := endsTorn(name)
		if t {
			torn = append(torn, name)
		}
		err = errors.Join(err, tornErr)
	}
	d.tornLogs(torn)
	d.add("logs", fine, d.command("doctor", "--full"), "%s in %s: only their ends were checked", bytesText(all.plain+all.packed), dir)
	return err
}

func (d *diagnosis) tornLogs(torn []string) {
	if len(torn) > 0 {
		logs := thousands(int64(len(torn))) + " logs end"
		if len(torn) == 1 {
			logs = "1 log ends"
		}
		d.add("torn logs", dubious, "nothing to do: readers stop there, and nothing before it is lost",
			"%s in the middle of a line, where a write was interrupted: %s", logs, strings.Join(torn, ", "))
	}
}

// endsTorn reports whether a log ends within a line.
func endsTorn(path string) (bool, error) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
}

// readLogs reads all logs.
func (d *diagnosis) readLogs(ctx context.Context, dir string) error {
	r, err := wal.OpenReader(dir, wal.Options{SkipListings: true})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened for reading only
	events, damage := 0, []string{}
	for _, err := range r.Events() {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			damage = append(damage, err.Error())
		default:
			events++
		}
	}
	var torn []string
	for _, t := range r.Torn() {
		torn = append(torn, t.File)
	}
	d.tornLogs(torn)
	if len(damage) > 0 {
		d.add("logs", broken, "the database has the logged pages; "+d.command("wal", "stats", dir)+" shows more",
			"%s can't be read, the rest can: %s", plural(len(damage), "place"), damage[0])
	} else {
		d.add("logs", fine, "", "%s in %s can be read", plural(events, "event"), dir)
	}
	return nil
}

// robots asks each source that may be asked for its robots.txt.
func (d *diagnosis) robots(ctx context.Context) error {
	if d.p.requiresProxies(d.c) {
		d.add("robots.txt", fine, d.command("proxies", "test"), "not checked: the settings require proxies, and this check asks directly")
		return nil
	}
	all, err := d.k.Sources(ctx)
	if err != nil {
		return err
	}
	timeout := timeOf(d.c, "request-timeout")
	client := fetch.New(fetch.Config{UserAgent: d.c.String("user-agent"), Timeout: timeout, DelayMin: defaultSampleDelay, IgnoreRobots: true}) // it is robots.txt itself
	defer client.Close()
	for _, s := range all {
		if s.Availability == store.SourceDisabled {
			continue
		}
		u, err := baseURL(s.BaseURL)
		why := ""
		if err == nil {
			why, err = closedTo(ctx, d.k, u)
		}
		if err != nil {
			d.failed("robots.txt", err)
			continue
		}
		if why != "" {
			d.add("robots.txt", fine, "", "%s was not checked: %s", s.Name, why)
			continue
		}
		res, err := client.Get(ctx, fetch.Request{URL: "/robots.txt", Base: u, MaxHold: timeout})
		var fe *fetch.Error
		switch {
		case err == nil:
			d.add("robots.txt", fine, "", "%s answered %d at %s", s.Name, res.Status, s.BaseURL)
		case errors.As(err, &fe) && fe.Status >= 400 && fe.Status < 500 && fe.Status != 429:
			d.add("robots.txt", fine, "", "%s has none (%d), which allows everything", s.Name, fe.Status)
		default:
			d.add("robots.txt", broken, "open "+s.BaseURL+" in a browser; nothing is crawled until its robots.txt can be read", "%s: %s", s.Name, report.Cause(err.Error()))
		}
		res.Release()
	}
	return nil
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
		if err == nil && hostOf(base) == host && s.Availability != store.SourceOpen && s.Availability != store.SourceDisabled {
			return remedyText(now, s), nil
		}
	}
	g, err := k.HostAvailability(ctx, host)
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
	s, err := readSettings(c.App, c.String(configFlag), mainCommand, false)
	if err != nil {
		return false
	}
	said := func(flag string) string {
		text := cmp.Or(p.getenv(variable(mainCommand, flag)), p.getenv(variable("", flag)))
		for _, x := range s.found {
			if x.key.Value == flag {
				text = cmp.Or(text, strings.Join(x.values, ""))
			}
		}
		return text
	}
	policy, err := fetch.ParsePolicy(cmp.Or(said("proxy-policy"), string(fetch.PolicyOff)))
	if said("proxy-policy") == "" && said("proxy")+said("proxy-file") != "" {
		policy = fetch.PolicyRequire // as for `run`: who names one does not want to be seen without it
	}
	return err == nil && policy == fetch.PolicyRequire
}
