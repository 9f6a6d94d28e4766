// Package checkpoint decides what may happen to a target's progress: plan, claim,
// commit a page, heartbeat, finish, recover, reset. What people see of it is
// store/report's.
//
// Purpose: the machine of yp.Status as SQL statements that
// can't be interleaved into an impossible state:
//
//	            claim                  last page
//	PLANNED ────────────▶ IN_PROGRESS ───────────▶ DONE ──(due again)──▶ PLANNED
//	   ▲  ▲                 │   │   │
//	   │  └──released/stop──┘   │   └─ permanent or attempts used up ─▶ PARKED
//	   │                        └─ error, retries used up ────────────▶ FAILED ──(backoff over)──▶ PLANNED
//	   └── recover (orphan) ── 3 deaths with its page in hand ─────────▶ STUCK
//
// Invariants: a claim is one UPDATE … RETURNING, so two workers never hold one
// target; every later statement on it is fenced by owner, token and status, so
// a late worker can't write a byte (ErrClaimLost); a page's listings and its
// page_current are one transaction, and pages follow each other without a gap.
//
// Targets are of three kinds (yp.Kind): the index of a source's cities in a state, a search,
// a listing's own page. They differ in what a page of them is (CommitPage) and in how
// a crawl of them ends (page.go, index.go), and in nothing else.
// A crawl ends as complete only when the site itself said that nothing follows, and only
// such crawls and whole indexes mark anything as dropped or removed.
//
// A replay of logs makes their commits anew by the same functions, in the order of their numbers (meta 'committed',
// targets.committed): its fence is that nobody holds the target.
//
// Crash: before a commit the page is not there and is fetched again; after it
// the crawl goes on behind it. What a dead process held is found by its lock
// file and planned again at the next start.
//
// Imports: store, wal and yp.
//
// Tests: real files; a property test drives random events against the machine
// in package yp; the crash tests at the top of the project kill real processes.
package checkpoint
