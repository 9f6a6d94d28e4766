-- Reviews of what the crawl dropped, restored and rejected.
-- Until where somebody has looked through what the crawl dropped, restored and rejected:
-- what is to be reviewed has a higher number in listing_events.
CREATE TABLE reviews (
    id       INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that was shown
    by       TEXT NOT NULL CHECK (by IN ('command', 'page'))
) STRICT;

-- What was reported by --notify, so that a restart does not tell it again: the last message of
-- each event, and of a source where it is about one.
CREATE TABLE notices (
    event        TEXT NOT NULL CHECK (event IN ('quarantine', 'layout', 'dead_letters', 'dropped', 'claim_retries', 'fewer_listings', 'run_failed')),
    source_id    INTEGER NOT NULL CHECK (source_id >= 0), -- of sources; 0 = of the whole run, or of several
    mark         TEXT NOT NULL,                           -- which one of its kind: the same is reported again a day later at the earliest
    at           TEXT NOT NULL,                           -- when it was to be reported
    run_id       INTEGER REFERENCES runs (id) ON DELETE SET NULL, -- by whom
    delivered_at TEXT,                                    -- the last of these times whose message a destination took
    PRIMARY KEY (event, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notices_by_run ON notices (run_id) WHERE run_id IS NOT NULL;

ALTER TABLE passes ADD COLUMN listings INTEGER NOT NULL DEFAULT 0 CHECK (listings >= 0);
