// Package health knows how sources fare: docs/health.md, section 4 (connectivity,
// layout alarm) and section 5 (pace), and the rows that remember it.
//
// Purpose: the rules as small pure functions that can be read beside the document
// (Counts, Profile, NextDelay, Penalty, the layout alarm), and around them a Monitor that
// fills them from the database and keeps what they decide: connectivity_profiles, hosts,
// host_turns, field_shares, page_samples, proxies, and the automatic pauses of sources.
//
//	            bad for 30 minutes           cooldown over
//	healthy ⇄ degraded ⇄ failing ───▶ quarantined ───▶ one probe ── failed ──▶ quarantined, cooldown doubled
//	             ▲                         │              └──────── succeeded ──▶ degraded
//	             └── healthy after the cooldown
//
// The layout alarm, per field of a listing:
//
//  1. A page is bare of a field when under a quarter of the listings that usually have
//     it, in its category, still do. 5 at least should, else it proves nothing.
//  2. A run is the targets that had a bare page since the last page that had the field.
//  3. Chance is the product of (bare+1)/(targets+2) over the targets of the run: of so
//     many targets counted before it in its category so many were bare.
//  4. A run of 5 targets or more alarms when its chance is under one in a billion.
//
// Example: 30 listings a page, usually all with a phone, and none of 161 targets was ever
// bare. A page with 6 phones is bare (4 × 7 ≤ 30), one with 7 is not. Five targets running
// are bare: 1/163 × 2/164 × 3/165 × 4/166 × 5/167 = 0.98 in a billion, the alarm. Had 16
// of the 161 been bare before, 17/163 × 18/164 × … would need 11 of them.
// Targets are counted and not pages, because the pages of one lack what its markup lacks,
// all together. While a run lasts, nothing but its targets is learned, unless most targets
// of the category are bare: then it is so now. A page that shows far fewer cards than it
// announces is of no known layout (Layout.Unknown); the third of those running alarms, too.
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
// learned delays, holds of 5 s or more, and turns, which are never taken ahead of their
// time, so that a dead process keeps nobody waiting for longer than the delay. Lost are the outcomes of a host's last
// requests, its first block (it costs nothing anyway), the run of pages that the
// layout alarm suspects, and what it learned since the last Flush.
//
// Imports: store and yp, and klauspost/compress for page samples. What fetches is
// met through the Pacer interface.
//
// Tests: tables at every threshold and on both sides of it, with a fake clock;
// the four scenarios and a restart on real files; query plans; the layout
// alarm over 2,000,000 pages of directories that do not change, and on the demo;
// benchmarks over 1,000,000 requests.
package health
