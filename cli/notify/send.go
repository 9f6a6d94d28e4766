package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl/fetch"
	"ypcrawl/yp"
)

const (
	maxAnswer = 64 << 10 // bytes of an answer that are read
	maxReason = 200      // bytes of an error
	dialLimit = 5 * time.Second
	waitDelay = time.Second // for what a command that was killed has started
)

// permanent is a failure that another try does not mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Sender sends parcels. It is safe for use by several goroutines.
type Sender struct {
	client *http.Client
	log    zerolog.Logger

	Timeout        time.Duration // of a request, from its begin to its end
	CommandTimeout time.Duration
	Waits          []time.Duration // between two tries, the last one again and again
}

// NewSender returns a sender with 10 s for a request, 30 s for a command, and tries after 1, 5, 25 s.
func NewSender(log zerolog.Logger) *Sender {
	guard := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if ap, err := netip.ParseAddrPort(address); err != nil || !fetch.MayDial(ap.Addr(), true) {
			return permanent{fmt.Errorf("%s is an address that is never contacted", address)}
		}
		return nil
	}
	dialer := net.Dialer{Timeout: dialLimit, ControlContext: guard}
	return &Sender{
		Timeout: 10 * time.Second, CommandTimeout: 30 * time.Second, Waits: []time.Duration{time.Second, 5 * time.Second, 25 * time.Second},
		log: log.With().Str("component", "notify").Logger(),
		client: &http.Client{
			// No proxy of the environment: the guard could not see what it leads to.
			Transport: &http.Transport{
				DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: dialLimit,
				ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxAnswer, DisableKeepAlives: true,
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
		log := s.log.With().Str("to", d.Name()).Str("event", p.Event).Int("try", try+1).Logger()
		if err == nil {
			log.Debug().Msg("message delivered")
			return nil
		}
		if errors.As(err, new(permanent)) {
			log.Warn().Err(err).Msg("a message could not be delivered")
			return err
		}
		log.Debug().Err(err).Msg("a message is sent again later")
		t := time.NewTimer(s.Waits[min(try, len(s.Waits)-1)])
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			log.Warn().Err(err).Msg("a message could not be delivered")
			return err
		}
	}
}

// Send sends a parcel once.
func (s *Sender) Send(ctx context.Context, d Destination, p Parcel) error {
	if d.address == nil {
		return s.run(ctx, d, p)
	}
	return s.post(ctx, d, p)
}

func (s *Sender) post(ctx context.Context, d Destination, p Parcel) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.under(p.Under).String(), bytes.NewReader(p.Body))
	if err != nil {
		return permanent{errors.New("this address can't be requested")} // the error would show it
	}
	req.Header.Set("Content-Type", p.Type)
	req.Header.Set("User-Agent", "ypcrawl")
	res, err := s.client.Do(req)
	if err != nil {
		return scrub(err, s.Timeout)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // so that the connection serves the next one
	text := fmt.Sprintf("it answers %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case res.StatusCode/100 == 3:
		to := "elsewhere"
		if u, err := res.Location(); err == nil {
			to = "to " + yp.Printable(Destination{address: u}.Name())
		}
		return permanent{fmt.Errorf("%s, a redirect %s, which is not followed: name the address that it points to", text, to)}
	case res.StatusCode/100 == 4 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusRequestTimeout:
		return permanent{errors.New(text)}
	}
	return errors.New(text)
}

// scrub takes the address out of an error of the HTTP client.
func scrub(err error, limit time.Duration) error {
	if known, ok := errors.AsType[permanent](err); ok {
		return known
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", limit)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return errors.New(cut(Plain(err.Error()), maxReason))
}

// run runs the command of a destination by the shell, with the parcel on its standard input.
func (s *Sender) run(ctx context.Context, d Destination, p Parcel) error {
	ctx, cancel := context.WithTimeout(ctx, s.CommandTimeout)
	defer cancel()
	cmd := shell(ctx, d.command)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(p.Body), waitDelay
	cmd.Env = append(os.Environ(), EnvEvent+"="+p.Event, EnvTitle+"="+p.Title)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and something that it has started lives on
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it did not end within %s and was killed", s.CommandTimeout)
	case ctx.Err() != nil:
		return errors.New("it was killed because the program ends")
	case failed:
		return fmt.Errorf("it ended with %s", exit.ProcessState)
	}
	return errors.New("the shell can't be started") // the error may show the command
}

// Variables of a command's environment. They begin as those of settings do, and are none.
const (
	EnvEvent = "YPCRAWL_EVENT"
	EnvTitle = "YPCRAWL_TITLE"
)
