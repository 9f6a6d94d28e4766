// Package crawl is the engine: it claims targets and runs their pages through
// fetch → site → checkpoint, with retries, filters and a graceful stop.
//
// Purpose: one page at a time per worker, in the order
//
//	claim → the host's turn → fetch → classify → parse → filter → WAL line → checkpoint → next page
//
//	            claim                  last page
//	PLANNED ────────────▶ IN_PROGRESS ───────────▶ DONE
//	   ▲                    │   │   │
//	   └── stop, recovery, ─┘   │   └─ permanent ──▶ PARKED
//	       first failures       └─ retries used up ▶ FAILED
//
// The run knows no page: engine.go (one source), sources.go (all sources of a run), pool.go (the workers), claim.go
// (the next target, and waiting for one) and heartbeat.go. A visit (visit.go) is the crawl of one target and knows no
// kind: search.go, index.go and own.go have what differs between searches, a state's index of cities and a listing's own
// page. An index comes first and details last; a crawl of an index marks cities as removed, and plans the searches of the
// others, only when all of its pages were read.
//
// An answer (request.go) is one value from the socket to the commit. What follows a failure is in one table
// (yp.Policies): retry.go asks again and does to source and proxy what the table says, failure.go tells the cause,
// availability.go waits for a source that is closed, probes it, and gives a target back whose host is held
// for long. save.go writes the log line, then commits. Where a list ends is decided in ending.go alone.
//
// Invariants: the WAL line is before the commit; a page is never skipped
// and never committed twice; an empty result is only what the site itself
// calls empty; of several sources in one run none waits for another: what they
// share is in sources.go; a worker that lost its claim writes nothing more; after a stop
// no request is begun, and one under way is carried through; a panic on a page's
// way fails its target, not the run; every request made is on record with the page
// or the outcome that it led to; a host that says stop is not asked by anybody,
// across restarts and processes.
//
// Crash: killed before a commit, the page is fetched again by whoever claims the
// target next; killed after it, the crawl goes on behind it. The engine keeps
// nothing in memory that a restart would miss.
//
// Imports: crawl/discover, crawl/fetch, crawl/health, crawl/kept, crawl/site, checkpoint, store, store/report,
// wal, yp and yp/gazetteer; golang.org/x/sync and zerolog.
//
// Tests: real databases and real local servers; kill points (Config.Reached)
// let the crash tests die at every step; what takes hours runs in synctest bubbles,
// over net.Pipe.
package crawl
