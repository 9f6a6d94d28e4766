-- ypcrawl: the whole database, version 1.
--
-- Read it top to bottom: where and what (sources, cities, categories), the unit of
-- work (targets), who works (runs), what was found (companies, listings,
-- company_keys, sightings), and the counters that keep `progress` instant.
--
-- Times are UTC text "2026-11-20T23:50:00.000Z": text order is time order.
-- Every table is STRICT; every enumeration and impossible combination has a CHECK.
-- A fresh file is made from this text; older files are upgraded by the numbered
-- steps in store/migrations, and a test holds both to the same result.

-- Small facts about the file itself: who made it and when.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A directory site. base_url is the one it was last crawled at.
CREATE TABLE sources (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    base_url   TEXT NOT NULL,
    enabled    INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- A place of the gazetteer. The slug ends in the state ("austin-tx"), so it is unique.
CREATE TABLE cities (
    id         INTEGER PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (length(state) = 2),
    population INTEGER NOT NULL CHECK (population >= 0),
    lat        REAL NOT NULL,
    lon        REAL NOT NULL,
    tier       INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3)
) STRICT;
CREATE INDEX cities_by_state ON cities (state, population);

-- What is searched for.
CREATE TABLE categories (
    id   INTEGER PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
) STRICT;

-- One invocation of `run`. A run is alive for as long as its process holds the lock
-- file "{database}.locks/{uuid}.lock", whatever this row says.
CREATE TABLE runs (
    id           INTEGER PRIMARY KEY,
    uuid         TEXT NOT NULL UNIQUE,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    source_id    INTEGER NOT NULL REFERENCES sources (id),
    command      TEXT NOT NULL,                      -- what was typed, without secrets
    started_at   TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    finished_at  TEXT,
    outcome      TEXT NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'interrupted', 'budget', 'error', 'dead')),
    requests     INTEGER NOT NULL DEFAULT 0,
    pages        INTEGER NOT NULL DEFAULT 0,
    targets      INTEGER NOT NULL DEFAULT 0,         -- brought to an outcome by this run
    listings_new INTEGER NOT NULL DEFAULT 0,
    CHECK ((outcome = 'running') = (finished_at IS NULL))
) STRICT;
CREATE INDEX runs_alive ON runs (started_at) WHERE outcome = 'running';

