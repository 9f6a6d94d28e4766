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

-- How many listings are dropped and how many have an e-mail address is counted, too.
ALTER TABLE listing_totals ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE listing_totals ADD COLUMN emails INTEGER NOT NULL DEFAULT 0;
UPDATE listing_totals AS t SET dropped = c.dropped, emails = c.emails FROM (
    SELECT l.source_id, l.found_state, sum(l.dropped_at IS NOT NULL) AS dropped, sum(l.dropped_at IS NULL AND d.email IS NOT NULL) AS emails
    FROM listings l LEFT JOIN details d ON d.listing = l.id GROUP BY 1, 2) c
WHERE t.source_id = c.source_id AND t.state = c.found_state;
DROP TRIGGER listings_removed;
CREATE TRIGGER listings_removed AFTER DELETE ON listings BEGIN
    UPDATE listing_totals SET listings = listings - 1, dropped = dropped - (old.dropped_at IS NOT NULL)
    WHERE source_id = old.source_id AND state = old.found_state;
END;
CREATE TRIGGER details_added AFTER INSERT ON details WHEN new.email IS NOT NULL BEGIN
    UPDATE listing_totals SET emails = emails + 1
    WHERE (source_id, state) = (SELECT source_id, found_state FROM listings WHERE id = new.listing AND dropped_at IS NULL);
END;
CREATE TRIGGER details_changed AFTER UPDATE OF email ON details WHEN (old.email IS NULL) <> (new.email IS NULL) BEGIN
    UPDATE listing_totals SET emails = emails + iif(new.email IS NULL, -1, 1)
    WHERE (source_id, state) = (SELECT source_id, found_state FROM listings WHERE id = new.listing AND dropped_at IS NULL);
END;
CREATE TRIGGER details_removed AFTER DELETE ON details WHEN old.email IS NOT NULL BEGIN
    UPDATE listing_totals SET emails = emails - 1
    WHERE (source_id, state) = (SELECT source_id, found_state FROM listings WHERE id = old.listing AND dropped_at IS NULL);
END;
DROP TRIGGER listings_dropped;
CREATE TRIGGER listings_dropped AFTER UPDATE OF dropped_at ON listings WHEN (old.dropped_at IS NULL) <> (new.dropped_at IS NULL) BEGIN
    UPDATE targets SET retired_at = new.dropped_at WHERE listing = new.id;
    UPDATE listing_totals SET dropped = dropped + iif(new.dropped_at IS NULL, -1, 1),
        emails = emails + iif(new.dropped_at IS NULL, 1, -1) * (SELECT count(*) FROM details WHERE listing = new.id AND email IS NOT NULL)
    WHERE source_id = new.source_id AND state = new.found_state;
END;

-- What runs did is counted on when they are forgotten: a sum over all runs never falls.
CREATE TRIGGER runs_removed AFTER DELETE ON runs BEGIN
    INSERT INTO meta (key, value) VALUES ('forgotten:pages', old.pages), ('forgotten:requests', old.requests), ('forgotten:targets', old.targets),
        ('forgotten:listings_new', old.listings_new)
    ON CONFLICT DO UPDATE SET value = value + excluded.value;
END;

-- The pass of each source that a run began or went on with.
CREATE TABLE run_passes (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    selection TEXT NOT NULL CHECK (json_valid(selection)), -- as in passes
    began_at  TEXT NOT NULL,                         -- of the pass, by this run or an earlier one
    PRIMARY KEY (source_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_passes_by_run ON run_passes (run_id);
-- Of a run over several sources the pass of each is not known, of an older pass not its selection.
INSERT INTO run_passes (source_id, run_id, selection, began_at)
SELECT r.source_id, r.id, ifnull((SELECT p.selection FROM passes p WHERE p.source_id = r.source_id AND p.began_at = r.pass_began_at), '{}'), r.pass_began_at
FROM runs r WHERE r.source_id IS NOT NULL AND r.pass_began_at IS NOT NULL;
ALTER TABLE runs DROP COLUMN pass_began_at;

DROP VIEW v_coverage;
-- What the site says that it has, and what was seen of it by the last crawl of each
-- target. pages_left are those beyond the limit of pages, as far as the numbers of the site tell.
CREATE VIEW v_coverage AS
SELECT t.id, s.name AS source, c.name AS city, t.state, k.name AS category, t.status, t.site_total, t.raw_count + t.bad_count AS seen,
       t.page_current AS pages, t.max_pages,
       CASE WHEN t.next_page_url IS NULL OR t.page_current = 0 OR t.status <> 'DONE' AND (t.site_total IS NULL OR t.max_pages = 0) THEN 0
            WHEN t.site_total IS NULL THEN 1
            ELSE max(t.status = 'DONE', cast(ceil((t.site_total - t.raw_count - t.bad_count) * 1.0 * t.page_current / max(1, t.raw_count + t.bad_count)) AS INTEGER)
                 - iif(t.status = 'DONE', 0, t.max_pages - t.page_current)) END AS pages_left,
       CASE WHEN t.site_total > 0 THEN iif(t.raw_count + t.bad_count >= t.site_total, 100.0, min(99.9, round(100.0 * (t.raw_count + t.bad_count) / t.site_total, 1))) END AS percent,
       t.complete_at, t.finished_at
FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
WHERE t.kind = 'search' AND t.retired_at IS NULL AND (t.page_current > 0 OR t.finished_at IS NOT NULL);
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
