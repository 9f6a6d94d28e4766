// Package weburl turns what is in a link into an address, as a browser does.
//
// Purpose: one function, Base.Resolve, for every reference that a page or a redirect makes:
// next links, a card's links and pictures, the cities of an index, addresses in structured
// data, Location. It follows the URL Standard (https://url.spec.whatwg.org), whose parser is
// github.com/nlnwa/whatwg-url: tabs and line breaks are dropped, blanks encoded, a backslash
// is a slash, "http://0x7f.1" is 127.0.0.1. What no server should get is refused with a
// reason for people.
//
// Invariants: an Address is absolute, http or https, normalised, and no longer than MaxLen;
// net/url parses it and writes it back byte for byte, so that what is compared, stored and
// asked for is one text. Beyond the standard, and as browsers' address bars and crawlers do,
// a percent sign in a path that starts no escape is encoded, and so are "|" and "^" in one.
// User information is left out and told. Plain references go a short way past the parser,
// and give what it gives.
//
// Crash: nothing here has state or does I/O, so nothing can be lost.
//
// Imports: nothing of ours; whatwg-url, golang.org/x/text.
//
// Tests: tables; FuzzResolve holds the short way against the parser, and every address
// against net/url.
package weburl
