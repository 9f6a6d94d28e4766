-- From version 2 to 3: what a source's index lists and the walks through it, staging,
-- promotion, changes of listings, merges of companies and their undoing, details, and
-- sources that prove themselves. Foreign keys are off while this runs; tables that
-- change are made anew, so that the file is the same as a fresh one.

DROP VIEW v_listings;
DROP VIEW v_companies;
DROP VIEW v_targets;
DROP VIEW v_state_progress;
DROP VIEW targets_available;
DROP VIEW v_source_gates;
DROP VIEW v_crawler_status;
DROP VIEW v_crawl_error_summary;
DROP VIEW v_crawl_health;
DROP VIEW v_workers;
DROP VIEW v_dead_letters;

DROP TRIGGER IF EXISTS targets_added;
DROP TRIGGER IF EXISTS targets_removed;
DROP TRIGGER IF EXISTS targets_moved;
DROP TRIGGER IF EXISTS targets_grew;

CREATE TABLE sources_new (
    id                   INTEGER PRIMARY KEY,
    name                 TEXT NOT NULL UNIQUE,
    base_url             TEXT NOT NULL,
    enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    auto_disabled        INTEGER NOT NULL DEFAULT 0 CHECK (auto_disabled IN (0, 1)),
    paused_until         TEXT,
    paused_code          TEXT CHECK (paused_code IN ('AUTH_FAILED', 'HTML_CHANGED')),
    paused_reason        TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    layout_strikes       INTEGER NOT NULL DEFAULT 0 CHECK (layout_strikes >= 0),


    stage                TEXT NOT NULL DEFAULT 'active' CHECK (stage IN ('review', 'sandbox', 'active')),
    definition           TEXT,
    score                INTEGER CHECK (score BETWEEN 0 AND 100),
    notes                TEXT CHECK (notes IS NULL OR json_valid(notes)),
    created_at           TEXT NOT NULL,
    updated_at           TEXT NOT NULL,
    CHECK ((auto_disabled = 1 OR paused_until IS NOT NULL) = (paused_code IS NOT NULL))
) STRICT;
INSERT INTO sources_new (id, name, base_url, enabled, auto_disabled, paused_until, paused_code, paused_reason, consecutive_failures, layout_strikes, created_at, updated_at)
SELECT id, name, base_url, enabled, auto_disabled, paused_until, paused_code, paused_reason, consecutive_failures, layout_strikes, created_at, updated_at FROM sources;
DROP TABLE sources;
ALTER TABLE sources_new RENAME TO sources;

CREATE TABLE cities_new (
    id         INTEGER PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (length(state) = 2),
    population INTEGER NOT NULL CHECK (population >= 0),
    lat        REAL,
    lon        REAL,
    tier       INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),
    CHECK ((lat IS NULL) = (lon IS NULL))
) STRICT;
INSERT INTO cities_new (id, slug, name, state, population, lat, lon, tier)
SELECT id, slug, name, state, population, lat, lon, tier FROM cities;
DROP TABLE cities;
ALTER TABLE cities_new RENAME TO cities;
CREATE INDEX cities_by_state ON cities (state, population);

CREATE TABLE runs_new (
    id           INTEGER PRIMARY KEY,
    uuid         TEXT NOT NULL UNIQUE,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    source_id    INTEGER REFERENCES sources (id),
    command      TEXT NOT NULL,
    started_at   TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    finished_at  TEXT,
    outcome      TEXT NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'interrupted', 'budget', 'error', 'dead', 'blocked', 'no_proxies', 'layout')),
    requests     INTEGER NOT NULL DEFAULT 0,
    pages        INTEGER NOT NULL DEFAULT 0,
    targets      INTEGER NOT NULL DEFAULT 0,
    listings_new INTEGER NOT NULL DEFAULT 0,
    CHECK ((outcome = 'running') = (finished_at IS NULL))
) STRICT;
INSERT INTO runs_new (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome, requests, pages, targets, listings_new)
SELECT id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome, requests, pages, targets, listings_new FROM runs;
DROP TABLE runs;
ALTER TABLE runs_new RENAME TO runs;
CREATE INDEX runs_alive ON runs (started_at) WHERE outcome = 'running';

