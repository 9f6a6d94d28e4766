// Package kept stores pages as they were fetched, so that they can be parsed again.
//
// Purpose: `run --keep-pages` hands every page of results and every listing's own page to a Writer,
// which compresses it into a SQLite file beside the database, NAME.db.pages. Pages whose layout is not known
// are kept without that, too, the newest 10 of each source, and `sources try --page` reads them.
//
// Invariants: the oldest pages go first; neither age nor size removes those of unknown layout. Keeping never fails a crawl:
// after the first error, or when the disk is nearly full, the Writer says so once and keeps nothing more.
//
// Crash: each page is a transaction, not synced: a power cut may take the last ones.
//
// Imports: store and wal for what names a target, yp and yp/folder; klauspost/compress and zerolog.
//
// Tests: bounds by size and age, the newest of each page, two writers, pages of unknown layout.
package kept
