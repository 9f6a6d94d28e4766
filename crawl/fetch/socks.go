package fetch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"

	"ypcrawl/yp"
)

// Of SOCKS5 (RFC 1928) and its passwords (RFC 1929).
const (
	socksVersion      = 5
	socksNoAuth       = 0
	socksPassword     = 2
	socksNoneFits     = 0xff
	socksPasswordForm = 1
	socksConnect      = 1
	socksIPv4         = 1
	socksName         = 3
	socksIPv6         = 4
	socksRefused      = 5 // the host refused the connection
)

var errNotSocks = errors.New("the answer is no SOCKS5")

// socks asks a SOCKS5 proxy for a tunnel. A name is sent as it is: the proxy
// looks it up.
func (g *gateway) socks(conn net.Conn, addr string) error {
	if err := g.socksGreet(conn); err != nil {
		return err
	}
	request, err := socksRequest(addr)
	if err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return fmt.Errorf("socks connect %s: %w", addr, err)
	}
	return socksAnswer(conn, addr)
}

// socksGreet agrees on how to sign in, and does.
func (g *gateway) socksGreet(conn net.Conn) error {
	methods := []byte{socksVersion, 1, socksNoAuth}
	if g.url.User != nil {
		methods = []byte{socksVersion, 2, socksNoAuth, socksPassword}
	}
	method, err := socksExchange(conn, methods, socksVersion)
	switch {
	case err != nil:
		return fmt.Errorf("socks greeting: %w", err)
	case method == socksNoAuth:
		return nil
	case method == socksPassword && g.url.User != nil:
		return g.socksSignIn(conn)
	case method == socksNoneFits || method == socksPassword:
		return &refusal{what: "socks greeting: another way to sign in is wanted", class: yp.ClassAuthError}
	}
	return fmt.Errorf("socks greeting: %w", errNotSocks)
}

func (g *gateway) socksSignIn(conn net.Conn) error {
	user := g.url.User.Username()
	password, _ := g.url.User.Password()
	msg := append([]byte{socksPasswordForm, byte(len(user))}, user...)
	msg = append(append(msg, byte(len(password))), password...)
	status, err := socksExchange(conn, msg, socksPasswordForm)
	if err != nil {
		return fmt.Errorf("socks sign-in: %w", err)
	}
	if status != 0 {
		return &refusal{what: "socks sign-in: user or password refused", class: yp.ClassAuthError}
	}
	return nil
}

// socksExchange sends msg and returns the second byte of the two that answer it.
func socksExchange(conn net.Conn, msg []byte, version byte) (byte, error) {
	if _, err := conn.Write(msg); err != nil {
		return 0, err
	}
	var answer [2]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return 0, err
	}
	if answer[0] != version {
		return 0, errNotSocks
	}
	return answer[1], nil
}

func socksRequest(addr string) ([]byte, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("socks connect: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("socks connect %s: %w", addr, err)
	}
	msg := []byte{socksVersion, socksConnect, 0}
	a, err := netip.ParseAddr(host)
	switch {
	case err == nil && a.Unmap().Is4():
		msg = append(append(msg, socksIPv4), a.Unmap().AsSlice()...)
	case err == nil:
		msg = append(append(msg, socksIPv6), a.AsSlice()...)
	case len(host) > 255:
		return nil, fmt.Errorf("socks connect: %w: the name is too long", ErrBadURL)
	default:
		msg = append(append(msg, socksName, byte(len(host))), host...)
	}
	return append(msg, byte(n>>8), byte(n)), nil
}

// socksAnswer reads the answer to the request to its end, and not beyond: what
// follows is the host's.
func socksAnswer(conn net.Conn, addr string) error {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("socks connect %s: %w", addr, err)
	}
	switch {
	case head[0] != socksVersion:
		return fmt.Errorf("socks connect %s: %w", addr, errNotSocks)
	case head[1] != 0:
		return socksRefusal(addr, head[1])
	}
	if err := socksSkipAddress(conn, head[3]); err != nil {
		return fmt.Errorf("socks connect %s: %w", addr, err)
	}
	return nil
}

// socksSkipAddress reads past the proxy's own address and port.
func socksSkipAddress(conn net.Conn, form byte) error {
	var skipped [255 + 2]byte
	length := 0
	switch form {
	case socksIPv4:
		length = 4
	case socksIPv6:
		length = 16
	case socksName:
		if _, err := io.ReadFull(conn, skipped[:1]); err != nil {
			return err
		}
		length = int(skipped[0])
	default:
		return errNotSocks
	}
	_, err := io.ReadFull(conn, skipped[:length+2])
	return err
}

func socksRefusal(addr string, code byte) error {
	reasons := [...]string{
		1: "general failure", 2: "not allowed", 3: "network unreachable", 4: "host unreachable",
		5: "connection refused", 6: "time to live expired", 7: "command not supported", 8: "address type not supported",
	}
	reason := "unknown code"
	if int(code) < len(reasons) {
		reason = reasons[code]
	}
	r := &refusal{what: fmt.Sprintf("socks connect %s: %s (%d)", addr, reason, code)}
	if code == socksRefused {
		r.class = yp.ClassConnectionRefused
	}
	return r
}