CREATE TABLE targets_new (
    id                   INTEGER PRIMARY KEY,
    source_id            INTEGER NOT NULL REFERENCES sources (id),
    city_id              INTEGER NOT NULL REFERENCES cities (id),
    category_id          INTEGER NOT NULL REFERENCES categories (id),
    state                TEXT NOT NULL,
    population           INTEGER NOT NULL,
    priority             INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 32767),
    max_pages            INTEGER NOT NULL CHECK (max_pages >= 0),

    status               TEXT NOT NULL DEFAULT 'PLANNED'
        CHECK (status IN ('PLANNED', 'IN_PROGRESS', 'DONE', 'FAILED', 'STUCK', 'PARKED')),


    claimed_by           TEXT,
    claimed_at           TEXT,
    heartbeat_at         TEXT,
    claim_token          INTEGER NOT NULL DEFAULT 0 CHECK (claim_token >= 0),
    run_id               INTEGER REFERENCES runs (id),
    recoveries           INTEGER NOT NULL DEFAULT 0 CHECK (recoveries >= 0),


    page_current         INTEGER NOT NULL DEFAULT 0 CHECK (page_current >= 0),
    next_page_url        TEXT,
    last_listing_id      TEXT,
    site_total           INTEGER,
    raw_count            INTEGER NOT NULL DEFAULT 0 CHECK (raw_count >= 0),
    accepted_count       INTEGER NOT NULL DEFAULT 0 CHECK (accepted_count >= 0),
    bad_count            INTEGER NOT NULL DEFAULT 0 CHECK (bad_count >= 0),
    crawl_started_at     TEXT,
    finished_at          TEXT,
    crawls               INTEGER NOT NULL DEFAULT 0 CHECK (crawls >= 0),
    complete_at          TEXT,


    retired_at              TEXT,
    enabled                 INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    auto_disabled           INTEGER NOT NULL DEFAULT 0 CHECK (auto_disabled IN (0, 1)),
    crawl_status            TEXT NOT NULL DEFAULT 'active'
        CHECK (crawl_status IN ('active', 'degraded', 'paused', 'failed')),
    crawl_frequency_minutes INTEGER NOT NULL DEFAULT 10080 CHECK (crawl_frequency_minutes >= 0),
    max_retries             INTEGER NOT NULL DEFAULT 3 CHECK (max_retries >= 0),
    backoff_level           INTEGER NOT NULL DEFAULT 0 CHECK (backoff_level BETWEEN 0 AND 5),
    gap_until               TEXT,


    last_error_code      TEXT CHECK (last_error_code IN
        ('RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    last_error           TEXT,
    last_success_at      TEXT,
    next_crawl_at        TEXT,
    backoff_until        TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    total_attempts       INTEGER NOT NULL DEFAULT 0 CHECK (total_attempts >= 0),
    total_successes      INTEGER NOT NULL DEFAULT 0 CHECK (total_successes >= 0),
    created_at           TEXT NOT NULL,

    UNIQUE (source_id, city_id, category_id),
    CHECK ((status = 'IN_PROGRESS') = (claimed_by IS NOT NULL)),
    CHECK ((claimed_by IS NULL) = (claimed_at IS NULL)),
    CHECK ((claimed_by IS NULL) = (run_id IS NULL)),
    CHECK (status = 'IN_PROGRESS' OR heartbeat_at IS NULL),
    CHECK (accepted_count <= raw_count),
    CHECK (status <> 'FAILED' OR (last_error_code IS NOT NULL AND backoff_until IS NOT NULL AND backoff_level > 0)),
    CHECK (backoff_until IS NULL OR status IN ('FAILED', 'PLANNED')),
    CHECK (status <> 'PARKED' OR last_error_code IS NOT NULL),
    CHECK (auto_disabled = 0 OR status = 'PARKED'),
    CHECK (crawl_status <> 'failed' OR status = 'PARKED'),
    CHECK (status <> 'DONE' OR finished_at IS NOT NULL)
) STRICT;
INSERT INTO targets_new (id, source_id, city_id, category_id, state, population, priority, max_pages, status, claimed_by, claimed_at, heartbeat_at, claim_token, run_id, recoveries, page_current, next_page_url, last_listing_id, site_total, raw_count, accepted_count, bad_count, crawl_started_at, finished_at, enabled, auto_disabled, crawl_status, crawl_frequency_minutes, max_retries, backoff_level, gap_until, last_error_code, last_error, last_success_at, next_crawl_at, backoff_until, consecutive_failures, total_attempts, total_successes, created_at)
SELECT id, source_id, city_id, category_id, state, population, priority, max_pages, status, claimed_by, claimed_at, heartbeat_at, claim_token, run_id, recoveries, page_current, next_page_url, last_listing_id, site_total, raw_count, accepted_count, bad_count, crawl_started_at, finished_at, enabled, auto_disabled, crawl_status, crawl_frequency_minutes, max_retries, backoff_level, gap_until, last_error_code, last_error, last_success_at, next_crawl_at, backoff_until, consecutive_failures, total_attempts, total_successes, created_at FROM targets;
DROP TABLE targets;
ALTER TABLE targets_new RENAME TO targets;
CREATE INDEX targets_ready ON targets (source_id, state, priority, id, population, gap_until)
    WHERE status = 'PLANNED' AND enabled = 1 AND crawl_status <> 'paused' AND backoff_until IS NULL AND retired_at IS NULL;
CREATE INDEX targets_ready_category ON targets (source_id, state, category_id, priority, id, population, gap_until)
    WHERE status = 'PLANNED' AND enabled = 1 AND crawl_status <> 'paused' AND backoff_until IS NULL AND retired_at IS NULL;
CREATE INDEX targets_held ON targets (source_id, state, run_id) WHERE status = 'IN_PROGRESS';
CREATE INDEX targets_backoff ON targets (backoff_until) WHERE backoff_until IS NOT NULL;
CREATE INDEX targets_due ON targets (next_crawl_at) WHERE status = 'DONE';
CREATE INDEX targets_troubled ON targets (status, last_error_code, state) WHERE status IN ('FAILED', 'STUCK', 'PARKED');

CREATE TABLE listings_new (
    id                INTEGER PRIMARY KEY,
    source_id         INTEGER NOT NULL REFERENCES sources (id),
    listing_id        TEXT NOT NULL CHECK (listing_id <> ''),
    company_id        INTEGER NOT NULL REFERENCES companies (id),
    name              TEXT NOT NULL CHECK (name <> ''),
    profile_url       TEXT,
    phone             TEXT,
    phone_e164        TEXT,
    street            TEXT,
    city              TEXT,
    state             TEXT,
    postal_code       TEXT,
    service_area      TEXT,
    website_url       TEXT,
    website           TEXT,
    domain            TEXT,
    categories        TEXT CHECK (categories IS NULL OR json_valid(categories)),
    rating            REAL CHECK (rating BETWEEN 0.5 AND 5),
    review_count      INTEGER CHECK (review_count >= 0),
    years_in_business INTEGER CHECK (years_in_business >= 0),
    price_range       TEXT,
    snippet           TEXT,
    image_url         TEXT,
    hours             TEXT CHECK (hours IS NULL OR json_valid(hours)),
    claimed           INTEGER CHECK (claimed IN (0, 1)),
    sponsored         INTEGER NOT NULL DEFAULT 0 CHECK (sponsored IN (0, 1)),
    found_state       TEXT NOT NULL,
    fingerprint       INTEGER NOT NULL,
    first_seen_at     TEXT NOT NULL,
    last_seen_at      TEXT NOT NULL,
    gone_at           TEXT,


    filled            TEXT CHECK (filled IS NULL OR json_valid(filled)),
    UNIQUE (source_id, listing_id)
) STRICT;
-- No fingerprint: the next sighting registers the keys by the rules of today.
INSERT INTO listings_new (id, source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code, service_area, website_url, website, domain, categories, rating, review_count, years_in_business, price_range, snippet, image_url, hours, claimed, sponsored, found_state, fingerprint, first_seen_at, last_seen_at)
SELECT id, source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code, service_area, website_url, website, domain, categories, rating, review_count, years_in_business, price_range, snippet, image_url, hours, claimed, sponsored, found_state, 0, first_seen_at, last_seen_at FROM listings;
DROP TABLE listings;
ALTER TABLE listings_new RENAME TO listings;
CREATE INDEX listings_by_company ON listings (company_id);

CREATE TABLE sightings_new (
    target_id INTEGER NOT NULL REFERENCES targets (id),
    listing   INTEGER NOT NULL REFERENCES listings (id),
    page      INTEGER NOT NULL CHECK (page >= 1),
    rank      INTEGER NOT NULL CHECK (rank >= 0),
    seen_at   TEXT NOT NULL,
    since     INTEGER NOT NULL DEFAULT 0 CHECK (since >= 0),
    crawl     INTEGER NOT NULL DEFAULT 0 CHECK (crawl >= 0),
    missed    INTEGER NOT NULL DEFAULT 0 CHECK (missed >= 0),
    PRIMARY KEY (target_id, listing)
) STRICT, WITHOUT ROWID;
INSERT INTO sightings_new (target_id, listing, page, rank, seen_at)
SELECT target_id, listing, page, rank, seen_at FROM sightings;
DROP TABLE sightings;
ALTER TABLE sightings_new RENAME TO sightings;
CREATE INDEX sightings_by_listing ON sightings (listing);

CREATE TABLE source_cities (
    source_id     INTEGER NOT NULL REFERENCES sources (id),
    city_id       INTEGER NOT NULL REFERENCES cities (id),
    slug          TEXT NOT NULL CHECK (slug <> ''),
    name          TEXT NOT NULL,
    found_on      TEXT NOT NULL,
    matched       TEXT NOT NULL CHECK (matched IN ('slug', 'name', 'none')),
    first_seen_at TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    gone_at       TEXT,
    PRIMARY KEY (source_id, city_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE discoveries (
    id              INTEGER PRIMARY KEY,
    source_id       INTEGER NOT NULL REFERENCES sources (id),
    state           TEXT NOT NULL CHECK (length(state) = 2),
    status          TEXT NOT NULL CHECK (status IN ('PLANNED', 'IN_PROGRESS', 'DONE', 'FAILED')),
    run_id          INTEGER REFERENCES runs (id),
    claim_token     INTEGER NOT NULL DEFAULT 0 CHECK (claim_token >= 0),
    pages           INTEGER NOT NULL CHECK (pages >= 1),
    pages_done      INTEGER NOT NULL DEFAULT 0 CHECK (pages_done BETWEEN 0 AND pages),
    cities          INTEGER NOT NULL DEFAULT 0,
    added           INTEGER NOT NULL DEFAULT 0,
    gone            INTEGER NOT NULL DEFAULT 0,
    started_at      TEXT,
    finished_at     TEXT,
    last_done_at    TEXT,
    last_error_code TEXT CHECK (last_error_code IN
        ('RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    last_error      TEXT,
    UNIQUE (source_id, state),
    CHECK ((status = 'IN_PROGRESS') = (run_id IS NOT NULL)),
    CHECK (status <> 'DONE' OR pages_done = pages)
) STRICT;
CREATE TABLE staged_listings (
    source_id     INTEGER NOT NULL REFERENCES sources (id),
    listing_id    TEXT NOT NULL CHECK (listing_id <> ''),
    target_id     INTEGER NOT NULL REFERENCES targets (id),
    page          INTEGER NOT NULL CHECK (page >= 1),
    reasons       TEXT NOT NULL CHECK (json_valid(reasons)),
    listing       TEXT NOT NULL CHECK (json_valid(listing)),
    first_seen_at TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    PRIMARY KEY (source_id, listing_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE promotion_log (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    action     TEXT NOT NULL CHECK (action IN ('promoted_create', 'promoted_update', 'rejected', 'dropped', 'restored')),
    source_id  INTEGER NOT NULL REFERENCES sources (id),
    listing_id TEXT NOT NULL,
    company_id INTEGER,
    run_id     INTEGER REFERENCES runs (id),
    what       TEXT CHECK (what IS NULL OR json_valid(what)),
    CHECK ((action = 'rejected') = (company_id IS NULL))
) STRICT;
CREATE INDEX promotion_log_by_time ON promotion_log (at);
CREATE TABLE listing_changes (
    id      INTEGER PRIMARY KEY,
    listing INTEGER NOT NULL REFERENCES listings (id),
    field   TEXT NOT NULL,
    old     TEXT,
    new     TEXT,
    run_id  INTEGER REFERENCES runs (id),
    at      TEXT NOT NULL
) STRICT;
CREATE INDEX listing_changes_by_time ON listing_changes (at);
CREATE INDEX listing_changes_by_listing ON listing_changes (listing);
CREATE TABLE company_merges (
    id        INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    kept      INTEGER NOT NULL,
    gone      INTEGER NOT NULL,
    by        TEXT NOT NULL CHECK (by IN ('web', 'tel', 'adr', 'hand')),
    key       TEXT,
    company   TEXT NOT NULL CHECK (json_valid(company)),
    listings  TEXT NOT NULL CHECK (json_valid(listings)),
    keys      TEXT NOT NULL CHECK (json_valid(keys)),
    undone_at TEXT,
    CHECK ((by = 'hand') = (key IS NULL))
) STRICT;
CREATE INDEX company_merges_by_kept ON company_merges (kept);
CREATE TABLE company_apart (
    a  INTEGER NOT NULL REFERENCES companies (id),
    b  INTEGER NOT NULL REFERENCES companies (id),
    at TEXT NOT NULL,
    PRIMARY KEY (a, b),
    CHECK (a < b)
) STRICT, WITHOUT ROWID;
CREATE INDEX company_apart_by_b ON company_apart (b);
CREATE TABLE details (
    listing              INTEGER PRIMARY KEY REFERENCES listings (id),
    source_id            INTEGER NOT NULL REFERENCES sources (id),
    status               TEXT NOT NULL DEFAULT 'PLANNED'
        CHECK (status IN ('PLANNED', 'IN_PROGRESS', 'DONE', 'FAILED', 'STUCK', 'PARKED')),
    claimed_by           TEXT,
    claim_token          INTEGER NOT NULL DEFAULT 0 CHECK (claim_token >= 0),
    run_id               INTEGER REFERENCES runs (id),
    heartbeat_at         TEXT,
    recoveries           INTEGER NOT NULL DEFAULT 0 CHECK (recoveries >= 0),
    due_at               TEXT,
    total_attempts       INTEGER NOT NULL DEFAULT 0 CHECK (total_attempts >= 0),
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    backoff_level        INTEGER NOT NULL DEFAULT 0 CHECK (backoff_level BETWEEN 0 AND 5),
    last_error_code      TEXT CHECK (last_error_code IN
        ('RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    last_error           TEXT,
    fetched_at           TEXT,
    email                TEXT,
    phone                TEXT,
    phone_e164           TEXT,
    website_url          TEXT,
    website              TEXT,
    domain               TEXT,
    hours                TEXT CHECK (hours IS NULL OR json_valid(hours)),
    lat                  REAL CHECK (lat BETWEEN -90 AND 90),
    lon                  REAL CHECK (lon BETWEEN -180 AND 180),
    payment              TEXT CHECK (payment IS NULL OR json_valid(payment)),
    social               TEXT CHECK (social IS NULL OR json_valid(social)),
    services             TEXT CHECK (services IS NULL OR json_valid(services)),
    languages            TEXT CHECK (languages IS NULL OR json_valid(languages)),
    neighborhoods        TEXT CHECK (neighborhoods IS NULL OR json_valid(neighborhoods)),
    aka                  TEXT CHECK (aka IS NULL OR json_valid(aka)),
    founded              INTEGER,
    years_in_business    INTEGER CHECK (years_in_business >= 0),
    about                TEXT,
    CHECK ((status = 'IN_PROGRESS') = (claimed_by IS NOT NULL)),
    CHECK ((claimed_by IS NULL) = (run_id IS NULL)),
    CHECK (status = 'IN_PROGRESS' OR heartbeat_at IS NULL),
    CHECK (status NOT IN ('FAILED', 'PARKED') OR last_error_code IS NOT NULL),
    CHECK (status <> 'DONE' OR fetched_at IS NOT NULL),
    CHECK ((lat IS NULL) = (lon IS NULL))
) STRICT;
CREATE INDEX details_ready ON details (source_id, due_at, listing) WHERE status IN ('PLANNED', 'FAILED', 'DONE');
CREATE INDEX details_held ON details (run_id) WHERE status = 'IN_PROGRESS';

CREATE TRIGGER targets_added AFTER INSERT ON targets BEGIN
    INSERT INTO target_totals VALUES (new.source_id, new.state, iif(new.retired_at IS NULL, new.status, 'RETIRED'), 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_removed AFTER DELETE ON targets BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND state = old.state AND status = iif(old.retired_at IS NULL, old.status, 'RETIRED');
END;
CREATE TRIGGER targets_moved AFTER UPDATE OF status, retired_at ON targets
WHEN old.status <> new.status OR (old.retired_at IS NULL) <> (new.retired_at IS NULL) BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND state = old.state AND status = iif(old.retired_at IS NULL, old.status, 'RETIRED');
    INSERT INTO target_totals VALUES (new.source_id, new.state, iif(new.retired_at IS NULL, new.status, 'RETIRED'), 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_grew AFTER UPDATE OF page_current, raw_count, accepted_count ON targets
WHEN old.status = new.status AND (old.retired_at IS NULL) = (new.retired_at IS NULL) BEGIN
    UPDATE target_totals SET pages = pages + new.page_current - old.page_current,
        raw = raw + new.raw_count - old.raw_count, accepted = accepted + new.accepted_count - old.accepted_count
    WHERE source_id = new.source_id AND state = new.state AND status = iif(new.retired_at IS NULL, new.status, 'RETIRED');
END;
CREATE TRIGGER listings_added AFTER INSERT ON listings BEGIN
    INSERT INTO listing_totals VALUES (new.source_id, new.found_state, 1)
    ON CONFLICT DO UPDATE SET listings = listings + 1;
END;
CREATE TRIGGER listings_removed AFTER DELETE ON listings BEGIN
    UPDATE listing_totals SET listings = listings - 1 WHERE source_id = old.source_id AND state = old.found_state;
END;
CREATE TRIGGER targets_gap BEFORE UPDATE OF status ON targets
WHEN new.status = 'IN_PROGRESS' AND old.status <> 'IN_PROGRESS' AND old.gap_until > new.claimed_at
    AND round((julianday(old.gap_until) - julianday(new.claimed_at)) * 86400000) <= 120000
BEGIN
    SELECT raise(ABORT, 'two crawls of a target start at least 2 minutes apart');
END;
CREATE TRIGGER targets_enabled AFTER UPDATE OF enabled ON targets
WHEN new.enabled = 1
BEGIN
    UPDATE targets SET auto_disabled = 0, consecutive_failures = 0, backoff_level = 0, backoff_until = NULL,
        crawl_status = iif(crawl_status IN ('degraded', 'failed') AND (status <> 'PARKED' OR auto_disabled = 1), 'active', crawl_status),
        finished_at = iif(status = 'FAILED' OR auto_disabled = 1, NULL, finished_at),
        status = iif(status = 'FAILED' OR auto_disabled = 1, 'PLANNED', status)
    WHERE id = new.id;
END;
CREATE TRIGGER sources_enabled AFTER UPDATE OF enabled ON sources
WHEN new.enabled = 1
BEGIN
    UPDATE sources SET auto_disabled = 0, paused_until = NULL, paused_code = NULL, paused_reason = NULL,
        consecutive_failures = 0, layout_strikes = 0 WHERE id = new.id;
    UPDATE connectivity_profiles SET status = 'degraded', failing_since = NULL, quarantine_until = NULL, probe_until = NULL,
        cooldown_minutes = 30 WHERE source_id = new.id AND status IN ('failing', 'quarantined');

    UPDATE hosts SET blocks = 0, held_until = iif(held_for = 'penalty', NULL, held_until), held_for = iif(held_for = 'penalty', NULL, held_for)
    WHERE source_id = new.id;
END;

CREATE VIEW v_listings AS
SELECT s.name AS source, l.listing_id, l.name, l.phone, l.phone_e164, l.street, l.city, l.state, l.postal_code,
       l.service_area, l.website, l.domain, l.categories, l.rating, l.review_count, l.years_in_business,
       l.price_range, l.snippet, l.hours, l.claimed, l.sponsored, l.profile_url, l.image_url, l.company_id,
       l.first_seen_at, l.last_seen_at, l.gone_at
FROM listings l JOIN sources s ON s.id = l.source_id;
CREATE VIEW v_companies AS
SELECT c.id, c.name, c.website, c.domain, c.phone_e164, c.street, c.city, c.state, c.postal_code,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id) AS listings,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id AND l.gone_at IS NULL) AS alive, c.first_seen_at
FROM companies c;
CREATE VIEW v_details AS
SELECT s.name AS source, l.listing_id, l.name, d.status, d.fetched_at, d.email, ifnull(l.phone, d.phone) AS phone,
       ifnull(l.website, d.website) AS website, ifnull(d.hours, l.hours) AS hours, d.lat, d.lon, d.payment, d.social, d.services, d.languages,
       d.neighborhoods, d.aka, d.founded, ifnull(l.years_in_business, d.years_in_business) AS years_in_business, d.about,
       d.due_at, d.last_error_code, d.last_error, l.company_id
FROM details d JOIN listings l ON l.id = d.listing JOIN sources s ON s.id = d.source_id;
CREATE VIEW v_changes AS
SELECT x.at, r.uuid AS run, s.name AS source, l.listing_id, l.name, l.city, l.state, x.field, x.old, x.new, l.company_id
FROM listing_changes x JOIN listings l ON l.id = x.listing JOIN sources s ON s.id = l.source_id LEFT JOIN runs r ON r.id = x.run_id;
CREATE VIEW v_coverage AS
SELECT t.id, s.name AS source, c.name AS city, t.state, k.name AS category, t.status, t.site_total, t.raw_count + t.bad_count AS seen,
       t.page_current AS pages, t.max_pages,
       CASE WHEN t.next_page_url IS NULL OR t.page_current = 0 THEN 0 WHEN t.site_total IS NULL THEN 1
            ELSE max(1, cast(ceil((t.site_total - t.raw_count - t.bad_count) * 1.0 * t.page_current / max(1, t.raw_count + t.bad_count)) AS INTEGER)) END AS pages_left,
       round(100.0 * min(t.raw_count + t.bad_count, t.site_total) / nullif(t.site_total, 0), 1) AS percent,
       t.complete_at, t.finished_at
FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
WHERE t.retired_at IS NULL AND (t.page_current > 0 OR t.finished_at IS NOT NULL);
CREATE VIEW v_targets AS
SELECT t.id, s.name AS source, c.name AS city, t.state, k.name AS category, t.status, t.page_current, t.max_pages,
       t.raw_count, t.accepted_count, t.claimed_by, t.heartbeat_at, t.last_error_code, t.last_error,
       t.backoff_until, t.next_crawl_at, t.total_attempts, t.retired_at
FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id;
CREATE VIEW v_state_progress AS
SELECT s.name AS source, t.state, sum(iif(t.status = 'RETIRED', 0, t.targets)) AS targets,
       sum(iif(t.status = 'PLANNED', t.targets, 0)) AS planned, sum(iif(t.status = 'IN_PROGRESS', t.targets, 0)) AS in_progress,
       sum(iif(t.status = 'DONE', t.targets, 0)) AS done, sum(iif(t.status = 'FAILED', t.targets, 0)) AS failed,
       sum(iif(t.status = 'STUCK', t.targets, 0)) AS stuck, sum(iif(t.status = 'PARKED', t.targets, 0)) AS parked,
       sum(iif(t.status = 'RETIRED', t.targets, 0)) AS retired, sum(t.pages) AS pages, sum(t.accepted) AS accepted
FROM target_totals t JOIN sources s ON s.id = t.source_id GROUP BY s.name, t.state;
CREATE VIEW targets_available AS
SELECT t.* FROM targets t JOIN v_source_gates g ON g.source_id = t.source_id
WHERE g.open = 1 AND t.enabled = 1 AND t.crawl_status <> 'paused' AND t.retired_at IS NULL
    AND (t.status = 'PLANNED' AND (t.backoff_until IS NULL OR t.backoff_until <= g.now OR t.backoff_until > g.far)
        OR t.status = 'FAILED' AND (t.backoff_until <= g.now OR t.backoff_until > g.far)
        OR t.status = 'DONE' AND (t.next_crawl_at <= g.now OR t.next_crawl_at > g.week
            AND t.next_crawl_at > strftime('%Y-%m-%dT%H:%M:%fZ', g.now, '+' || (t.crawl_frequency_minutes + 1440) || ' minutes')))
    AND (t.gap_until IS NULL OR t.gap_until <= g.now OR t.gap_until > g.gap);
CREATE VIEW v_source_gates AS
SELECT s.id AS source_id, s.name AS source, n.now, n.gap, n.far, n.week,
       CASE WHEN s.enabled = 0 THEN 'disabled' WHEN s.auto_disabled = 1 OR s.paused_until > n.now THEN 'paused'
            WHEN p.status = 'quarantined' THEN 'quarantined' WHEN h.held_until > n.now THEN 'held' ELSE 'open' END AS gate,
       s.enabled = 1 AND s.auto_disabled = 0 AND ifnull(s.paused_until, '') <= n.now
           AND ifnull(p.status, '') <> 'quarantined' AND ifnull(h.held_until, '') <= n.now AS open,
       CASE WHEN s.enabled = 0 OR s.auto_disabled = 1 THEN '' WHEN s.paused_until > n.now THEN s.paused_until
            WHEN p.status = 'quarantined' THEN p.quarantine_until ELSE ifnull(h.held_until, '') END AS until,
       CASE WHEN s.enabled = 0 THEN 'disabled by an operator' WHEN s.auto_disabled = 1 OR s.paused_until > n.now THEN s.paused_reason
            WHEN p.status = 'quarantined' THEN p.error_class ELSE ifnull(h.held_for, '') END AS reason
FROM sources s CROSS JOIN (
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+2 minutes') AS gap,
           strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+33 hours') AS far, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+192 hours') AS week) n
LEFT JOIN connectivity_profiles p ON p.source_id = s.id
LEFT JOIN hosts h ON h.source_id = s.id AND h.host =
    (SELECT x.host FROM hosts x WHERE x.source_id = s.id AND x.held_until > n.now ORDER BY x.held_until DESC LIMIT 1);
CREATE VIEW v_crawler_status AS
SELECT t.id, g.source, c.name AS city, t.state, k.name AS category, t.status, t.crawl_status, t.enabled, t.auto_disabled,
       CASE WHEN t.retired_at IS NOT NULL THEN 'NOT_SCHEDULED' WHEN t.status = 'PARKED' THEN 'FAILED'
            WHEN t.enabled = 0 OR t.crawl_status = 'paused' OR g.gate IN ('disabled', 'paused', 'quarantined') THEN 'PAUSED'
            WHEN t.status = 'STUCK' THEN 'NEEDS_PLAN'
            WHEN t.status = 'FAILED' AND t.backoff_until > g.now AND t.backoff_until <= g.far THEN 'DEGRADED'
            WHEN t.status = 'DONE' AND t.next_crawl_at IS NULL THEN 'NOT_SCHEDULED'
            WHEN t.status = 'DONE' AND t.next_crawl_at > g.now AND (t.next_crawl_at <= g.week
                    OR t.next_crawl_at <= strftime('%Y-%m-%dT%H:%M:%fZ', g.now, '+' || (t.crawl_frequency_minutes + 1440) || ' minutes'))
                OR t.backoff_until > g.now AND t.backoff_until <= g.far
                OR t.status <> 'IN_PROGRESS' AND (g.gate = 'held' OR t.gap_until > g.now AND t.gap_until <= g.gap) THEN 'SCHEDULED'
            ELSE 'DUE' END AS schedule_status,
       t.backoff_level, t.backoff_until, t.consecutive_failures, t.crawl_frequency_minutes, t.next_crawl_at, t.last_success_at,
       t.total_attempts, t.total_successes, round(100.0 * t.total_successes / nullif(t.total_attempts, 0), 1) AS success_rate,
       t.page_current, t.last_error_code, t.last_error, t.claimed_by, t.heartbeat_at, t.crawl_started_at, t.finished_at, t.retired_at
FROM targets t JOIN v_source_gates g ON g.source_id = t.source_id
JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id;
CREATE VIEW v_crawl_error_summary AS
SELECT s.name AS source, a.error_code, count(*) AS occurrences, count(DISTINCT a.target_id) AS targets, max(a.finished_at) AS last_seen,
       cast(avg(a.duration_ms) AS INTEGER) AS mean_duration_ms
FROM crawl_attempts a JOIN targets t ON t.id = a.target_id JOIN sources s ON s.id = t.source_id
WHERE a.finished_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days') AND a.error_code <> 'SUCCESS'
GROUP BY s.name, a.error_code;
CREATE VIEW v_crawl_health AS
SELECT s.name AS source, count(t.id) AS targets,
       sum(t.crawl_status = 'active') AS active, sum(t.crawl_status = 'degraded') AS degraded,
       sum(t.crawl_status = 'paused') AS paused, sum(t.crawl_status = 'failed') AS failed,
       (SELECT count(*) FROM targets_available a WHERE a.source_id = s.id) AS due_now,
       sum(t.consecutive_failures > 0) AS with_failures, round(avg(t.consecutive_failures), 2) AS mean_consecutive_failures,
       sum(t.last_success_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')) AS successful_24h
FROM sources s JOIN targets t ON t.source_id = s.id GROUP BY s.id;
CREATE VIEW v_workers AS
SELECT w.worker_id, w.name, w.host, w.pid, r.uuid AS run, s.name AS source, w.started_at, w.heartbeat_at,
       t.id AS target_id, c.name AS city, t.state, k.name AS category, t.page_current + 1 AS page,
       w.pages, w.listings, w.claims, w.claim_retries, w.rss_bytes
FROM workers w JOIN runs r ON r.id = w.run_id
LEFT JOIN targets t INDEXED BY targets_held ON t.status = 'IN_PROGRESS' AND t.run_id = w.run_id AND t.claimed_by = w.worker_id
LEFT JOIN sources s ON s.id = ifnull(t.source_id, r.source_id)
LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id
WHERE w.stopped_at IS NULL AND r.outcome = 'running';
CREATE VIEW v_dead_letters AS
SELECT t.id, s.name AS source, c.name AS city, t.state, k.name AS category, t.last_error_code, t.last_error,
       t.finished_at AS parked_at, t.consecutive_failures, t.total_attempts, t.page_current, t.auto_disabled
FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
WHERE t.status = 'PARKED' AND t.retired_at IS NULL AND t.status IN ('FAILED', 'STUCK', 'PARKED');
