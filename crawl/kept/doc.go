// Package kept stores pages as they were fetched, so that they can be parsed again.
//
// Purpose: `run --keep-pages` hands every page of results and every listing's own page to a
// Writer, which compresses it and appends it to a file beside the database, a segment.
// A Reader finds the newest of each target and number, and gives its body back.
//
//	20261123T045500.000Z_1f0c….pages      of one run, at most Config.SegmentBytes large
//	  S definition, base URL and filter of a source; D dictionary; P page, P page, P page…
//
// Each record has its lengths, two checksums and a JSON header; it is one write.
//
// Invariants: a segment is written by one run and only appended to, and holds every
// definition and dictionary that its pages need; the folder stays below Config.MaxBytes, but
// for what other runs add to their segments at that time; the oldest segments go first,
// and none of a living run. Keeping never fails a crawl: after the first error, or when
// the disk is nearly full, the Writer says so once and keeps nothing more.
//
// Crash: a kill leaves a torn record at the end of a segment, which readers pass over;
// the next run begins a segment of its own. Nothing is synced: a power cut may take the
// pages of the last seconds. Damage costs the records that it hits: a reader goes on with the
// next one whose header has the right checksum.
//
// Imports: wal for what names a target, and yp.
//
// Tests: a segment cut at every byte and with every byte changed; failing files; bounds by
// size and age; a fuzz target for the reader; a benchmark that measures time and bytes a page.
package kept
