// Package health knows how sources fare: docs/health.md, section 4 (connectivity,
// layout alarm) and section 5 (pace), and the rows that remember it.
//
// Purpose: the rules as small pure functions that can be read beside the document
// (Counts, Profile, NextDelay, Penalty, the layout alarm), and around them a Monitor that
// fills them from the database and keeps what they decide: connectivity_profiles, hosts,
// host_paces, host_turns, field_shares, proxies, and the automatic pauses of sources.
//
//	            bad for 30 minutes           cooldown over
//	healthy ⇄ degraded ⇄ failing ───▶ quarantined ───▶ one probe ── failed ──▶ quarantined, cooldown doubled
//	             ▲                         │              └──────── succeeded ──▶ degraded
//	             └── healthy after the cooldown
//
// The layout alarm: a field that 90 % of the listings of a category had (of 50 at least) is on no
// listing of three pages in a row that are of three targets; or three pages running whose layout is
// not known, or that show fewer than half of the cards that they announce (Layout.Unknown). Targets are counted,
// because the pages of one lack what its markup lacks, all together.
//
// Invariants: a profile is rolled up from requests alone, and a later reading is
// never overwritten by an earlier one, whoever rolls up; a quarantine ends by its
// one probe or by a healthy roll-up after the cooldown, never by silence; a hold
// on a host is only ever prolonged; between two turns at a host (Take) lies the delay,
// whatever processes take them; a pause that waits for an operator is not
// replaced by one that ends by itself; a time further ahead than its rule allows
// is the mark of a clock that was set back, and is cut to what the rule allows;
// a page under suspicion is not learned from.
//
// Crash: what must outlive it is written at once: quarantine, pauses, strikes,
// learned delays and floors, holds of 5 s or more, and turns, which are never taken ahead of their
// time, so that a dead process keeps nobody waiting for longer than the delay. Lost are the outcomes of a host's last
// requests, its first block (it costs nothing anyway), which ways it has answered 429 in a row, the run of pages that the
// layout alarm suspects, and what it learned since the last Flush.
//
// Imports: store and yp. What fetches is met through the Pacer interface.
//
// Tests: tables at every threshold and on both sides of it, with a fake clock and
// real files; query plans.
package health
