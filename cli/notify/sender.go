package notify

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// Config says how parcels are sent. Zero values have the defaults named.
type Config struct {
	Private        bool            // addresses of private networks are permitted
	Waits          []time.Duration // before each try after the first; default 1 s, 5 s, 25 s
	Timeout        time.Duration   // of a request, from its begin to its end; default 10 s
	CommandTimeout time.Duration   // of a command; default 30 s
	Queue          int             // parcels that wait for a destination at most; default 32
	Logger         zerolog.Logger

	roots *x509.CertPool // the tests' own; nil = the system's
}

// Parcel is what is sent once.
type Parcel struct {
	Event yp.NoticeEvent
	Title string
	Type  string // of the body
	Body  []byte
	Under string // further path of the address: "start"

	Ended     func(delivered bool) // called when it was delivered or given up; may be nil
	Cancelled <-chan struct{}      // closed when it is not worth another try; may be nil
}

func (p Parcel) cancelled() bool {
	select {
	case <-p.Cancelled:
		return true
	default:
		return false
	}
}

func (p Parcel) end(delivered bool) {
	if p.Ended != nil {
		p.Ended(delivered)
	}
}

// Sender sends parcels in the background.
type Sender struct {
	cfg     Config
	carrier *carrier
	ctx     context.Context //nolint:containedctx // ends what is under way, see Close
	cancel  context.CancelFunc
	closing chan struct{} // from then on no try waits for long
	running sync.WaitGroup

	mu     sync.Mutex
	queues []*Queue
	closed bool
	lost   int // parcels dropped or given up
}

// NewSender returns a sender without destinations. Close it.
func NewSender(cfg Config) *Sender {
	if cfg.Waits == nil {
		cfg.Waits = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}
	}
	cfg.Timeout, cfg.CommandTimeout = cmp.Or(cfg.Timeout, 10*time.Second), cmp.Or(cfg.CommandTimeout, 30*time.Second)
	cfg.Queue = cmp.Or(cfg.Queue, 32)
	cfg.Logger = cfg.Logger.With().Str("component", "notify").Logger()
	s := &Sender{cfg: cfg, carrier: newCarrier(cfg), closing: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Queue is the parcels that wait for one destination.
type Queue struct {
	sender  *Sender
	to      Destination
	parcels chan Parcel
}

// Add adds a destination, with a goroutine of its own.
func (s *Sender) Add(to Destination) *Queue {
	q := &Queue{sender: s, to: to, parcels: make(chan Parcel, s.cfg.Queue)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, q)
	s.running.Go(q.work)
	return q
}

// Post hands a parcel over and returns at once. One that finds the queue full is dropped.
func (q *Queue) Post(p Parcel) {
	s := q.sender
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		select {
		case q.parcels <- p:
			return
		default:
		}
	}
	s.lost++
	go p.end(false)
	if s.lost == 1 {
		s.cfg.Logger.Warn().Str("to", q.to.Name()).Str("event", string(p.Event)).Int("waiting", len(q.parcels)).Msg("a message was dropped: too many others wait for this destination")
	}
}

// Send sends a message to every destination of queues. done, which may be nil, is called once,
// when all have ended, with whether any of them took it.
func Send(queues []*Queue, m Message, done func(delivered bool)) error {
	p, err := m.parcel()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	left, taken := len(queues), false
	p.Ended = func(delivered bool) {
		mu.Lock()
		left--
		taken = taken || delivered
		last, result := left == 0, taken
		mu.Unlock()
		if last && done != nil {
			done(result)
		}
	}
	for _, q := range queues {
		q.Post(p)
	}
	return nil
}

func (q *Queue) work() {
	for p := range q.parcels {
		p.end(q.deliver(p))
	}
}

// deliver tries until the parcel is delivered, or to no purpose any more.
func (q *Queue) deliver(p Parcel) bool {
	s := q.sender
	for try := 0; ; try++ {
		err := s.ctx.Err()
		if err == nil {
			err = q.try(p)
		}
		log := s.cfg.Logger.With().Str("to", q.to.Name()).Str("event", string(p.Event)).Int("try", try+1).Logger()
		switch {
		case err == nil:
			log.Debug().Msg("message delivered")
			return true
		case p.cancelled():
			return false
		case errors.As(err, new(permanent)), try >= len(s.cfg.Waits), s.ctx.Err() != nil:
			s.mu.Lock()
			s.lost++
			s.mu.Unlock()
			if s.ctx.Err() == nil { // else Close says it, once for all
				log.Warn().Err(err).Msg("a message could not be delivered")
			}
			return false
		}
		log.Debug().Err(err).Msg("a message is sent again later")
		if s.rest(s.cfg.Waits[try], p); p.cancelled() {
			return false
		}
	}
}

// lateTime is what a try that is under way is given when its parcel is cancelled.
const lateTime = 2 * time.Second

// try sends a parcel once.
func (q *Queue) try(p Parcel) error {
	ctx, cancel := context.WithCancel(q.sender.ctx)
	defer cancel()
	if p.Cancelled != nil {
		go func() {
			select {
			case <-p.Cancelled:
			case <-ctx.Done():
				return
			}
			t := time.NewTimer(lateTime)
			defer t.Stop()
			select {
			case <-t.C:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return q.sender.carrier.carry(ctx, q.to, p)
}

// lastWait is how long a try waits at most once the sender is closing.
const lastWait = time.Second

// rest waits between two tries.
func (s *Sender) rest(wait time.Duration, p Parcel) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return
	case <-s.ctx.Done():
		return
	case <-p.Cancelled:
		return
	case <-s.closing:
	}
	short := time.NewTimer(min(wait, lastWait))
	defer short.Stop()
	select {
	case <-t.C:
	case <-short.C:
	case <-s.ctx.Done():
	case <-p.Cancelled:
	}
}

// Close takes no more parcels and returns when what waits is delivered or given up, at the
// latest after limit; what is under way is cut off then, a command killed with its group. It
// says how many parcels were not delivered.
func (s *Sender) Close(limit time.Duration) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for _, q := range s.queues {
		close(q.parcels)
	}
	s.mu.Unlock()
	close(s.closing)
	late := time.AfterFunc(limit, s.cancel)
	s.running.Wait()
	late.Stop()
	s.cancel()
	s.carrier.client.CloseIdleConnections()
	if s.lost > 0 {
		s.cfg.Logger.Warn().Int("messages", s.lost).Msg("pings or notifications were not delivered")
	}
}

// Try sends a message once and returns how that went.
func Try(ctx context.Context, cfg Config, to Destination, m Message) error {
	p, err := m.parcel()
	if err != nil {
		return err
	}
	return once(ctx, cfg, to, p)
}

func once(ctx context.Context, cfg Config, to Destination, p Parcel) error {
	s := NewSender(cfg)
	defer s.Close(0)
	return s.carrier.carry(ctx, to, p)
}
