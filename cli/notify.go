package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/notify"
	"ypcrawl/yp"
)

// pingFlags are those of every command that cron may run.
func pingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "ping", DefaultText: "none", Usage: "report to a job monitor such as healthchecks when this starts (`URL`/start) and how it ends (URL, URL/fail, or URL/log when interrupted)"},
		list("ping-success", "exit `CODE...` that --ping reports as a success", "0 4"),
		&cli.BoolFlag{Name: "notify-private", Usage: "allow --ping and --notify to reach private networks and this machine"},
	}
}

// notifyFlags are those of every command that crawls.
func notifyFlags() []cli.Flag {
	return append([]cli.Flag{
		list("notify", "report trouble as JSON to `URL|CMD...`: by POST to a URL, on stdin of a command", "none"),
		list("notify-on", "report only these: `EVENT...` is "+strings.Join(noticeNames(), ", "), "all"),
		&cli.GenericFlag{Name: "notify-every", Value: ageValue(time.Hour), DefaultText: "1h", Usage: "report each event of a source at most once in this `TIME`"},
		&cli.GenericFlag{Name: "notify-dropped", Value: shareValue(0.05), Usage: "report when more than this `SHARE` of a source's listings was dropped"},
		&cli.GenericFlag{Name: "notify-fewer", Value: shareValue(0.2), Usage: "report when a pass found fewer listings than before it, by more than this `SHARE`"},
		&cli.BoolFlag{Name: "notify-test", Usage: "send a test message to --notify and --ping, report the result, and do nothing else"},
	}, pingFlags()...)
}

func noticeNames() []string {
	names := make([]string, len(yp.NoticeEvents()))
	for i, e := range yp.NoticeEvents() {
		names[i] = string(e)
	}
	return names
}

// hidden stands for the secret part of a destination.
const hidden = "xxxxx"

