package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl/fetch"
	"ypcrawl/yp"
)

const (
	maxHead   = 64 << 10 // bytes of an answer; its body is not read
	maxReason = 200      // bytes of an error
)

// Destination is where parcels go: an address, or a command. Its value may be a secret; Name is
// all that may be shown.
type Destination struct {
	address *url.URL
	command string
}

// Errors of a destination as it was typed. None has any of its text.
var (
	ErrNoAddress = errors.New("write an address with http:// or https:// and a host")
	ErrNothing   = errors.New("it is empty; give an address (https://…) or a command")
)

// ParseAddress reads an http or https address.
func ParseAddress(raw string) (Destination, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return Destination{}, ErrNoAddress
	}
	return Destination{address: u}, nil
}

// Parse reads an address, or takes the text as a command for the shell. What has a scheme of
// another kind is neither.
func Parse(raw string) (Destination, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return Destination{}, ErrNothing
	}
	if first, _, _ := strings.Cut(raw, " "); strings.Contains(first, "://") {
		return ParseAddress(raw)
	}
	return Destination{command: raw}, nil
}

// Command reports whether it is a command.
func (d Destination) Command() bool { return d.address == nil }

// Name is what may be shown of a destination: scheme and host of an address, "command".
func (d Destination) Name() string {
	if d.address == nil {
		return "command"
	}
	return d.address.Scheme + "://" + d.address.Host
}

// permanent is a failure that another try does not mend.
type permanent struct{ error }

// Sender sends parcels. It is safe for use by several goroutines.
type Sender struct {
	client         *http.Client
	log            zerolog.Logger
	Timeout        time.Duration // of a request, from its begin to its end
	CommandTimeout time.Duration
	Stopped        <-chan struct{} // closed when the program is to stop; nil = never
	StoppedTimeout time.Duration   // of a command from then on
	Waits          []time.Duration // between two tries, the last one again and again
}

// NewSender returns a sender with 10 s for a request, 30 s for a command, 10 s once the program is to stop, and tries after 1, 5, 25 s.
func NewSender(log zerolog.Logger) *Sender {
	guard := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if ap, err := netip.ParseAddrPort(address); err != nil || !fetch.MayDial(ap.Addr(), true) {
			return permanent{fmt.Errorf("%s is an address that ypcrawl never contacts", address)}
		}
		return nil
	}
	dialer := net.Dialer{Timeout: 5 * time.Second, ControlContext: guard}
	return &Sender{
		Timeout: 10 * time.Second, CommandTimeout: 30 * time.Second, StoppedTimeout: 10 * time.Second,
		Waits: []time.Duration{time.Second, 5 * time.Second, 25 * time.Second},
		log:   log.With().Str("component", "notify").Logger(),
		client: &http.Client{
			// No proxy of the environment: the guard could not see what it leads to.
			Transport: &http.Transport{
				DialContext: dialer.DialContext, TLSHandshakeTimeout: 5 * time.Second, DisableCompression: true,
				MaxResponseHeaderBytes: maxHead, DisableKeepAlives: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Deliver sends a parcel, as often as it takes until ctx ends, or to no purpose any more. What
// failed is logged. No error has more of the destination than its name.
func (s *Sender) Deliver(ctx context.Context, d Destination, p Parcel) error {
	for try := 0; ; try++ {
		err := s.Send(ctx, d, p)
		if err == nil {
			return nil
		}
		over := errors.As(err, new(permanent))
		if !over {
			select {
			case <-time.After(s.Waits[min(try, len(s.Waits)-1)]):
			case <-ctx.Done():
				over = true
			}
		}
		if over {
			s.log.Warn().Str("to", d.Name()).Str("event", p.Event).Int("tries", try+1).Err(err).Msg("a message could not be delivered")
			return err
		}
	}
}

// Send sends a parcel once.
func (s *Sender) Send(ctx context.Context, d Destination, p Parcel) error {
	if d.address == nil {
		return s.run(ctx, d, p)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	address := d.address
	if p.Under != "" { // of https://hc.example/uuid, https://hc.example/uuid/start
		address = address.JoinPath(p.Under)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(p.Body))
	if err != nil {
		return permanent{errors.New("this address can't be requested")} // the error would show it
	}
	req.Header.Set("Content-Type", p.Type)
	req.Header.Set("User-Agent", "ypcrawl")
	res, err := s.client.Do(req)
	if err != nil {
		return s.scrub(err)
	}
	defer func() { _ = res.Body.Close() }()
	text := fmt.Sprintf("it answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case res.StatusCode/100 == 3:
		to := "elsewhere"
		if u, err := res.Location(); err == nil {
			to = "to " + yp.Printable(Destination{address: u}.Name())
		}
		return permanent{fmt.Errorf("%s, a redirect %s, which is not followed; give the address that it points to", text, to)}
	case res.StatusCode/100 == 4 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusRequestTimeout:
		return permanent{errors.New(text)}
	}
	return errors.New(text)
}

// scrub takes the address out of an error of the HTTP client.
func (s *Sender) scrub(err error) error {
	if known, ok := errors.AsType[permanent](err); ok {
		return known
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", s.Timeout)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return errors.New(cut(Plain(err.Error()), maxReason))
}

// given is the time of a command that is begun now. What it has begun to do would be done again, so it isn't cut short
// when those who asked have no time left, but for a program that is to stop.
func (s *Sender) given(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.CommandTimeout)
	go func() {
		select {
		case <-s.Stopped:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(s.StoppedTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// run runs the command of a destination by the shell, with the parcel on its standard input. None is begun when ctx
// has ended.
func (s *Sender) run(ctx context.Context, d Destination, p Parcel) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.given(ctx)
	defer cancel()
	cmd := shell(ctx, d.command)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(p.Body), time.Second
	cmd.Env = append(os.Environ(), "YPCRAWL_EVENT="+p.Event, "YPCRAWL_TITLE="+p.Title) // they begin as settings do, and are none
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and something that it has started lives on
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("it did not end within %s of a signal to stop, and was killed", s.StoppedTimeout)
	case ctx.Err() != nil:
		return fmt.Errorf("it did not end within %s and was killed", s.CommandTimeout)
	case cmd.ProcessState != nil:
		return fmt.Errorf("it ended with %s", cmd.ProcessState)
	}
	return errors.New("the shell can't be started") // the error may show the command
}
