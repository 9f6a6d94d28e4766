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
//	   └── stop, recovery ──┘   │   └─ permanent ──▶ PARKED
//	                            └─ retries used up ▶ FAILED
//
// Invariants: the WAL line stands before the commit; a page is never skipped
// and never committed twice; an empty result is only what the site itself
// calls empty; a worker that lost its claim writes nothing more; after a stop
// no request is begun, and one under way is carried through; a panic on a page's
// way fails its target, not the run.
//
// Crash: killed before a commit, the page is fetched again by whoever claims the
// target next; killed after it, the crawl goes on behind it. The engine keeps
// nothing in memory that a restart would miss.
//
// Imports: crawl/fetch, crawl/site, checkpoint, store, wal and yp.
//
// Tests: real databases and real local servers; kill points (Config.Reached)
// let the crash tests die at every step.
package crawl