// secretsOf are the values of flags that may be secrets as a whole, also of a --ping that a
// later one on the command line overrules.
func secretsOf(c *cli.Context, args []string) []string {
	all := append(c.StringSlice("notify"), c.String("ping"))
	for i, word := range args {
		if !isFlag(word) {
			continue
		}
		switch name, value, joined := splitFlag(word); {
		case name != "ping":
		case joined:
			all = append(all, value)
		case i+1 < len(args):
			all = append(all, args[i+1])
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// hide takes the secrets out of a word of the command line.
func (p *Program) hide(word string) string {
	for _, s := range p.secrets {
		if before, ok := strings.CutSuffix(word, s); ok && (before == "" || strings.HasSuffix(before, "=")) {
			if d, err := notify.ParseAddress(s); err == nil {
				return before + d.Name() + "/" + hidden
			}
			return before + hidden
		}
	}
	return redactURL(word)
}

// hideAll takes the secrets out of a text.
func (p *Program) hideAll(text string) string {
	for _, s := range p.secrets {
		if len(s) > 7 { // a shorter one is no secret, and may be any word
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return redactURL(text)
}

// announcer tells other machines and commands what becomes of a command: pings when it starts
// and ends, and notices of trouble. One that nobody wants does nothing.
type announcer struct {
	p       *Program
	c       *cli.Context
	log     zerolog.Logger
	cfg     notify.Config
	ping    *notify.Destination // nil = none
	success []int               // exit codes
	notify  []notify.Destination
	on      []yp.NoticeEvent // none = all

	sender *notify.Sender
	pings  *notify.Ping
	queues []*notify.Queue
	since  time.Time // when the last messages began to be waited for
	facts  []string  // of how it went, for the last ping
	failed bool      // it was reported already that the run failed
}

// announced runs what a command does with pings around it. What it does writes its log to log,
// behind the display.
func (p *Program) announced(c *cli.Context, do func(d *Display, log zerolog.Logger, a *announcer) error) error {
	display := p.newDisplay(c)
	log, err := p.logger(c, display.Writer())
	if err != nil {
		return err
	}
	a, err := p.newAnnouncer(c, log)
	switch {
	case err != nil:
		return err
	case c.Bool("notify-test"):
		return a.test()
	case c.Bool("dry-run"):
		a.ping, a.notify = nil, nil
	}
	a.start()
	err = do(display, log, a)
	a.end(err)
	return err
}

func (p *Program) newAnnouncer(c *cli.Context, log zerolog.Logger) (*announcer, error) {
	a := &announcer{p: p, c: c, log: log, cfg: notify.Config{Private: c.Bool("notify-private"), Logger: log}, success: []int{ExitOK, ExitBudget}}
	if raw := c.String("ping"); raw != "" || p.typed("ping") {
		d, err := notify.ParseAddress(raw)
		if err != nil {
			return nil, Usagef("--ping: %w", err) // without what was typed: it may be a secret
		}
		a.ping = &d
	}
	for i, raw := range c.StringSlice("notify") {
		if raw == "" && !p.typed("notify") {
			continue // an empty variable sets nothing
		}
		d, err := notify.Parse(raw)
		if err != nil {
			return nil, Usagef("--notify, value %d: %w", i+1, err)
		}
		a.notify = append(a.notify, d)
	}
	var err error
	if a.on, err = wordsOf(c, "notify-on", yp.ParseNoticeEvent); err != nil {
		return nil, err
	}
	if c.IsSet("ping-success") {
		a.success, err = wordsOf(c, "ping-success", func(s string) (int, error) {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n > 255 {
				return 0, fmt.Errorf("%q: want exit codes, 0 to 255", s)
			}
			return n, nil
		})
	}
	return a, err
}

// start says that the command starts.
func (a *announcer) start() {
	if a.ping == nil && len(a.notify) == 0 {
		return
	}
	a.sender = notify.NewSender(a.cfg)
	for _, d := range a.notify {
		a.queues = append(a.queues, a.sender.Add(d))
	}
	if a.ping != nil {
		a.pings = notify.NewPing(a.sender, *a.ping)
		a.pings.Start("ypcrawl " + a.c.Command.Name + " starts on " + a.database())
	}
}

func (a *announcer) database() string { return filepath.Base(a.c.String("db")) }

// say keeps a fact of how it went for the last ping.
func (a *announcer) say(format string, args ...any) {
	a.facts = append(a.facts, fmt.Sprintf(format, args...))
}

// lastWait is how long a command waits at its end for its messages to be delivered; of it
// pingWait is kept for the last ping.
const (
	lastWait = 10 * time.Second
	pingWait = 3 * time.Second
)

// left is how much of that is left.
func (a *announcer) left() time.Duration {
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return max(0, lastWait-time.Since(a.since))
}

// end says how the command has ended, and waits until that is delivered or its time is over.
func (a *announcer) end(err error) {
	if a.sender == nil {
		return
	}
	code, _ := a.p.verdict(a.c.Context, err)
	switch code {
	case ExitError, ExitUsage, ExitBlocked, ExitNoProxies, ExitLayout:
		a.tellFailed(code, err)
	}
	if a.pings != nil {
		v := notify.Failed
		switch {
		case slices.Contains(a.success, code):
			v = notify.Succeeded
		case code == ExitInterrupted, code == ExitLocked:
			v = notify.Neither
		}
		lines := append([]string{fmt.Sprintf("ypcrawl %s on %s: %s (exit code %d)", a.c.Command.Name, a.database(), exitText(code), code)}, a.facts...)
		if err != nil && err.Error() != "" {
			lines = append(lines, "error: "+a.p.hideAll(err.Error()))
		}
		a.pings.End(v, strings.Join(lines, "\n")+"\n")
	}
	a.sender.Close(a.left())
}

// exitText says what an exit code means.
func exitText(code int) string {
	text, ok := map[int]string{
		ExitOK: "it succeeded", ExitError: "it failed", ExitUsage: "its command line is wrong", ExitFailures: "some of it failed", ExitBudget: "a budget is used up, with work left",
		ExitBlocked: "the source is closed", ExitNoProxies: "no proxy is left", ExitLayout: "layout alarm", ExitLocked: "another run holds the database", ExitInterrupted: "interrupted",
	}[code]
	if !ok {
		return "it ended"
	}
	return text
}

// test sends a test message to each destination, and tells how that went.
func (a *announcer) test() error {
	type answer struct {
		To      string `json:"to"`
		By      string `json:"by"`
		Arrived bool   `json:"arrived"`
		Error   string `json:"error,omitempty"`
	}
	answers, failed := []answer{}, 0
	add := func(by string, d notify.Destination, err error) {
		x := answer{To: d.Name(), By: by, Arrived: err == nil}
		if err != nil {
			x.Error = err.Error()
			failed++
		}
		answers = append(answers, x)
	}
	for _, d := range a.notify {
		add("--notify", d, notify.Try(a.c.Context, a.cfg, d, notify.Message{
			Event: yp.NoticeTest, At: time.Now(), Severity: notify.Info, Title: "ypcrawl: a test message", Text: "This is a test by --notify-test. Nothing has happened.",
			Database: a.database(),
		}))
	}
	if a.ping != nil {
		add("--ping", *a.ping, notify.TryPing(a.c.Context, a.cfg, *a.ping, "ypcrawl: a test message. Nothing has happened.\n"))
	}
	if len(answers) == 0 {
		return Usagef("--notify-test: there is no destination: name one with --notify or --ping")
	}
	err := a.p.tell(a.c, answers, func(w *sections) {
		w.table(tableOf(answers, func(x answer) []any {
			result := "arrived"
			if !x.Arrived {
				result = x.Error
			}
			return []any{x.By, x.To, result}
		}, "flag", "to", "result"))
	})
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s of %s did not arrive", plural(failed, "test message"), thousands(int64(len(answers))))
	}
	return err
}

// wants reports whether somebody is to be notified of an event.
func (a *announcer) wants(event yp.NoticeEvent) bool {
	return len(a.queues) > 0 && (len(a.on) == 0 || slices.Contains(a.on, event))
}

// tellFailed tells of a run that failed before it could be looked after: without the database
// nobody knows when that was last reported.
func (a *announcer) tellFailed(code int, err error) {
	if a.failed || !a.wants(yp.NoticeRunFailed) {
		return
	}
	a.failed = true
	a.send(notify.Message{
		Event: yp.NoticeRunFailed, At: time.Now(), Severity: notify.Critical, Title: fmt.Sprintf("ypcrawl %s: %s", a.c.Command.Name, exitText(code)),
		Text: a.p.hideAll(err.Error()), Figures: map[string]float64{"exit_code": float64(code)},
	}, nil)
}

func (a *announcer) send(m notify.Message, done func(delivered bool)) {
	m.Database = a.database()
	if err := notify.Send(a.queues, m, done); err != nil {
		a.log.Warn().Err(err).Str("event", string(m.Event)).Msg("a message could not be written")
	}
}
