package notify

import (
	"context"
	"sync"
)

// Ping tells a monitor of jobs when one starts and how it ends, by the convention of
// healthchecks: a POST to ADDRESS/start, then one to ADDRESS after a success, to ADDRESS/fail
// after a failure, or to ADDRESS/log with news that are neither. A job that is killed sends
// nothing more, which is what the monitor is there to notice.
type Ping struct {
	queue   *Queue
	started chan struct{} // closed at the end: the start is not worth another try
	once    sync.Once
}

// Verdict is how a job ended for a monitor.
type Verdict string

// The verdicts, as the further path of the address.
const (
	Succeeded Verdict = ""
	Failed    Verdict = "fail"
	Neither   Verdict = "log"
)

// maxPing bounds the body of a ping in bytes, as healthchecks does.
const maxPing = 10_000

// NewPing returns the pings of one job to an address.
func NewPing(s *Sender, to Destination) *Ping {
	return &Ping{queue: s.Add(to), started: make(chan struct{})}
}

func pinged(under, text string) Parcel {
	return Parcel{Event: "ping", Type: "text/plain; charset=utf-8", Body: []byte(cut(Plain(text), maxPing)), Under: under}
}

// Start says that the job starts.
func (p *Ping) Start(text string) {
	parcel := pinged("start", text)
	parcel.Cancelled = p.started
	p.queue.Post(parcel)
}

// End says how the job has ended. A start that could not be delivered until then is not tried
// again: it must not come after the end.
func (p *Ping) End(v Verdict, text string) {
	p.once.Do(func() { close(p.started) })
	p.queue.Post(pinged(string(v), text))
}

// TryPing sends news that change nothing to the monitor, once, and returns how that went.
func TryPing(ctx context.Context, cfg Config, to Destination, text string) error {
	return once(ctx, cfg, to, pinged(string(Neither), text))
}
