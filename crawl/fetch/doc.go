// Package fetch asks web servers for pages: politely, within limits, and with
// failures that say what they are.
//
// Purpose: one tuned client for every source. It obeys robots.txt (RFC 9309),
// takes turns per host, follows redirects inside a fence, decodes gzip, zstd,
// brotli and old charsets into UTF-8 in pooled buffers, and turns whatever
// goes wrong into an *Error with the class of health rules, section 1.
//
// Invariants: no request starts before the host's turn (delay, in-flight cap,
// Crawl-delay, Retry-After), redirect hops and robots.txt included; turns are
// first come, first served; every wait ends with its context; no connection
// is opened to a private address unless the URL's own host is one, checked
// against the resolved address at dial time; no body grows past the cap, on
// the wire or decoded; a page is judged a block by proof, never by a word; a
// context ended by the caller is reported as that, never as a failed request.
//
// Crash: everything here is in memory and safe to lose. A new process fetches
// robots.txt again; it knows no Retry-After deadline of an earlier one.
//
// Imports: yp, the standard library, golang.org/x/net, klauspost/compress,
// andybalholm/brotli and zerolog. No SQL, no HTML structure.
//
// Tests: real local HTTP and HTTPS servers for every row of the failure table,
// a fake resolver for names, testing/synctest for time (no sleeps), goleak,
// fuzz targets for robots.txt, Retry-After, challenges and bodies, and a
// benchmark against a bare net/http loop.
package fetch
