// Package web is the page on which a crawl is looked at: rendered here, read-only, followed live.
//
// Purpose: serve views over store/report to browsers. A view is a path and its parts; a part
// is a question, and the template that shows its answer. A browser that asks for a view as an
// event stream is told every part that has changed; one without script loads it again and
// again.
//
// Invariants: nothing is kept but what each event stream was told last. A view is read in one snapshot
// of the database: by who asks for it, or by all who ask for the same while it waits to be read, and
// then once a second for all who look on at one address, not at all while nobody does; a part that
// takes long is read less often, and says of when it is; a plot is drawn of what is known, without a line over a gap. Every question
// has a limit of time; of many connections those give way on which no request is under way (see conns); a download holds no
// snapshot while its client reads; no text that came from the web reaches a browser unescaped, nor with characters that hide or
// turn text (see printable); no address
// begins at the top of the host, which a proxy may have for others (see relative); nothing is served to
// whoever asks under a name that is not ours, but whether we are well to who names no host (see guard).
//
// A page that has no database yet, or whose file was replaced, is a server that another one takes over from
// (see keepUp): on the same listener, with the same connections.
//
// Crash: nothing is kept here.
//
// Imports: cli/export, store, store/report and yp; zerolog. Only commands import this package.
//
// Tests: real servers on loopback; and in web/browser a real Chromium.
package web
