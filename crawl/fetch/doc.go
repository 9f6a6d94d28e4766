// Package fetch asks web servers for pages: politely, within limits, and with
// failures that say what they are.
//
// Purpose: one tuned client for every source. It obeys robots.txt (RFC 9309),
// takes turns per host, follows redirects inside a fence, decodes gzip, zstd,
// brotli and old charsets into UTF-8 in pooled buffers, and turns whatever
// goes wrong into an *Error with the class of docs/health.md, section 1. Where the
// operator wants it, requests go through proxies (HTTP, HTTPS, SOCKS5) and with a
// browser's headers: a Session is one identity, direct or through one proxy, with its own
// cookies and connections, and a Pool says who gets which (section 6). The honest direct
// one keeps cookies for the redirects of one page only.
//
// Invariants: no request starts before the host's turn (delay, in-flight cap,
// Crawl-delay, Retry-After, Hold), redirect hops and robots.txt included, whatever
// the session, and, with Config.Turns, whatever the process; turns are first come,
// first served within a process; each request leaves once, and nothing below asks again
// (conns); a host whose answers net/http refuses and browsers read is asked by connections that
// clean the header, bounded, with one request on each (cleanedConn): no framing between two answers is
// guessed; no size of a chunk is left in a body (chunkReader); a connection on which work comes and no page is closed
// (work); every wait ends with its context, and a hold over Request.MaxHold is not waited for at all; no connection is
// opened to a private address unless the URL's own host is one, checked against the resolved address at dial time; a
// redirect leads to no other domain and no other port, but for robots.txt, which may be on any public host, and none leads
// from https to http unless the source is on http; no body grows past the cap, on the wire or decoded, and one that breaks
// off before its end, or is a part (206), is neither a page nor a robots.txt; a page is judged a block by proof, never by a
// word; a context ended by the caller is reported as that, never as a failed request. A session with a proxy sends nothing
// past it: no page, no robots.txt, no question to a name server; and no private host but the base's own is asked of the
// proxy. A proxy's failure, and what it answers itself, is told from the host's (Error.Proxy) and holds no host back,
// unless other ways fail alike. A proxy's password is in no error, log line or observation. robots.txt is judged under our
// own name, whatever the identity. A secret goes to its origin alone, and is in no answer, error, log line or observation
// (Secrets); a POST is repeated by a redirect on the same scheme, host and port alone.
//
// Crash: everything here is in memory and safe to lose. A new process fetches
// robots.txt again. Holds, delays and proxies' failures of an earlier one are the
// caller's to keep and to give back (Hold, SetDelay, Proxy).
//
// Imports: yp and yp/weburl; golang.org/x/net, x/text and x/sync, klauspost/compress, andybalholm/brotli and
// zerolog. No SQL, no HTML structure.
//
// Tests: real local HTTP and HTTPS servers for every row of the failure table,
// and real proxies of every kind before them, which count, demand passwords,
// refuse, hang and die, and answers recorded from Squid, tinyproxy and Privoxy; a server of HTTP/2
// that sends any frames; a fake resolver for names, testing/synctest for time (no
// sleeps), goleak, and fuzz targets for robots.txt, Retry-After, challenges, bodies, chunks, headers
// and proxy addresses.
package fetch
