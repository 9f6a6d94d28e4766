package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/notify"
	"ypcrawl/yp"
)

// pingFlag is of every command that cron may run.
func pingFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "ping", DefaultText: "none",
		Usage: "tell a job monitor such as healthchecks when this starts (`URL`/start) and how it ends (URL, URL/fail, or URL/log when interrupted)",
	}
}

// notifyFlags are those of every command that crawls.
func notifyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "notify", DefaultText: "none",
			Usage: "report how a run ended, blocked or paused sources and layout alarms as JSON to `URL|CMD`: by POST, or on a command's stdin",
		},
		pingFlag(),
	}
}

// secretsOf are the values of flags that may be secrets as a whole, also of one that a later one
// on the command line overrules.
func secretsOf(c *cli.Context, args []string) (all []frame.Secret) {
	words := []string{c.String("notify"), c.String("ping")}
	for i, word := range args {
		if !frame.IsFlag(word) {
			continue
		}
		switch name, value, joined := frame.SplitFlag(word); {
		case name != "ping" && name != "notify":
		case joined:
			words = append(words, value)
		case i+1 < len(args):
			words = append(words, args[i+1])
		}
	}
	for _, word := range words {
		if word != "" {
			all = append(all, secretOf(word))
		}
	}
	return all
}

// secretOf is a destination as a secret: of an address the host is shown.
func secretOf(word string) frame.Secret {
	if d, err := notify.ParseAddress(word); err == nil {
		return frame.Secret{Value: word, Shown: d.Name() + "/" + frame.Hidden}
	}
	return frame.Secret{Value: word, Shown: frame.Hidden}
}

// announcer tells another machine or a command what becomes of a command: pings when it starts
// and ends, and messages. One that nobody wants does nothing.
type announcer struct {
	p      *Program
	c      *cli.Context
	ping   *notify.Destination // nil = none
	notify *notify.Destination

	sender   *notify.Sender
	starting sync.WaitGroup
	started  context.CancelFunc // gives the first ping up: it must not come after the last one
	until    time.Time          // when what is sent at the end is given up
	facts    []string           // of how it went
	told     bool               // --notify is told of the end, see run.tellEnd
}

// announced runs what a command does with pings around it. What it does writes its log to log,
// behind the display.
func (p *Program) announced(c *cli.Context, do func(d *frame.Display, log zerolog.Logger, a *announcer) error) error {
	display := p.NewDisplay(c)
	log, err := p.logger(c, display.Writer())
	if err != nil {
		return err
	}
	a := &announcer{p: p, c: c, sender: notify.NewSender(log)}
	a.sender.Stopped = c.Context.Done()
	if a.ping, err = a.destination("ping", notify.ParseAddress); err != nil {
		return err
	}
	if a.notify, err = a.destination("notify", notify.Parse); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		a.ping, a.notify = nil, nil
	}
	a.start()
	err = do(display, log, a)
	a.end(err)
	return err
}

// destination reads a flag. Its error is without what was typed: that may be a secret.
func (a *announcer) destination(flag string, parse func(string) (notify.Destination, error)) (*notify.Destination, error) {
	raw := a.c.String(flag)
	if raw == "" && !a.p.Typed(flag) {
		return nil, nil //nolint:nilnil // none is wanted
	}
	d, err := parse(raw)
	if err != nil {
		return nil, frame.Usagef("--%s: %w", flag, err)
	}
	return &d, nil
}

// start says that the command starts. Nobody waits for that.
func (a *announcer) start() {
	if a.ping == nil {
		return
	}
	var ctx context.Context
	ctx, a.started = context.WithCancel(context.Background())
	a.starting.Go(func() {
		_ = a.sender.Deliver(ctx, *a.ping, notify.Ping("start", "ypcrawl "+a.c.Command.Name+" starts on "+a.database()))
	})
}

func (a *announcer) database() string { return filepath.Base(a.c.String("db")) }

// say keeps a fact of how it went for the last ping and message.
func (a *announcer) say(format string, args ...any) {
	a.facts = append(a.facts, fmt.Sprintf(format, args...))
}

// lastWait is how long a command waits at its end for what it sends to be delivered; of it
// pingWait is kept for the last ping, and startWait given to a first one that is on its way.
const (
	lastWait  = 10 * time.Second
	pingWait  = 3 * time.Second
	startWait = time.Second
)

// left is how much of that is left.
func (a *announcer) left() time.Duration {
	if a.until.IsZero() {
		a.until = time.Now().Add(lastWait)
	}
	return max(0, time.Until(a.until))
}

// end says how the command has ended, and waits until that is delivered or its time is over.
func (a *announcer) end(err error) {
	code, _ := a.p.verdict(a.c.Context, err)
	send := func(d *notify.Destination, parcel notify.Parcel, wait time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		_ = a.sender.Deliver(ctx, *d, parcel) // it says so
	}
	switch code {
	case ExitError, ExitUsage, ExitBlocked, ExitNoProxies, ExitLayout:
		if a.notify == nil || a.told {
			break
		}
		body, jerr := notify.Message{ // without the database it can't be kept
			Event: notify.RunEnded, At: yp.Stamp{Time: time.Now()}, Severity: notify.Critical,
			Title: fmt.Sprintf("ypcrawl %s: exit code %d", a.c.Command.Name, code),
			Text:  a.p.HideAll(err.Error()), Figures: map[string]float64{"exit_code": float64(code)}, Database: a.database(),
		}.JSON()
		if jerr == nil {
			send(a.notify, notify.Stored(body), a.left()-pingWait)
		}
	}
	if a.ping == nil {
		return
	}
	late := time.AfterFunc(startWait, a.started)
	a.starting.Wait()
	late.Stop()
	a.started()
	under := "fail"
	switch code {
	case ExitOK, ExitBudget:
		under = ""
	case ExitInterrupted, ExitLocked:
		under = "log"
	}
	lines := append([]string{fmt.Sprintf("ypcrawl %s on %s: exit code %d", a.c.Command.Name, a.database(), code)}, a.facts...)
	if err != nil && err.Error() != "" {
		lines = append(lines, "error: "+a.p.HideAll(err.Error()))
	}
	send(a.ping, notify.Ping(under, strings.Join(lines, "\n")+"\n"), max(a.left(), pingWait))
}
