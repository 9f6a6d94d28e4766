-- Reviews of what the crawl dropped, restored and rejected.
-- Until where somebody has looked through what the crawl dropped, restored and rejected:
-- what is to be reviewed has a higher number in listing_events.
CREATE TABLE reviews (
    id       INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that was shown
    by       TEXT NOT NULL CHECK (by IN ('command', 'page'))
) STRICT;

-- What was delivered to whom.
ALTER TABLE deliveries ADD COLUMN complete INTEGER NOT NULL DEFAULT 1 CHECK (complete IN (0, 1));
-- Those to whom files are handed under a name.
CREATE TABLE recipients (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE CHECK (name <> ''),
    item     TEXT NOT NULL CHECK (item IN ('listing', 'company')), -- what they get a row for
    first    INTEGER NOT NULL,                       -- of deliveries: what those before it told was not kept
    fields   TEXT NOT NULL CHECK (json_valid(fields))              -- whose differences are told, in the order of delivered.told; new ones are added at its end
) STRICT;

-- What each of them has got: a difference to what stands now is what the next file tells.
-- told holds how the item stood ("o" open, "c" closed, "l" left the choice), of a company the
-- listing that stood for it, and three bytes of hash for each field: see store/deliveries.go.
CREATE TABLE delivered (
    recipient INTEGER NOT NULL REFERENCES recipients (id),
    item      INTEGER NOT NULL,                      -- row id of the listing, or number of the company
    delivery  INTEGER NOT NULL,                      -- of deliveries: the last one that told of it
    told      BLOB NOT NULL,
    before    BLOB,                                  -- what holds while that delivery is not complete; NULL = nothing
    PRIMARY KEY (recipient, item)
) STRICT, WITHOUT ROWID;
