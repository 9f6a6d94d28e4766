-- Reviews of what the crawl dropped, restored and rejected.
-- Until where somebody has looked through what the crawl dropped, restored and rejected:
-- what is to be reviewed has a higher number in listing_events.
CREATE TABLE reviews (
    id       INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that was shown
    by       TEXT NOT NULL CHECK (by IN ('command', 'page'))
) STRICT;
CREATE INDEX listing_events_to_review ON listing_events (id, kind) WHERE kind IN ('dropped', 'restored', 'rejected');

-- The processor time of workers.
ALTER TABLE workers ADD COLUMN cpu_ms INTEGER CHECK (cpu_ms >= 0);
ALTER TABLE workers ADD COLUMN cpu_percent REAL CHECK (cpu_percent >= 0);

-- What an operator has set aside.
CREATE INDEX targets_set_aside ON targets (kind, state) WHERE enabled = 0 OR paused = 1;
