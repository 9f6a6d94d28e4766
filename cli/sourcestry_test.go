package cli

import (
	"net/url"
	"testing"
)

// TestHostOf: the name under which a host is held.
func TestHostOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://Example.COM./x": "example.com", "https://example.com:443": "example.com", "https://example.com:80": "example.com",
		"http://127.0.0.1:8080/": "127.0.0.1:8080", "http://[::1]": "[::1]", "http://[::1]:81": "[::1]:81", "https://münchen.de": "xn--mnchen-3ya.de",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostOf(u); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
