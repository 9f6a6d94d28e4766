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
	"runtime"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl/fetch"
	"ypcrawl/yp"
)

const (
	maxAnswer = 64 << 10 // bytes of an answer, or of a command's output, that are read
	maxOutput = 4 << 10  // of them shown in the log
	maxReason = 200      // bytes of an error
	dialLimit = 5 * time.Second
	waitDelay = time.Second // for the output of a command that was killed
)

// permanent is a failure that another try does not mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// carrier sends parcels, one at a time each, for any number of destinations.
type carrier struct {
	client       *http.Client
	limit        time.Duration // of a request
	commandLimit time.Duration
	log          zerolog.Logger
}

func newCarrier(cfg Config) *carrier {
	guard := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err == nil && fetch.MayDial(ap.Addr(), cfg.Private) {
			return nil
		}
		if err == nil && fetch.MayDial(ap.Addr(), true) {
			return permanent{fmt.Errorf("%s is an address of a private network: allow it with --notify-private", ap.Addr().Unmap())}
		}
		return permanent{fmt.Errorf("%s is not a public address", address)}
	}
	dialer := net.Dialer{Timeout: dialLimit, ControlContext: guard}
	return &carrier{
		limit: cfg.Timeout, commandLimit: cfg.CommandTimeout, log: cfg.Logger,
		client: &http.Client{
			// No proxy of the environment: the guard could not see what it leads to.
			Transport: &http.Transport{
				DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.roots}, TLSHandshakeTimeout: dialLimit,
				ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxAnswer, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// carry sends a parcel once. No error has more of the destination than its name.
func (c *carrier) carry(ctx context.Context, d Destination, p Parcel) error {
	if d.address == nil {
		return c.run(ctx, d, p)
	}
	return c.post(ctx, d, p)
}

func (c *carrier) post(ctx context.Context, d Destination, p Parcel) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.under(p.Under).String(), bytes.NewReader(p.Body))
	if err != nil {
		return permanent{errors.New("this address can't be requested")} // the error would show it
	}
	req.Header.Set("Content-Type", p.Type)
	req.Header.Set("User-Agent", "ypcrawl")
	res, err := c.client.Do(req)
	if err != nil {
		return scrub(err, c.limit)
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
func (c *carrier) run(ctx context.Context, d Destination, p Parcel) error {
	ctx, cancel := context.WithTimeout(ctx, c.commandLimit)
	defer cancel()
	out := &output{}
	cmd := shell(ctx, d.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(p.Body), out, out, waitDelay
	cmd.Env = append(os.Environ(), EnvEvent+"="+string(p.Event), EnvTitle+"="+p.Title)
	// The kernel ends the command with the thread that has started it, which so must live as long.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if text := out.text(); text != "" {
		c.log.Debug().Str("event", string(p.Event)).Str("output", text).Msg("output of the command for notifications")
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and something that it has started lives on
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it did not end within %s and was killed", c.commandLimit)
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

// output keeps the beginning of what a command writes.
type output struct{ kept bytes.Buffer }

// Write implements io.Writer; what is too much is taken and forgotten.
func (o *output) Write(p []byte) (int, error) {
	o.kept.Write(p[:min(len(p), maxOutput-o.kept.Len())])
	return len(p), nil
}

func (o *output) text() string {
	return yp.Printable(string(bytes.ToValidUTF8(bytes.TrimSpace(o.kept.Bytes()), nil)))
}
