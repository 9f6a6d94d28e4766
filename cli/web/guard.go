package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// policy lets a page have what we serve and nothing else: no inline style or script either.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets through who asks for us under our own name. A site that a browser shows can let
// its name point to this machine and would then read the page as its own (DNS rebinding):
// its name is in Host, and is not ours. Nothing is changed by a GET; a POST comes from our own
// page, or not at all.
func (s *Server) guard(listening net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // nothing to others; with no-referrer a browser sends the Origin "null" with our own forms
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Add("Vary", "Accept")
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		switch local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); {
		case r.Host == "" && r.URL.Path == s.cfg.Health && reads(r): // no browser, which always names one
			s.shown().mux.ServeHTTP(w, r)
		case r.Host == "":
			s.refuse(w, r, http.StatusForbidden, "The request names no host.", "Send Host: "+listening.String()+".")
		case !s.isOurs(r.Host, listening) && (!ok || !s.isOurs(r.Host, local)):
			s.refuse(w, r, http.StatusForbidden, "This page is not served under the name "+r.Host+".",
				"Open http://"+listening.String()+"/, or allow the name: `dashboard --allow-host "+nameOf(r.Host)+"`, or allow-host in ypcrawl.yaml for the page of a run.")
		case origin != "" && !sameOrigin(origin, r.Host), site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			s.refuse(w, r, http.StatusForbidden, "Another site may not request this page.", "Type its address into the browser.")
		case !reads(r):
			h.Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "This page takes no input.", "Request it with GET.")
		case r.URL.EscapedPath() != tidy(r.URL.EscapedPath()): // what is escaped is part of an id
			to := top(r.URL.EscapedPath()) + tidy(r.URL.EscapedPath())[1:]
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			h.Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		default:
			s.shown().mux.ServeHTTP(w, r)
		}
	})
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// isOurs reports whether a Host header names the address, with its port, or one of the names
// that the operator gave, with any.
func (s *Server) isOurs(host string, address net.Addr) bool {
	name, port := nameOf(host), portOf(host)
	if slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, host) }) {
		return true
	}
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || port != portOf(address.String()) {
		return false
	}
	own := at.Addr().Unmap()
	if own.IsLoopback() && (strings.EqualFold(name, "localhost") || name == "127.0.0.1" || name == "::1") {
		return true
	}
	asked, err := netip.ParseAddr(name)
	return err == nil && asked.Unmap() == own && !own.IsUnspecified()
}

// tidy is a path without empty and dotted parts. ServeMux would lead there by itself, from the top of the host, which is
// not that of the page behind a proxy that shows it below a path of its own.
func tidy(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// nameOf is a Host without its port and brackets.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func portOf(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return port
	}
	return "80"
}