-- The unit a worker claims: source × city × category. state, population and priority are
-- copies, so that a claim reads one index and nothing else.
CREATE TABLE targets (
    id                   INTEGER PRIMARY KEY,
    source_id            INTEGER NOT NULL REFERENCES sources (id),
    city_id              INTEGER NOT NULL REFERENCES cities (id),
    category_id          INTEGER NOT NULL REFERENCES categories (id),
    state                TEXT NOT NULL,
    population           INTEGER NOT NULL,
    priority             INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 32767), -- smaller first
    max_pages            INTEGER NOT NULL CHECK (max_pages >= 0),               -- 0 = all

    status               TEXT NOT NULL DEFAULT 'PLANNED'
        CHECK (status IN ('PLANNED', 'IN_PROGRESS', 'DONE', 'FAILED', 'STUCK', 'PARKED')),

    -- The claim. claim_token grows by one with every claim and fences every write.
    claimed_by           TEXT,
    claimed_at           TEXT,
    heartbeat_at         TEXT,
    claim_token          INTEGER NOT NULL DEFAULT 0 CHECK (claim_token >= 0),
    run_id               INTEGER REFERENCES runs (id),
    recoveries           INTEGER NOT NULL DEFAULT 0 CHECK (recoveries >= 0),    -- in a row, without a new page

    -- Progress of the current crawl of the target. page_current is the last page committed.
    page_current         INTEGER NOT NULL DEFAULT 0 CHECK (page_current >= 0),
    next_page_url        TEXT,
    last_listing_id      TEXT,
    site_total           INTEGER,                                               -- "of 1,108", as the site says
    raw_count            INTEGER NOT NULL DEFAULT 0 CHECK (raw_count >= 0),
    accepted_count       INTEGER NOT NULL DEFAULT 0 CHECK (accepted_count >= 0),
    bad_count            INTEGER NOT NULL DEFAULT 0 CHECK (bad_count >= 0),
    crawl_started_at     TEXT,
    finished_at          TEXT,

    -- Outcomes so far.
    last_error_code      TEXT CHECK (last_error_code IN
        ('RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    last_error           TEXT,
    last_success_at      TEXT,
    next_crawl_at        TEXT,                                                  -- DONE: due again then
    backoff_until        TEXT,                                                  -- FAILED: claimable again then
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
    CHECK (status <> 'FAILED' OR (last_error_code IS NOT NULL AND backoff_until IS NOT NULL)),
    CHECK (status <> 'PARKED' OR last_error_code IS NOT NULL),
    CHECK (status <> 'DONE' OR finished_at IS NOT NULL)
) STRICT;
-- Serves the claim: the best target of a state in one seek, however many there are.
CREATE INDEX targets_ready ON targets (source_id, state, priority, id, population) WHERE status = 'PLANNED';
-- The same for a run that names its categories.
CREATE INDEX targets_ready_category ON targets (source_id, state, category_id, priority, id, population) WHERE status = 'PLANNED';
-- What is held now: a few rows at any time. Serves --max-per-state, heartbeats, recovery, workers.
CREATE INDEX targets_held ON targets (state, run_id) WHERE status = 'IN_PROGRESS';
-- What falls due by itself.
CREATE INDEX targets_backoff ON targets (backoff_until) WHERE status = 'FAILED';
CREATE INDEX targets_due ON targets (next_crawl_at) WHERE status = 'DONE';
-- What an operator asks about: errors by code.
CREATE INDEX targets_troubled ON targets (status, last_error_code, state) WHERE status IN ('FAILED', 'STUCK', 'PARKED');

-- The de-duplicated business. Its fields come from its lead listing (the one with the
-- smallest source and id), its website is the smallest of its listings': so they do not
-- depend on the order in which pages came. A number once given is never given
-- again, so what was exported yesterday is no other business today.
CREATE TABLE companies (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    website       TEXT,
    domain        TEXT,
    phone_e164    TEXT,
    street        TEXT,
    city          TEXT,
    state         TEXT,
    postal_code   TEXT,
    lead_source   INTEGER NOT NULL REFERENCES sources (id),
    lead_listing  TEXT NOT NULL,
    first_seen_at TEXT NOT NULL
) STRICT;

-- The strong keys by which listings find their company: "web:acme.com",
-- "tel:+13105550123|acme plumbing", "adr:acme plumbing|12 main st|90210".
CREATE TABLE company_keys (
    key        TEXT PRIMARY KEY,
    company_id INTEGER NOT NULL REFERENCES companies (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX company_keys_by_company ON company_keys (company_id);

-- What a source says of one business at one place. city and state are the listing's own
-- place; found_state is the state of the target that first met it.
CREATE TABLE listings (
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
    fingerprint       INTEGER NOT NULL,              -- hash of the last sighting's fields: an equal one changes nothing
    first_seen_at     TEXT NOT NULL,
    last_seen_at      TEXT NOT NULL,
    UNIQUE (source_id, listing_id)
) STRICT;
CREATE INDEX listings_by_company ON listings (company_id);

-- Which target met which listing, and where on its pages: the searched place beside the
-- listing's own, and the proof that a page brought something new.
CREATE TABLE sightings (
    target_id INTEGER NOT NULL REFERENCES targets (id),
    listing   INTEGER NOT NULL REFERENCES listings (id),
    page      INTEGER NOT NULL CHECK (page >= 1),
    rank      INTEGER NOT NULL CHECK (rank >= 0),
    seen_at   TEXT NOT NULL,
    PRIMARY KEY (target_id, listing)
) STRICT, WITHOUT ROWID;

-- Counters kept by the triggers below in the same transaction as what they count, so that
-- `progress` costs the same over a thousand targets and over a million.
CREATE TABLE target_totals (
    source_id INTEGER NOT NULL,
    state     TEXT NOT NULL,
    status    TEXT NOT NULL,
    targets   INTEGER NOT NULL DEFAULT 0,
    pages     INTEGER NOT NULL DEFAULT 0,
    raw       INTEGER NOT NULL DEFAULT 0,
    accepted  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, state, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE listing_totals (
    source_id INTEGER NOT NULL,
    state     TEXT NOT NULL,                         -- found_state
    listings  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE company_totals (
    state     TEXT PRIMARY KEY,                      -- '' when the lead listing has no state
    companies INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TRIGGER targets_added AFTER INSERT ON targets BEGIN
    INSERT INTO target_totals VALUES (new.source_id, new.state, new.status, 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_removed AFTER DELETE ON targets BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND state = old.state AND status = old.status;
END;
CREATE TRIGGER targets_moved AFTER UPDATE OF status ON targets WHEN old.status <> new.status BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND state = old.state AND status = old.status;
    INSERT INTO target_totals VALUES (new.source_id, new.state, new.status, 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_grew AFTER UPDATE OF page_current, raw_count, accepted_count ON targets WHEN old.status = new.status BEGIN
    UPDATE target_totals SET pages = pages + new.page_current - old.page_current,
        raw = raw + new.raw_count - old.raw_count, accepted = accepted + new.accepted_count - old.accepted_count
    WHERE source_id = new.source_id AND state = new.state AND status = new.status;
END;
CREATE TRIGGER listings_added AFTER INSERT ON listings BEGIN
    INSERT INTO listing_totals VALUES (new.source_id, new.found_state, 1)
    ON CONFLICT DO UPDATE SET listings = listings + 1;
END;
CREATE TRIGGER listings_removed AFTER DELETE ON listings BEGIN
    UPDATE listing_totals SET listings = listings - 1 WHERE source_id = old.source_id AND state = old.found_state;
END;
CREATE TRIGGER companies_added AFTER INSERT ON companies BEGIN
    INSERT INTO company_totals VALUES (ifnull(new.state, ''), 1)
    ON CONFLICT DO UPDATE SET companies = companies + 1;
END;
CREATE TRIGGER companies_removed AFTER DELETE ON companies BEGIN
    UPDATE company_totals SET companies = companies - 1 WHERE state = ifnull(old.state, '');
END;
CREATE TRIGGER companies_moved AFTER UPDATE OF state ON companies WHEN ifnull(old.state, '') <> ifnull(new.state, '') BEGIN
    UPDATE company_totals SET companies = companies - 1 WHERE state = ifnull(old.state, '');
    INSERT INTO company_totals VALUES (ifnull(new.state, ''), 1)
    ON CONFLICT DO UPDATE SET companies = companies + 1;
END;

-- For people with sqlite3 or Datasette.

-- Every listing with the name of its source.
CREATE VIEW v_listings AS
SELECT s.name AS source, l.listing_id, l.name, l.phone, l.phone_e164, l.street, l.city, l.state, l.postal_code,
       l.service_area, l.website, l.domain, l.categories, l.rating, l.review_count, l.years_in_business,
       l.price_range, l.snippet, l.hours, l.claimed, l.sponsored, l.profile_url, l.image_url, l.company_id,
       l.first_seen_at, l.last_seen_at
FROM listings l JOIN sources s ON s.id = l.source_id;

-- Every company with how many listings it has.
CREATE VIEW v_companies AS
SELECT c.id, c.name, c.website, c.domain, c.phone_e164, c.street, c.city, c.state, c.postal_code,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id) AS listings, c.first_seen_at
FROM companies c;

-- Every target in words.
CREATE VIEW v_targets AS
SELECT t.id, s.name AS source, c.name AS city, t.state, k.name AS category, t.status, t.page_current, t.max_pages,
       t.raw_count, t.accepted_count, t.claimed_by, t.heartbeat_at, t.last_error_code, t.last_error,
       t.backoff_until, t.next_crawl_at, t.total_attempts
FROM targets t JOIN sources s ON s.id = t.source_id JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id;

-- Progress of each state, by status.
CREATE VIEW v_state_progress AS
SELECT s.name AS source, t.state, sum(t.targets) AS targets,
       sum(iif(t.status = 'PLANNED', t.targets, 0)) AS planned, sum(iif(t.status = 'IN_PROGRESS', t.targets, 0)) AS in_progress,
       sum(iif(t.status = 'DONE', t.targets, 0)) AS done, sum(iif(t.status = 'FAILED', t.targets, 0)) AS failed,
       sum(iif(t.status = 'STUCK', t.targets, 0)) AS stuck, sum(iif(t.status = 'PARKED', t.targets, 0)) AS parked,
       sum(t.pages) AS pages, sum(t.accepted) AS accepted
FROM target_totals t JOIN sources s ON s.id = t.source_id GROUP BY s.name, t.state;
