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
CREATE INDEX promotion_log_by_run ON promotion_log (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX listing_changes_by_run ON listing_changes (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX details_held_by_run ON details (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX crawl_attempts_by_run ON crawl_attempts (run_id);
-- New listings and companies are counted once a page, by whoever adds them.
DROP TRIGGER listings_added;
DROP TRIGGER companies_added;
