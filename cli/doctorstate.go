package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// integrity checks the whole file where that is quick, or with --full.
func (d *diagnosis) integrity(ctx context.Context) {
	path := d.c.String("db")
	info, err := os.Stat(path)
	if err != nil {
		d.failed("integrity", err)
		return
	}
	if info.Size() > checkUpTo && !d.c.Bool("full") {
		d.add("integrity", fine, d.command("doctor", "--full"), "not checked: %s would take a while", bytesText(info.Size()))
		return
	}
	if err := d.k.DB().IntegrityCheck(ctx); err != nil {
		d.add("integrity", broken, d.p.rebuildCommand(), "%v", err)
		return
	}
	d.add("integrity", fine, "", "every table and index is sound")
}

// clock looks for rows that bear a time to come.
func (d *diagnosis) clock(ctx context.Context) {
	future, err := d.k.FutureRows(ctx)
	if err != nil {
		d.failed("clock", err)
		return
	}
	for _, f := range future {
		if f.Column != "" {
			d.longWait(f)
			continue
		}
		d.add("clock", dubious, "set the clock (timedatectl status); nothing is lost, waiting times may be off until then",
			"%s of %s later than now, the last by %s: the clock was set back, or another machine's is ahead", plural(f.Rows, "row"), f.Table,
			lasting(f.Latest.Sub(d.k.DB().Now())))
	}
	if len(future) == 0 {
		d.add("clock", fine, "", "no row is later than now")
	}
}

// longWait tells of what waits for longer than anything may. It holds nothing up.
func (d *diagnosis) longWait(f report.FutureRows) {
	fix := "nothing to do: such a time counts as over"
	if f.Table == "hosts" {
		fix = "nothing to do: the next run cuts it to an hour at most"
	}
	d.add("clock", dubious, fix, "%s of %s with a %s later than any can be, the last by %s: the clock was set back, or another machine's is ahead",
		plural(f.Rows, "row"), f.Table, f.Column, lasting(f.Latest.Sub(d.k.DB().Now())))
}

// holders tells who holds the database, and who died while he did.
func (d *diagnosis) holders(ctx context.Context) {
	runs, err := d.k.RunHolders(ctx)
	if err != nil {
		d.failed("runs", err)
		return
	}
	now := d.k.DB().Now()
	for _, r := range runs {
		text := fmt.Sprintf("process %d on %s, begun %s, with %s", r.PID, r.Host, ago(now, r.Started), plural(r.Targets, "target"))
		switch {
		case r.Gone():
			d.add("runs", dubious, d.command("recover"), "a run is gone without a farewell: %s (the next run recovers it by itself)", text)
		case !r.Alive:
			d.add("runs", fine, "", "a run of another machine, heard of %s: %s", ago(now, r.Heartbeat), text)
		default:
			d.add("runs", fine, "", "a run is under way: %s", text)
		}
	}
	if len(runs) == 0 {
		d.add("runs", fine, "", "nobody holds the database")
	}
}

// targets counts those that need an operator.
func (d *diagnosis) targets(ctx context.Context) {
	pr, err := d.k.Progress(ctx, store.Scope{})
	if err != nil {
		d.failed("targets", err)
		return
	}
	all := pr.Overall
	if all.Stuck > 0 {
		d.add("targets", dubious, d.command("reset", "--status", "STUCK"), "%s stuck: their workers died too often", plural(all.Stuck, "target"))
	}
	if all.Parked > 0 {
		d.add("targets", dubious, d.command("dead", "list"), "%s: no crawl takes them again by itself", plural(all.Parked, "dead letter"))
	}
	if all.Stuck+all.Parked == 0 {
		d.add("targets", fine, "", "%s, none stuck or dead", plural(all.Targets, "target"))
	}
}

// sources tells which are closed or fail.
func (d *diagnosis) sources(ctx context.Context) {
	all, err := d.k.Sources(ctx)
	if err != nil {
		d.failed("sources", err)
		return
	}
	for _, s := range all {
		text, fix := closedSourceText(d.k.DB().Now(), s), ""
		switch {
		case s.Remedy != "":
			if fix = d.command(strings.SplitN(s.Remedy, " ", 3)...); s.Availability == store.SourcePaused {
				fix = "when that is mended: " + fix
			}
		case text != "":
			fix = waitText(d.k.DB().Now(), s)
		}
		switch {
		case s.Availability == store.SourceDisabled:
			d.add("sources", fine, fix, "%s is disabled by an operator", s.Name)
		case text != "":
			d.add("sources", dubious, fix, "%s", text)
		case s.Profile.Status == string(health.Failing):
			d.add("sources", dubious, d.command("status", "--source", s.Name), "%s is failing (%s)", s.Name, causeOf(s.Profile))
		default:
			text := orDash(s.Profile.Status)
			if cause := causeOf(s.Profile); cause != "" {
				text += " (" + cause + ")"
			}
			d.add("sources", fine, "", "%s is open, %s", s.Name, text)
		}
	}
}

// proxies counts those that can be used.
func (d *diagnosis) proxies(ctx context.Context) {
	all, err := health.New(d.k.DB()).Proxies(ctx)
	if err != nil {
		d.failed("proxies", err)
		return
	}
	if len(all) == 0 {
		d.add("proxies", fine, "", "there are none")
		return
	}
	active, resting := 0, 0
	for _, x := range all {
		switch {
		case !x.Enabled:
		case x.CooldownUntil.After(d.k.DB().Now()):
			resting++
		default:
			active++
		}
	}
	text := fmt.Sprintf("%d active, %d resting, %d disabled", active, resting, len(all)-active-resting)
	if active == 0 {
		d.add("proxies", dubious, d.command("proxies", "test"), "%s: a run with --proxy-policy require would not start", text)
		return
	}
	d.add("proxies", fine, "", "%s", text)
}
