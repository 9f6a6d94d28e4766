-- From version 3 to 4: what attackers of the third version found.

DROP VIEW v_crawl_health;

CREATE VIEW v_crawl_health AS
SELECT s.name AS source, count(t.id) AS targets,
       sum(t.crawl_status = 'active') AS active, sum(t.crawl_status = 'degraded') AS degraded,
       sum(t.crawl_status = 'paused') AS paused, sum(t.crawl_status = 'failed') AS failed,
       (SELECT count(*) FROM targets_available a WHERE a.source_id = s.id) AS due_now,
       sum(t.consecutive_failures > 0) AS with_failures, round(avg(t.consecutive_failures), 2) AS mean_consecutive_failures,
       count(*) FILTER (WHERE t.last_success_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')) AS successful_24h
FROM sources s JOIN targets t ON t.source_id = s.id GROUP BY s.id;

-- Which database this is, for its logs.
INSERT INTO meta (key, value) VALUES ('database_id', lower(hex(randomblob(8))));

-- How far the logs of a database have been replayed into this one, by target: what stands
-- there up to this event is not read a second time. Empty where nothing was replayed.
CREATE TABLE replayed (
    target_id   INTEGER NOT NULL REFERENCES targets (id),
    database_id TEXT NOT NULL,                             -- of the logs: meta 'database_id' of the file whose crawl they tell
    claim_token INTEGER NOT NULL CHECK (claim_token >= 0), -- of the last event
    seq         INTEGER NOT NULL CHECK (seq >= 0),         -- its number within its worker's log
    crawl       INTEGER NOT NULL CHECK (crawl >= 0),       -- the number there of the crawl that the target is in here; 0 = older logs, which do not say
    ended       INTEGER NOT NULL CHECK (ended >= 0),       -- last crawl (targets.crawls) whose end was counted
    gap         INTEGER NOT NULL DEFAULT 0 CHECK (gap IN (0, 1)), -- 1 = a page before the last one read is missing in the logs: the crawl has not ended here
    PRIMARY KEY (target_id, database_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE host_turns (
    host    TEXT PRIMARY KEY,
    next_at TEXT NOT NULL,
    gap_ms  INTEGER NOT NULL CHECK (gap_ms > 0)
) STRICT, WITHOUT ROWID;

ALTER TABLE sources ADD COLUMN paused_ms INTEGER CHECK (paused_ms > 0);
ALTER TABLE hosts ADD COLUMN held_ms INTEGER CHECK (held_ms > 0);

-- What a run rejected, dropped and restored.
ALTER TABLE runs ADD COLUMN listings_rejected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN listings_dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN listings_restored INTEGER NOT NULL DEFAULT 0;

DROP VIEW v_crawl_error_summary;

CREATE VIEW v_crawl_error_summary AS
SELECT s.name AS source, a.error_code, a.error_code = 'BLOCKED_PROXY' AND a.proxy IS NOT NULL AS by_proxy,
       count(*) AS occurrences, count(DISTINCT a.target_id) AS targets, max(a.finished_at) AS last_seen,
       cast(avg(a.duration_ms) AS INTEGER) AS mean_duration_ms
FROM crawl_attempts a JOIN targets t ON t.id = a.target_id JOIN sources s ON s.id = t.source_id
WHERE a.finished_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days') AND a.error_code <> 'SUCCESS' AND a.ended <> 'done'
GROUP BY s.name, a.error_code, by_proxy;

-- Ended runs are deleted after a while, if nothing refers to them: that is looked for by run.
CREATE INDEX targets_held_by_run ON targets (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX details_held_by_run ON details (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX crawl_attempts_by_run ON crawl_attempts (run_id);
-- New listings and companies are counted once a page, by whoever adds them.
DROP TRIGGER listings_added;
DROP TRIGGER companies_added;

-- One table of all that became of listings; what was two tables are views of it.
CREATE TABLE listing_events (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('new', 'changed', 'completed', 'dropped', 'restored', 'rejected')),
    source_id  INTEGER NOT NULL REFERENCES sources (id),
    listing    INTEGER REFERENCES listings (id),     -- of several new ones the first
    listings   INTEGER NOT NULL DEFAULT 1 CHECK (listings >= 1), -- new ones, with row ids that follow each other
    listing_id TEXT,                                 -- of a rejected one, which has no row: the source's own
    company_id INTEGER,                              -- at that time; NULL = new (that of the listing), or rejected
    run_id     INTEGER REFERENCES runs (id),         -- NULL = rebuilt from logs
    -- new: {"2": key}, the keys by which some found their company, by their place from 0 on
    -- changed: {"changes": [{"field", "old", "new"}…], "completed": [field…]}; completed: the latter alone
    -- rejected: {"reasons": […]}
    what       TEXT CHECK (what IS NULL OR json_valid(what)),
    CHECK ((kind = 'rejected') = (listing IS NULL)),
    CHECK ((kind = 'rejected') = (listing_id IS NOT NULL)),
    CHECK ((kind IN ('new', 'rejected')) = (company_id IS NULL)),
    CHECK (kind = 'new' OR listings = 1)
) STRICT;
CREATE INDEX listing_events_by_time ON listing_events (at);
CREATE INDEX listing_events_by_listing ON listing_events (listing);
CREATE INDEX listing_events_by_run ON listing_events (run_id) WHERE run_id IS NOT NULL;
INSERT INTO listing_events (id, at, kind, source_id, listing, listing_id, company_id, run_id, what)
SELECT p.id, p.at, CASE WHEN p.action = 'promoted_create' THEN 'new' WHEN p.action <> 'promoted_update' THEN p.action
        WHEN p.what ->> 'fields' IS NULL THEN 'completed' ELSE 'changed' END,
    p.source_id, l.id, iif(l.id IS NULL, p.listing_id, NULL), iif(p.action = 'promoted_create', NULL, p.company_id), p.run_id,
    CASE WHEN p.action = 'promoted_create' THEN iif(p.what IS NULL, NULL, json_object('0', p.what ->> 'key'))
        WHEN p.action = 'promoted_update' AND p.what ->> 'fields' IS NOT NULL THEN json_patch(
            json_object('changes', json((SELECT json_group_array(json_object('field', x.field, 'old', x.old, 'new', x.new) ORDER BY x.id)
                FROM listing_changes x WHERE x.listing = l.id AND x.at = p.at AND x.field IN (SELECT value FROM json_each(p.what, '$.fields'))))),
            json_object('completed', p.what -> 'completed'))
        ELSE p.what END
FROM promotion_log p LEFT JOIN listings l ON p.action <> 'rejected' AND l.source_id = p.source_id AND l.listing_id = p.listing_id;
DROP TABLE promotion_log;
DROP TABLE listing_changes;
CREATE VIEW promotion_log AS
SELECT e.id << 12 | ifnull(l.id - e.listing, 0) AS id, e.at,
       CASE e.kind WHEN 'new' THEN 'promoted_create' WHEN 'changed' THEN 'promoted_update' WHEN 'completed' THEN 'promoted_update' ELSE e.kind END AS action,
       e.source_id, ifnull(e.listing_id, l.listing_id) AS listing_id, iif(e.kind = 'new', l.company_id, e.company_id) AS company_id, e.run_id,
       CASE e.kind WHEN 'new' THEN iif(e.what ->> ('$."' || (l.id - e.listing) || '"') IS NULL, NULL, json_object('key', e.what ->> ('$."' || (l.id - e.listing) || '"')))
           WHEN 'changed' THEN json_patch(json_object('fields', json((SELECT json_group_array(x.value ->> 'field') FROM json_each(e.what, '$.changes') x))),
               json_object('completed', e.what -> 'completed'))
           ELSE e.what END AS what
FROM listing_events e LEFT JOIN listings l ON l.id BETWEEN e.listing AND e.listing + e.listings - 1;
CREATE VIEW listing_changes AS
SELECT e.id << 12 | x.key AS id, e.listing, x.value ->> 'field' AS field, x.value ->> 'old' AS old, x.value ->> 'new' AS new, e.run_id, e.at
FROM listing_events e CROSS JOIN json_each(e.what, '$.changes') x WHERE e.kind = 'changed';

-- The program moves the keys from the old table to this one and drops it.
DROP INDEX company_keys_by_company;
ALTER TABLE company_keys RENAME TO old_company_keys;
CREATE TABLE company_keys (
    hash       INTEGER PRIMARY KEY,
    company_id INTEGER NOT NULL,                     -- of companies; a REFERENCES would read the whole table when a company goes
    key        TEXT                                  -- NULL = the one with this number that the company's own row gives
) STRICT;
CREATE INDEX company_keys_by_company ON company_keys (company_id) WHERE key IS NOT NULL;
