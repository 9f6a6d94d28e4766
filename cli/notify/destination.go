package notify

import (
	"errors"
	"net/url"
	"strings"
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
	ErrNothing   = errors.New("it is empty: name an address (https://…) or a command")
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
	first, _, _ := strings.Cut(raw, " ")
	if strings.Contains(first, "://") {
		return ParseAddress(raw)
	}
	return Destination{command: raw}, nil
}

// Name is what may be shown of a destination: scheme and host of an address, "command".
func (d Destination) Name() string {
	if d.address == nil {
		return "command"
	}
	return d.address.Scheme + "://" + d.address.Host
}

// under is the address with more of a path: of https://hc.example/uuid, https://hc.example/uuid/start.
func (d Destination) under(more string) *url.URL {
	if more == "" {
		return d.address
	}
	return d.address.JoinPath(more)
}
