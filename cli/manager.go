package cli

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// manager tells a service manager how the run fares, in the words of sd_notify(3). Where none
// listens (NOTIFY_SOCKET is not set) it does nothing.
type manager struct {
	log   zerolog.Logger
	what  string                    // the crawl: "CA TX"
	send  func(string) error        // nil = nobody listens
	every time.Duration             // between two words on how far it is
	watch bool                      // a watchdog waits to hear that the run works
	beats atomic.Pointer[time.Time] // when a heartbeat last reached the database

	mu     sync.Mutex
	pulse  pulse
	next   time.Time // when the next word is due
	over   bool      // nothing is to be said any more
	warned bool      // that it could not be reached
}

// statusEvery is how often a service manager hears how far the run is.
const statusEvery = 5 * time.Second

// newManager finds out who listens.
func newManager(log zerolog.Logger, what string) *manager {
	m := &manager{log: log, what: what, every: statusEvery}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("no heartbeat goes to the service manager: WATCHDOG_USEC can't be read")
	}
	if m.watch = limit > 0; m.watch {
		m.every = min(m.every, limit/3)
	}
	if there, err := daemon.SdNotify(false, "STATUS=starting"); there || err != nil {
		m.send = func(state string) error {
			_, err := daemon.SdNotify(false, state)
			return err
		}
	}
	m.beat()
	return m
}

// beat is called after each heartbeat that the database took.
func (m *manager) beat() { m.beats.Store(new(time.Now())) }

// ready says that the database is open, the targets are planned, and the crawl begins.
func (m *manager) ready() { m.tell("READY=1", "STATUS="+m.what) }

// stopping says that nothing new is begun; it is the last word.
func (m *manager) stopping(why string) {
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
	m.tell("STOPPING=1", "STATUS="+why)
}

// ending says that the crawl is over, and what is left takes no longer than a watchdog waits.
func (m *manager) ending() { m.tell("WATCHDOG=1", "STATUS="+m.what+": finishing") }

// look tells how far the run is, and has the watchdog hear that it works, if it does.
func (m *manager) look(now time.Time, s Snapshot) {
	if m.send == nil {
		return
	}
	m.mu.Lock()
	due := !now.Before(m.next) && !m.over
	if due {
		m.next = now.Add(m.every)
	}
	alive := m.pulse.alive(now, *m.beats.Load(), s)
	m.mu.Unlock()
	if !due {
		return
	}
	words := []string{"STATUS=" + statusLine(m.what, s)}
	if m.watch && alive {
		words = append(words, "WATCHDOG=1")
	}
	m.tell(words...)
}

// tell sends words, one a line. What a site had a hand in can't add a line.
func (m *manager) tell(words ...string) {
	if m.send == nil {
		return
	}
	for i, w := range words {
		words[i] = yp.Cut(yp.Printable(w), 300)
	}
	if err := m.send(strings.Join(words, "\n")); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.warned {
			m.log.Warn().Err(err).Msg("the status could not be sent to the service manager")
		}
		m.warned = true
	}
}

// statusLine is how far a run is: "CA TX 43 %, 117 pages/s".
func statusLine(what string, s Snapshot) string {
	done, total := s.phase()
	text := what
	if s.fetchesDetails() {
		text += ", details"
	}
	if total > 0 { // else nothing is due, or an index is read to find out what is
		text += fmt.Sprintf(" %d %%", done*100/total)
	}
	format := "%s, %.1f pages/s"
	if s.Rate >= 10 {
		format = "%s, %.0f pages/s"
	}
	text = fmt.Sprintf(format, text, s.Rate)
	if s.TargetsFailed > 0 {
		text += ", " + thousands(s.TargetsFailed) + " failed"
	}
	if s.Waiting != "" {
		text += ", waiting " + s.Waiting
	}
	return text
}

const (
	// beatWithin is how old the last heartbeat may be: three of them.
	beatWithin = 90 * time.Second
	// stillWithin is how long nothing may come of the workers without a wait that they can name:
	// 20 requests one after the other that time out.
	stillWithin = 10 * time.Minute
)

// pulse tells a run that works from one that hangs.
type pulse struct {
	moved time.Time // when what was counted last grew
	last  int64
}

// alive reports whether the run still works: its heartbeats reach the database, and requests end,
// or it waits for something that it can name.
func (p *pulse) alive(now, beat time.Time, s Snapshot) bool {
	if s.Requests != p.last || s.Waiting != "" || p.moved.IsZero() {
		p.moved, p.last = now, s.Requests
	}
	return now.Sub(beat) <= beatWithin && now.Sub(p.moved) <= stillWithin
}
