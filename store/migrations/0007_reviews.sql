-- Reviews of what the crawl dropped, restored and rejected.
-- Until where somebody has looked through what the crawl dropped, restored and rejected:
-- what is to be reviewed has a higher number in listing_events.
CREATE TABLE reviews (
    id       INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that was shown
    by       TEXT NOT NULL CHECK (by IN ('command', 'page'))
) STRICT;
