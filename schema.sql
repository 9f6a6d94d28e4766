-- ypcrawl: the whole database, version 1.
--
-- Read it top to bottom: where and what (sources, cities, source_cities,
-- categories), the unit of work (targets), who works (runs, workers), what was found
-- (companies, listings, listing_texts, company_keys, sightings), how it came to be so
-- (staged_listings, listing_events),
-- what was tried (crawl_attempts, requests), how the sources fare (connectivity_profiles, hosts, field_shares, proxies),
-- the counters that keep `progress` instant, and the rules as views.
--
-- Times are UTC text "2026-11-20T23:50:00.000Z": text order is time order.
-- Every table is STRICT; every enumeration and impossible combination has a CHECK.
-- A fresh file is made from this text; older files are upgraded by the numbered
-- steps in store/migrations, and a test holds both to the same result.
--
-- A column's meaning is given on its line. These mean the same in every table and view:
--   about                what the business says about itself, on the listing's own page
--   accepted             listings kept by the current crawls
--   accepted_count       listings kept by the current crawl
--   action               new, changed, completed, dropped, restored or rejected
--   active               neither degraded, paused nor failed
--   address              the whole address in one line, if it could not be split with certainty
--   again_after_seconds  time from the start of one crawl to the start of the next; 0 = crawled once only
--   aka                  other names of the business
--   alive                its listings that their source still shows
--   at                   when it happened or was written
--   attempt              number of the attempt at this target, counted from 1
--   attempt_number       number of the attempt at this target, counted from 1
--   attempts             attempts so far
--   auth_error           failed: HTTP 401 or 407
--   availability         open, paused, quarantined, disabled or held
--   backoff_until        when the wait after a failure ends
--   bad_count            cards that the current crawl could not read
--   base_url             start of all addresses of the source
--   began_at             when the pass began, in this run or an earlier one
--   by_name              matched to the built-in list of cities by name and state
--   by_slug              matched to the built-in list of cities by the source's own slug
--   categories           everything the source says the business does
--   category             category that was searched for; NULL = not a search
--   cf_challenge         failed: the site asked for a proof of being human
--   changed              their source says something else than before
--   changes              list of the fields that changed, with old and new values
--   cities               cities in the index
--   city                 name of the city; NULL = unknown
--   claimed              1 = the source says that the owner manages the listing
--   claimed_at           when the worker claimed the target
--   claimed_by           worker that holds the target; NULL = none
--   code                 error code that caused the pause
--   companies            companies whose first listing is in the state
--   company_id           row of the listing's company
--   connection_refused   failed: no connection
--   consecutive_failures failures in a row
--   cooldown_minutes     length of the quarantine before one page is tried
--   cooldown_until       when the proxy's rest ends
--   country              country of the source (ISO 3166 code), such as US
--   crawl_started_at     when the current crawl began, at page 1
--   crawl_status         active, degraded, paused or failed
--   created_at           when the row was created
--   degraded             resting after three or more failures in a row
--   delay_reason         why the delay is longer than configured
--   details_read_at      when the listing's own page was last read; NULL = never
--   dns                  failed: the name of the host was not found
--   domain               domain of the website, without "www."
--   done                 targets with status DONE
--   dropped              no longer shown by their source (closed)
--   due_now              may be claimed now
--   duration_ms          time from start to end
--   email                e-mail address, from the listing's own page or from structured data
--   enabled              0 = disabled by an operator
--   ended                how it ended
--   ending               how the last crawl of the target came to its end: by a word of the site that proves it (total, said, pagination, short_page,
--                        next_none), or without one, and why (end_text)
--   ends                 when the reason ends by itself; NULL = it does not end by itself
--   error                error code; NULL = none
--   error_class          why most of the failed requests failed; NULL = healthy
--   error_code           how the attempt ended; SUCCESS = it succeeded
--   error_message        what went wrong, in words
--   event                number or kind of the event
--   failed               targets with status FAILED
--   failures             failures so far
--   fetched              whose own page was read at least once
--   fetched_at           when the listing's own page was last read
--   field                name of the field, as in v_listings
--   file                 file that was written; "-" = stdout
--   filters              filters of the command
--   finished_at          when it ended; NULL = it has not ended
--   first_seen_at        when it was first seen
--   found_state          state of the search that first showed the listing
--   health               active, degraded, paused, failed or disabled
--   heartbeat_at         when the worker or run last reported that it is alive
--   host                 name of the machine, or of the web server
--   hours                opening hours, a list of texts such as "Mo 09:00-17:00"; days without an entry are closed, [] = always closed
--   http_403             failed: HTTP 403
--   http_429             failed: HTTP 429, too many requests
--   http_5xx             failed: HTTP 500 to 599
--   http_status          status of the response
--   id                   number of the row; never reused
--   identity             set of request headers that was sent; NULL = the honest one
--   image_url            address of the listing's picture
--   in_progress          targets with status IN_PROGRESS
--   kind                 of a target: search, detail or index
--   languages            languages spoken there
--   last_at              when the last of them may continue
--   last_error           what last went wrong, in words
--   last_error_code      error code of the last attempt; NULL = it succeeded
--   last_failure_at      when the last failed attempt ended
--   last_identity        identity used by the last attempt
--   last_listing_id      last listing of the last committed page
--   last_proxy           proxy used by the last attempt
--   last_seen            when it last happened
--   last_seen_at         when it was last seen
--   last_success_at      when the last successful crawl ended
--   last_used_at         when a request last went through it
--   lat                  latitude in degrees
--   latency_ms           time from the request to the last byte of the response
--   lead_listing         listing that the company's fields are taken from
--   lead_source          source of the lead listing
--   listing              row of the listing
--   listing_id           id that the source itself gives the listing
--   listings             number of listings
--   lon                  longitude in degrees
--   max_pages            most pages to read; 0 = all
--   mean_consecutive_failures  failures in a row, on average
--   mean_duration_ms     mean length of an attempt
--   memory_bytes         memory of its process at the last heartbeat
--   message              what went wrong, in words
--   name                 name to show to people
--   neighborhoods        neighborhoods that the business serves
--   new                  seen for the first time
--   next_at              when the first of them may continue
--   next_crawl_at        when a DONE target is due again
--   next_page_url        where the current crawl continues: an address, or a position in a list without links, "@offset=50&page=2"
--   not_before           when the target may be claimed again; NULL = it is not waiting
--   occurrences          how many times
--   old                  the previous value
--   open                 1 = may be requested now
--   outcome              how it ended
--   p50_ms               latency that half of the requests did not exceed, estimated
--   p95_ms               latency that 95 of 100 requests did not exceed, estimated
--   page                 number of the page, counted from 1
--   page_current         last page that the current crawl committed
--   pages                pages committed
--   pages_left           pages not read because of --max-pages
--   parked               targets with status PARKED (given up)
--   parked_at            when it was given up
--   parse_error          failed: the page could not be read
--   parse_ok             1 = the response could be read as what was expected; NULL = no response
--   paused               1 = paused by an operator
--   paused_code          error code that caused the pause
--   paused_reason        why it is paused, in words
--   payment              accepted ways to pay
--   percent              share of site_total that was seen, in percent; NULL = the site does not say how many listings it has
--   phone                phone number as the source writes it
--   phone_e164           phone number in international form, "+13105550123"; NULL = its country is not known
--   pid                  number of the process
--   planned              targets with status PLANNED
--   population           inhabitants of the city; 0 = unknown
--   postal_code          postal code as its country writes it
--   price_range          price level such as "$$"
--   profile_url          address of the listing's own page
--   proxy                proxy that was used, without its password; NULL = none
--   rank                 place in an order, smallest first
--   rated_at             when the source was last rated
--   rating               0.5 to 5 stars, with at most two decimals
--   raw                  listings found by the current crawls
--   raw_count            listings found by the current crawl
--   reason               why, in words
--   reasons              rules that it breaks
--   rejected             broke a rule of their source; counted once for each page that showed them
--   removed              no longer in the index
--   requests             HTTP requests sent
--   restored             shown again after they were dropped
--   result_count         listings on the page; NULL = not read
--   retired              targets whose city or listing no longer exists at the source
--   retry_seq            0 = first try of the page, 1 and up = its retries
--   review_count         number of reviews
--   rows                 rows in the file
--   run                  number of the run
--   run_id               row of the run; NULL = none, or the row has been deleted
--   samples_1h           requests of the last hour that count for the rating
--   samples_24h          requests of the last 24 hours that count for the rating
--   schedule_status      see above
--   searched_category    category of the search that first showed the listing
--   searched_city        city of the search that first showed the listing
--   searched_state       state of the search that first showed the listing
--   seen                 listings seen by the last crawl
--   seen_at              when a page last showed it
--   service_area         area served by a business without an address
--   services             services that the business offers
--   slug                 name used in addresses
--   snippet              short text shown beside the listing
--   social               addresses of social media pages
--   source               name of the source
--   source_id            row of the source
--   sponsored            1 = shown as an ad
--   stage                sandbox or active
--   started_at           when it began
--   state                code of the state, such as CA; the state's name if it has no code
--   status               PLANNED, IN_PROGRESS, DONE, FAILED, STUCK or PARKED
--   stopped_at           when the worker ended; NULL = it is working, or was killed
--   street               street and house number
--   stuck                targets with status STUCK
--   success_1h_percent   share of requests in the last hour that succeeded, in percent
--   success_24h_percent  share of requests in the last 24 hours that succeeded, in percent
--   success_percent      share of attempts that succeeded, in percent
--   success_rate         share of attempts that succeeded, in percent
--   success_rate_1h      share of requests in the last hour that succeeded, 0 to 1
--   success_rate_24h     share of requests in the last 24 hours that succeeded, 0 to 1
--   successes            successes so far
--   successful_24h       crawled successfully in the last 24 hours
--   target               what is crawled, in words: "Plumbers in Austin, TX"
--   target_id            row of the target
--   targets              number of targets
--   tier                 size of the city: 1 = large, 3 = small
--   timeout              failed: no answer in time
--   tls                  failed: no secure connection
--   took_seconds         how long it took, or has taken so far
--   total_attempts       attempts so far
--   total_successes      successful attempts so far
--   unknown              failed otherwise
--   unmatched            cities not in the built-in list of cities
--   until                when it ends
--   updated_at           when the row was last written
--   url                  address; a proxy's includes its password
--   uuid                 unique name of the run, used for its lock file
--   value                as text
--   wait_reason          backoff, recrawl or gap
--   wanted               targets for listings' own pages
--   website              home page, in normal form
--   website_url          home page, as the source links to it
--   what                 details of the event, see listing_events
--   with_email           with an e-mail address
--   with_failures        whose last crawl failed
--   with_geo             with latitude and longitude
--   with_hours           with opening hours
--   with_phone           with a phone number
--   with_social          with an address in a social network
--   with_website         with a website
--   worker               name of the worker and its process id
--   years_in_business    years in business, as the source says

-- Small facts about the file itself: who made it and when; which database it is
-- ("database_id", random; the logs name it, and a file that is rebuilt from them takes it
-- over); how many pages and ends of claims have been committed ("committed": each has a number, which
-- its log repeats, so that a replay can apply them in the same order); the commit after which those of
-- another database were replayed ("replayed:{id}"); which sources came from a replay
-- ("replayed_source:{source}"); for which sources and states own pages are wanted
-- ("details:{source}:{state}"); which sources request listings' own pages by id
-- ("own_by_id:{source}"); the totals of runs whose rows have been deleted ("forgotten:pages", see runs_removed);
-- and the last rows of requests and listing_events that the figures over time include ("rolled:requests", "rolled:events", see request_spans).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('database_id', lower(hex(randomblob(8))));

-- A directory site. base_url is where it was last crawled. The operator sets enabled;
-- the columns after it are set automatically and cleared whenever an
-- operator sets enabled (trigger sources_enabled).
CREATE TABLE sources (
    id                   INTEGER PRIMARY KEY,
    name                 TEXT NOT NULL UNIQUE,
    base_url             TEXT NOT NULL,
    enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    auto_disabled        INTEGER NOT NULL DEFAULT 0 CHECK (auto_disabled IN (0, 1)), -- 1 = disabled by an alarm until an operator enables it
    paused_until         TEXT,                                                       -- a pause that ends by itself
    paused_code          TEXT CHECK (paused_code IN ('AUTH_FAILED', 'HTML_CHANGED')),
    paused_reason        TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0), -- failed attempts in a row, over all targets
    layout_strikes       INTEGER NOT NULL DEFAULT 0 CHECK (layout_strikes >= 0),       -- HTML_CHANGED in a row
    -- A source added from a definition starts in the sandbox, where only a few targets are crawled.
    stage                TEXT NOT NULL DEFAULT 'active' CHECK (stage IN ('sandbox', 'active')),
    definition           TEXT,                                                         -- YAML; NULL = built in, or a file
    country              TEXT NOT NULL DEFAULT 'US',                                   -- ISO 3166
    cities               TEXT,                                                         -- file of cities named by the definition; NULL = none
    created_at           TEXT NOT NULL,
    updated_at           TEXT NOT NULL,
    paused_ms            INTEGER CHECK (paused_ms > 0),                                -- intended length of that pause, so that a clock set back can't make it longer
    CHECK ((auto_disabled = 1 OR paused_until IS NOT NULL) = (paused_code IS NOT NULL))
) STRICT;

-- The states of a source that doesn't use those of the USA: they come from its definition, its file of cities, or its country.
CREATE TABLE source_states (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    state     TEXT NOT NULL,                         -- its code, or its name if it has no code; '' = places there have no state
    name      TEXT NOT NULL,
    PRIMARY KEY (source_id, state)
) STRICT, WITHOUT ROWID;

-- A place, from the built-in list of cities, a source's file, or a source's index. In the USA the slug ends in
-- the state ("austin-tx"); elsewhere it is what the file or the index says.
CREATE TABLE cities (
    id         INTEGER PRIMARY KEY,
    slug       TEXT NOT NULL,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL,                                           -- '' = places of its source have no state
    population INTEGER NOT NULL CHECK (population >= 0),                -- 0 = not in the built-in list
    lat        REAL,
    lon        REAL,
    tier       INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),
    country    TEXT NOT NULL DEFAULT 'US',                              -- ISO 3166
    UNIQUE (slug, state, country),
    CHECK ((lat IS NULL) = (lon IS NULL))
) STRICT;
CREATE INDEX cities_by_state ON cities (state, population);

-- A city as a source lists it in its index of a state. slug is the source's own; its
-- addresses contain it. A city that disappears from the index keeps its row, and
-- its targets are retired.
CREATE TABLE source_cities (
    source_id     INTEGER NOT NULL REFERENCES sources (id),
    city_id       INTEGER NOT NULL REFERENCES cities (id),
    slug          TEXT NOT NULL CHECK (slug <> ''),
    name          TEXT NOT NULL,                     -- as the index has it
    found_on      TEXT NOT NULL,                     -- path of the index page that last showed it, to notice an index that repeats itself
    matched       TEXT NOT NULL CHECK (matched IN ('slug', 'name', 'none')), -- how it was matched to the built-in list
    first_seen_at TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    crawl         INTEGER NOT NULL CHECK (crawl >= 0), -- crawl of the index (targets.crawls) that last found it
    missed        INTEGER NOT NULL DEFAULT 0 CHECK (missed BETWEEN 0 AND 2), -- complete reads of the index in a row without it; 2 = two or more
    removed_at    TEXT,                              -- NULL = in the index, or the last read lacked too many cities to be trusted
    PRIMARY KEY (source_id, city_id)
) STRICT, WITHOUT ROWID;
-- Logs name a city by this slug.
CREATE INDEX source_cities_by_slug ON source_cities (source_id, slug);

-- What is searched for.
CREATE TABLE categories (
    id   INTEGER PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
) STRICT;

-- One invocation of `run`. A run is alive as long as its process holds the lock
-- file "{database}.locks/{uuid}.lock", whatever this row says.
CREATE TABLE runs (
    id           INTEGER PRIMARY KEY,
    uuid         TEXT NOT NULL UNIQUE,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    source_id    INTEGER REFERENCES sources (id),    -- NULL = several
    command      TEXT NOT NULL,                      -- the command line, without secrets
    started_at   TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    finished_at  TEXT,
    outcome      TEXT NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'interrupted', 'budget', 'error', 'dead', 'blocked', 'no_proxies', 'layout')),
    requests     INTEGER NOT NULL DEFAULT 0,
    pages        INTEGER NOT NULL DEFAULT 0,         -- pages committed, of every kind; a page of results without a listing never is
    targets      INTEGER NOT NULL DEFAULT 0,         -- finished by this run, whatever the outcome
    listings_new INTEGER NOT NULL DEFAULT 0,         -- seen for the first time
    listings_changed  INTEGER NOT NULL DEFAULT 0,    -- their source says something else than before
    listings_rejected INTEGER NOT NULL DEFAULT 0,    -- sightings of listings that break a rule of their source
    listings_dropped  INTEGER NOT NULL DEFAULT 0,    -- gone from their source, see listings.dropped_at
    listings_restored INTEGER NOT NULL DEFAULT 0,    -- and back again
    CHECK ((outcome = 'running') = (finished_at IS NULL))
) STRICT;
CREATE INDEX runs_alive ON runs (started_at) WHERE outcome = 'running';

-- A pass crawls a selection once, by as many runs as it takes: who types the same again
-- goes on with it, as long as targets of it are left (see store/pass.go). The last one of each selection.
CREATE TABLE passes (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    selection TEXT NOT NULL CHECK (json_valid(selection)), -- kinds, places, categories and --recrawl
    began_at  TEXT NOT NULL,
    cutoff    TEXT NOT NULL,                         -- with --recrawl: what was done until then is crawled again
    PRIMARY KEY (source_id, selection)
) STRICT, WITHOUT ROWID;

-- The pass of each source that a run began or went on with.
CREATE TABLE run_passes (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    selection TEXT NOT NULL CHECK (json_valid(selection)), -- as in passes
    began_at  TEXT NOT NULL,                         -- of the pass, by this run or an earlier one
    -- What the run has brought of the source, added up with the roll-ups of health (see request_spans).
    pages     INTEGER NOT NULL DEFAULT 0,            -- as runs.pages, and those that were read and could not be committed
    new       INTEGER NOT NULL DEFAULT 0,
    changed   INTEGER NOT NULL DEFAULT 0,
    dropped   INTEGER NOT NULL DEFAULT 0,
    restored  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_passes_by_run ON run_passes (run_id);

-- One worker of a run. The row stays after the worker has ended. What a worker holds now is in
-- targets; v_workers joins the two.
CREATE TABLE workers (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES runs (id),
    worker_id     TEXT NOT NULL,                     -- worker_{n}_pid_{pid}
    name          TEXT NOT NULL,                     -- for people
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    started_at    TEXT NOT NULL,
    heartbeat_at  TEXT NOT NULL,
    stopped_at    TEXT,
    pages         INTEGER NOT NULL DEFAULT 0,        -- committed
    listings      INTEGER NOT NULL DEFAULT 0,        -- accepted
    claims        INTEGER NOT NULL DEFAULT 0,        -- targets claimed
    claim_retries INTEGER NOT NULL DEFAULT 0,        -- additional tries they took because the database was busy
    rss_bytes     INTEGER NOT NULL DEFAULT 0,        -- memory of its process at the last heartbeat; 0 = unknown
    cpu_ms        INTEGER CHECK (cpu_ms >= 0),       -- processor time its process had used by then; NULL = unknown
    waits_for     TEXT,                              -- limit that keeps it from claiming a ready target: "--max-per-state 5"; NULL = nothing
    waits_source  INTEGER REFERENCES sources (id),   -- of that target
    UNIQUE (run_id, worker_id),
    CHECK ((waits_for IS NULL) = (waits_source IS NULL))
) STRICT;

-- The unit of work that a worker claims. There are three kinds: the index of a source's cities in a state, a
-- search (source × city × category), and a listing's own page. All follow the same rules for
-- claims, fencing, waits and outcomes. state, population and priority are copies, so
-- that a claim needs to read only one index.
CREATE TABLE targets (
    id                   INTEGER PRIMARY KEY,
    source_id            INTEGER NOT NULL REFERENCES sources (id),
    kind                 TEXT NOT NULL DEFAULT 'search' CHECK (kind IN ('index', 'search', 'detail')),
    state                TEXT NOT NULL,                                         -- of a detail: the state where its listing was found
    city_id              INTEGER REFERENCES cities (id),                        -- of a search, or of the search that found a detail's listing, if known
    category_id          INTEGER REFERENCES categories (id),                    -- likewise
    listing              INTEGER REFERENCES listings (id),                      -- detail
    population           INTEGER NOT NULL,                                      -- of the city, 0 = not known
    priority             INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 32767), -- smaller first: index 0, search 1-3 by size of city, detail 100, a detail read before 101
    max_pages            INTEGER NOT NULL CHECK (max_pages >= 0),               -- 0 = all; index: as many as it has

    status               TEXT NOT NULL DEFAULT 'PLANNED'
        CHECK (status IN ('PLANNED', 'IN_PROGRESS', 'DONE', 'FAILED', 'STUCK', 'PARKED')),

    -- The claim. claim_token grows by one with every claim and fences every write.
    claimed_by           TEXT,
    claimed_at           TEXT,
    heartbeat_at         TEXT,
    claim_token          INTEGER NOT NULL DEFAULT 0 CHECK (claim_token >= 0),
    committed            INTEGER NOT NULL DEFAULT 0 CHECK (committed >= 0),     -- number of its last commit, see meta 'committed'
    run_id               INTEGER REFERENCES runs (id),
    recoveries           INTEGER NOT NULL DEFAULT 0 CHECK (recoveries >= 0),    -- times in a row that its process died while reading a page of it, without a new page in between

    -- Progress of the current crawl of the target. page_current is the last page committed.
    -- raw_count and accepted_count are listings found and kept; for an index, cities found and
    -- those of them that are new or back.
    page_current         INTEGER NOT NULL DEFAULT 0 CHECK (page_current >= 0),
    next_page_url        TEXT,
    last_listing_id      TEXT,
    site_total           INTEGER,                                               -- "of 1,108", as the site says
    raw_count            INTEGER NOT NULL DEFAULT 0 CHECK (raw_count >= 0),
    accepted_count       INTEGER NOT NULL DEFAULT 0 CHECK (accepted_count >= 0),
    bad_count            INTEGER NOT NULL DEFAULT 0 CHECK (bad_count >= 0),
    seen_ids             INTEGER CHECK (seen_ids >= 0),                          -- of a search: distinct organic listings that its pages showed; sites show some twice
    crawl_started_at     TEXT,
    finished_at          TEXT,
    crawls               INTEGER NOT NULL DEFAULT 0 CHECK (crawls >= 0),         -- crawls begun at page 1 so far, which is the number of the current one
    complete_at          TEXT,                                                  -- end of the last crawl that saw every page to a confirmed end

    ending               TEXT CHECK (ending IN
        ('total', 'said', 'pagination', 'short_page', 'next_none', 'max_pages', 'no_word', 'unfollowed', 'later_page', 'too_few',
         'unreadable', 'order', 'repeats', 'gone', 'shrunk', 'other_list', 'other_name', 'says_both')),
    end_text             TEXT,                                                  -- why, in words
    shrunk               INTEGER NOT NULL DEFAULT 0 CHECK (shrunk >= 0),         -- crawls in a row that ended on a short page although the last complete one went further

    -- When it may be crawled: not before not_before. The first run after that time plans a
    -- waiting target again. The operator sets enabled and paused; see the
    -- trigger targets_enabled.
    not_before              TEXT,
    wait_reason             TEXT                     -- backoff: after a failure. recrawl: DONE, and due again then.
        CHECK (wait_reason IN ('backoff', 'recrawl', 'gap')), -- gap: DONE and due, but its last crawl began less than two minutes ago
    retired_at              TEXT,                    -- its city left the source's index, or its listing left the source: it is neither crawled nor counted with its status
    enabled                 INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    paused                  INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    crawl_frequency_minutes INTEGER NOT NULL DEFAULT 10080 CHECK (crawl_frequency_minutes >= 0), -- from the start of one crawl to the start of the next; 0 = once only
    max_retries             INTEGER NOT NULL DEFAULT 3 CHECK (max_retries >= 0),     -- of one page within an attempt
    backoff_level           INTEGER NOT NULL DEFAULT 0 CHECK (backoff_level BETWEEN 0 AND 5), -- how long it rests after its next failure; if PARKED: above 0 = it failed too often, 0 = the cause is permanent

    -- Outcomes so far.
    last_error_code      TEXT CHECK (last_error_code IN
        ('RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    last_error           TEXT,
    last_success_at      TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    total_attempts       INTEGER NOT NULL DEFAULT 0 CHECK (total_attempts >= 0),
    total_successes      INTEGER NOT NULL DEFAULT 0 CHECK (total_successes >= 0),
    created_at           TEXT NOT NULL,

    CHECK (kind <> 'search' OR city_id IS NOT NULL AND category_id IS NOT NULL),
    CHECK (kind <> 'index' OR city_id IS NULL AND category_id IS NULL AND max_pages > 0),
    CHECK ((kind = 'detail') = (listing IS NOT NULL)),
    CHECK ((status = 'IN_PROGRESS') = (claimed_by IS NOT NULL)),
    CHECK ((claimed_by IS NULL) = (claimed_at IS NULL)),
    CHECK ((claimed_by IS NULL) = (run_id IS NULL)),
    CHECK (status = 'IN_PROGRESS' OR heartbeat_at IS NULL),
    CHECK (accepted_count <= raw_count),
    CHECK ((not_before IS NULL) = (wait_reason IS NULL)),
    CHECK (wait_reason IS NULL OR iif(wait_reason = 'backoff', status IN ('FAILED', 'PLANNED'), status = 'DONE')),
    CHECK (status <> 'FAILED' OR (last_error_code IS NOT NULL AND not_before IS NOT NULL AND backoff_level > 0)),
    CHECK (status <> 'PARKED' OR last_error_code IS NOT NULL),
    CHECK (status <> 'DONE' OR finished_at IS NOT NULL)
) STRICT;
-- No target is there twice.
CREATE UNIQUE INDEX targets_of_index ON targets (source_id, state) WHERE kind = 'index';
CREATE UNIQUE INDEX targets_of_search ON targets (source_id, city_id, category_id) WHERE kind = 'search';
CREATE UNIQUE INDEX targets_of_detail ON targets (listing) WHERE listing IS NOT NULL;
-- For claims: finds the best target of a kind in a state in one seek, however many targets there
-- are and however many of them wait, are paused or disabled.
CREATE INDEX targets_ready ON targets (source_id, kind, state, priority, id, population)
    WHERE status = 'PLANNED' AND enabled = 1 AND paused = 0 AND not_before IS NULL AND retired_at IS NULL;
-- The same for runs with --categories, and for runs with --cities.
CREATE INDEX targets_ready_category ON targets (source_id, kind, state, category_id, priority, id, population)
    WHERE status = 'PLANNED' AND enabled = 1 AND paused = 0 AND not_before IS NULL AND retired_at IS NULL AND category_id IS NOT NULL;
CREATE INDEX targets_ready_city ON targets (source_id, kind, city_id, priority, id, category_id, population, state)
    WHERE status = 'PLANNED' AND enabled = 1 AND paused = 0 AND not_before IS NULL AND retired_at IS NULL AND city_id IS NOT NULL;
-- Targets held now: only a few rows at any time. For --max-per-state, heartbeats, recovery and workers.
CREATE INDEX targets_held ON targets (source_id, kind, state, run_id) WHERE status = 'IN_PROGRESS';
-- Targets a run holds; checked before its row is deleted, as the "by_run" indexes below are.
CREATE INDEX targets_held_by_run ON targets (run_id) WHERE run_id IS NOT NULL;
-- Targets that become due by themselves.
-- It contains what counts of waiting listings read: with a million of them, each row would cost many times as much.
CREATE INDEX targets_waiting ON targets (wait_reason, not_before, id, kind, status, retired_at, source_id, state) WHERE not_before IS NOT NULL;
-- Targets in trouble, by error code.
CREATE INDEX targets_troubled ON targets (kind, status, last_error_code, state) WHERE status IN ('FAILED', 'STUCK', 'PARKED');
-- Targets that an operator disabled or paused.
CREATE INDEX targets_set_aside ON targets (kind, state) WHERE enabled = 0 OR paused = 1;

-- A business, after de-duplication. Its fields come from its lead listing (the one with the
-- smallest source and id) and its website is the smallest of its listings' websites, so they do not
-- depend on the order in which pages were read. An id is never reused, so one that was exported
-- yesterday still means the same business today.
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
    first_seen_at TEXT NOT NULL,
    country       TEXT NOT NULL DEFAULT 'US'         -- ISO 3166, of the source of the lead listing
) STRICT;

-- The keys that assign listings to a company: "web:acme.com",
-- "tel:+13105550123|acme plumbing", "adr:acme plumbing|12 main st|90210"; outside the
-- USA "adr:acme|1 high st|GB SW1A 1AA". Each is stored under
-- its hash, or under the next free number if that is taken: see store/keys.go.
CREATE TABLE company_keys (
    hash       INTEGER PRIMARY KEY,                  -- number of the key, or the next free one
    company_id INTEGER NOT NULL,                     -- row of the company; with REFERENCES, deleting a company would read the whole table
    key        TEXT                                  -- NULL = the key follows from the company's own row
) STRICT;
CREATE INDEX company_keys_by_company ON company_keys (company_id) WHERE key IS NOT NULL;

-- What a source says about one business at one place, on the cards of result pages and on the listing's own page. city and
-- state are the listing's own place; found_state is the state of the target that first showed it.
-- One rule decides which page wins. Fields that belong together form a group: phone with phone_e164, website_url with website and
-- domain, all parts of the address, lat with lon; every other field is a group of its own. A card writes the groups it has a value for and
-- sets their bits in cards. An own page writes the groups it has a value for whose bits are not set, then clears cards. So
-- a card wins as long as cards keep giving the value, and a value that only the own page gives is always the latest.
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
    categories        TEXT CHECK (categories IS NULL OR json_valid(categories) AND json_type(categories) = 'array'),
    rating            REAL CHECK (rating BETWEEN 0.5 AND 5),   -- on a scale of 5, as the source gives it, with at most two decimals
    review_count      INTEGER CHECK (review_count >= 0),
    years_in_business INTEGER CHECK (years_in_business >= 0),
    price_range       TEXT,
    snippet           TEXT,
    image_url         TEXT,
    hours             TEXT CHECK (hours IS NULL OR json_valid(hours) AND json_type(hours) = 'array'),
    claimed           INTEGER CHECK (claimed IN (0, 1)),
    sponsored         INTEGER NOT NULL DEFAULT 0 CHECK (sponsored IN (0, 1)),
    found_state       TEXT NOT NULL,
    fingerprint       INTEGER NOT NULL,              -- hash of the fields when last seen; if it is the same, nothing has changed
    first_seen_at     TEXT NOT NULL,
    last_seen_at      TEXT NOT NULL,
    dropped_at        TEXT,                          -- when it closed: every search that had shown it was read to the end twice without it, or its city was missing from two reads of the index
    address           TEXT,                          -- the whole address in one line, if it could not be split with certainty; then some or all of its parts are NULL
    email             TEXT,
    lat               REAL CHECK (lat BETWEEN -90 AND 90),
    lon               REAL CHECK (lon BETWEEN -180 AND 180),
    founded           INTEGER,                       -- year
    cards             INTEGER NOT NULL DEFAULT 0 CHECK (cards >= 0),        -- groups that cards have given since the own page was last read, one bit each: see yp.Group
    cards_before      INTEGER NOT NULL DEFAULT 0 CHECK (cards_before >= 0), -- groups that cards had given by that reading, so the own page did not overwrite them
    own_page_at       TEXT,                          -- when the own page was last read; NULL = never
    country           TEXT NOT NULL DEFAULT 'US',    -- ISO 3166, of its source
    UNIQUE (source_id, listing_id),
    CHECK ((lat IS NULL) = (lon IS NULL))
) STRICT;
CREATE INDEX listings_by_company ON listings (company_id);

-- The long fields of a listing, which nearly always come from its own page. They have a table of their own so that a crawl that
-- changes nothing does not write them again.
CREATE TABLE listing_texts (
    listing       INTEGER PRIMARY KEY REFERENCES listings (id) ON DELETE CASCADE,
    payment       TEXT CHECK (payment IS NULL OR json_valid(payment) AND json_type(payment) = 'array'),
    social        TEXT CHECK (social IS NULL OR json_valid(social) AND json_type(social) = 'array'),
    services      TEXT CHECK (services IS NULL OR json_valid(services) AND json_type(services) = 'array'),
    languages     TEXT CHECK (languages IS NULL OR json_valid(languages) AND json_type(languages) = 'array'),
    neighborhoods TEXT CHECK (neighborhoods IS NULL OR json_valid(neighborhoods) AND json_type(neighborhoods) = 'array'),
    aka           TEXT CHECK (aka IS NULL OR json_valid(aka) AND json_type(aka) = 'array'),
    about         TEXT
) STRICT;

-- What the pages of a crawl in progress have shown, as JSON arrays of listings' ids, until the crawl ends. They reveal a page
-- that repeats another, and are counted against the site's total.
CREATE TABLE crawl_pages (
    target_id INTEGER NOT NULL REFERENCES targets (id) ON DELETE CASCADE,
    page      INTEGER NOT NULL CHECK (page >= 1),
    crawl     INTEGER NOT NULL CHECK (crawl >= 0),   -- crawl of the target (targets.crawls); rows of other crawls are ignored
    organic   TEXT NOT NULL CHECK (json_valid(organic) AND json_type(organic) = 'array'), -- shown as results
    ads       TEXT NOT NULL CHECK (json_valid(ads) AND json_type(ads) = 'array'), -- shown as ads alone
    PRIMARY KEY (target_id, page)
) STRICT, WITHOUT ROWID;

-- How long a source's pages and lists were in a pass. This reveals a page that is not full, and a number of pages that
-- may be a cap.
CREATE TABLE pass_pages (
    source_id      INTEGER NOT NULL REFERENCES sources (id),
    pass           TEXT NOT NULL,                              -- when it began (run_passes.began_at); for a run without a pass, the run's number
    next_pages     INTEGER NOT NULL CHECK (next_pages >= 0),   -- pages with a next link that could be followed
    fewest         INTEGER CHECK (fewest >= 0),                -- fewest organic cards on any of these
    most           INTEGER CHECK (most >= fewest),             -- most organic cards on any of these
    deepest        INTEGER NOT NULL CHECK (deepest >= 1),      -- highest page number
    deepest_target INTEGER NOT NULL,                           -- row of the target with that page
    second         INTEGER NOT NULL CHECK (second >= 0),       -- highest page number of any other target
    PRIMARY KEY (source_id, pass)
) STRICT, WITHOUT ROWID;

-- Where a source led a target: the address of a result page that belongs to another search than the one requested. An address
-- that two targets were led to belongs to neither.
CREATE TABLE led_to (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    address   TEXT NOT NULL,                             -- path and query
    target_id INTEGER NOT NULL,                          -- row of the first target that was led there
    others    INTEGER NOT NULL DEFAULT 0 CHECK (others IN (0, 1)), -- 1 = others were led there, too
    PRIMARY KEY (source_id, address)
) STRICT, WITHOUT ROWID;

-- Words that say "nothing found" on pages that also have listings and a total or a next link. Words that pages of two
-- targets have are part of the page's frame and mean nothing.
CREATE TABLE nothing_words (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    words     TEXT NOT NULL,                             -- as the log says them: says "no results found"
    target_id INTEGER NOT NULL,                          -- row of the first target whose page has them
    others    INTEGER NOT NULL DEFAULT 0 CHECK (others IN (0, 1)), -- 1 = pages of others have them, too
    PRIMARY KEY (source_id, words)
) STRICT, WITHOUT ROWID;

-- Which target showed which listing, and where on its pages. This keeps the place that was searched beside the
-- listing's own, and shows whether a page contained anything new.
CREATE TABLE sightings (
    target_id INTEGER NOT NULL REFERENCES targets (id),
    listing   INTEGER NOT NULL REFERENCES listings (id),
    page      INTEGER NOT NULL CHECK (page >= 1),
    rank      INTEGER NOT NULL CHECK (rank >= 0),
    seen_at   TEXT NOT NULL,
    since     INTEGER NOT NULL DEFAULT 0 CHECK (since >= 0),   -- crawl of the target (targets.crawls) that first kept it; 2^63-1 = never (an ad, or filtered out)
    crawl     INTEGER NOT NULL DEFAULT 0 CHECK (crawl >= 0),   -- crawl that last showed it, even if only as an ad
    missed    INTEGER NOT NULL DEFAULT 0 CHECK (missed >= 0),  -- complete crawls of the target in a row without it
    PRIMARY KEY (target_id, listing)
) STRICT, WITHOUT ROWID;
-- Which other targets show a listing; checked before it counts as dropped.
CREATE INDEX sightings_by_listing ON sightings (listing);

-- Listings that were rejected, as they were seen, with every reason.
-- (A valid listing only passes through: it is checked and promoted in the transaction
-- of its page, and its row is removed from here.)
CREATE TABLE staged_listings (
    source_id     INTEGER NOT NULL REFERENCES sources (id),
    listing_id    TEXT NOT NULL CHECK (listing_id <> ''),
    target_id     INTEGER NOT NULL REFERENCES targets (id),
    page          INTEGER NOT NULL CHECK (page >= 1),
    reasons       TEXT NOT NULL CHECK (json_valid(reasons) AND json_type(reasons) = 'array'),
    listing       TEXT NOT NULL CHECK (json_valid(listing)), -- its fields, JSON
    first_seen_at TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    PRIMARY KEY (source_id, listing_id)
) STRICT, WITHOUT ROWID;

-- What happened to listings. A page that repeats what it said before adds no row; a page
-- with new listings adds one row for all of them.
-- Differences that mean nothing (rank, open now, ad or not, the way an address is
-- written) are not changes. A field that only became known because other markup shows more
-- is "completed".
--   kind             what happened to the listing
CREATE TABLE listing_events (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('new', 'changed', 'completed', 'dropped', 'restored', 'rejected')),
    source_id  INTEGER NOT NULL REFERENCES sources (id),
    listing    INTEGER REFERENCES listings (id),     -- of several new ones, the first
    listings   INTEGER NOT NULL DEFAULT 1 CHECK (listings >= 1), -- number of new ones, with consecutive row ids
    listing_id TEXT,                                 -- source's own id of a rejected listing, which has no row
    company_id INTEGER,                              -- row of its company at that time; NULL = the listing was new, or rejected
    run_id     INTEGER REFERENCES runs (id),         -- NULL = rebuilt from logs, or reparsed
    -- new: {"2": key}, the keys by which some found their company, by their place from 0 on
    -- changed: {"changes": [{"field", "old", "new"}…], "completed": [field…]}; completed: the latter alone
    -- rejected: {"reasons": […]}; dropped: the same with "city_left_index", or NULL
    what       TEXT CHECK (what IS NULL OR json_valid(what)),
    reparsed   INTEGER NOT NULL DEFAULT 0 CHECK (reparsed IN (0, 1)), -- 1 = a kept page was read again, so this is no news from the source
    CHECK ((kind = 'rejected') = (listing IS NULL)),
    CHECK ((kind = 'rejected') = (listing_id IS NOT NULL)),
    CHECK ((kind IN ('new', 'rejected')) = (company_id IS NULL)),
    CHECK (kind = 'new' OR listings = 1)
) STRICT;
CREATE INDEX listing_events_by_time ON listing_events (at);
CREATE INDEX listing_events_by_listing ON listing_events (listing);
CREATE INDEX listing_events_by_run ON listing_events (run_id) WHERE run_id IS NOT NULL;
-- Recently dropped, restored and rejected listings.
CREATE INDEX listing_events_closings ON listing_events (at, kind, listing) WHERE kind IN ('dropped', 'restored', 'rejected');

-- The words of listings, brought up to date by `listings list --search`;
-- meta says how far it goes (words_listing, words_event): see store/words.go.
CREATE VIRTUAL TABLE listing_words USING fts5 (name, categories, city, content = '', contentless_delete = 1, detail = none);

-- Messages for --notify, one row each. A message is retried until it is delivered, by later runs too,
-- for up to a week.
CREATE TABLE messages (
    id        INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    event     TEXT NOT NULL CHECK (event IN ('run_ended', 'source_closed', 'layout_alarm')),
    source_id INTEGER REFERENCES sources (id),       -- NULL = about the whole run
    mark      TEXT NOT NULL,                         -- tells messages of a kind apart; the same one is sent at most once a day
    run_id    INTEGER REFERENCES runs (id) ON DELETE SET NULL, -- run that wrote it
    body      TEXT NOT NULL CHECK (json_valid(body)),  -- JSON, as it is sent
    sent_at   TEXT                                   -- NULL = not delivered yet
) STRICT;
CREATE INDEX messages_by_run ON messages (run_id) WHERE run_id IS NOT NULL;

-- What was delivered to whom with export --as. The next file for the same name contains what happened to
-- listings since then.
CREATE TABLE deliveries (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL CHECK (name <> ''),
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- last row of listing_events that it covers
    file     TEXT NOT NULL,
    rows     INTEGER NOT NULL CHECK (rows >= 0),
    filters  TEXT NOT NULL CHECK (json_valid(filters))
) STRICT;
CREATE INDEX deliveries_by_name ON deliveries (name, id);

-- What was last delivered about each listing, for each name. The next file contains the differences to the current state.
--   state            as last delivered
CREATE TABLE delivered (
    name    TEXT NOT NULL,                           -- of deliveries
    listing INTEGER NOT NULL REFERENCES listings (id),
    state   TEXT NOT NULL CHECK (state IN ('open', 'dropped', 'left')), -- left: no longer matches the filters
    event   INTEGER NOT NULL CHECK (event >= 0),     -- row of listing_events; later ones were not delivered
    PRIMARY KEY (name, listing)
) STRICT, WITHOUT ROWID;

-- A file for a name of --as, recorded just before the finished file gets its name on the disk. After a crash, the next export for the
-- name looks for the file: if it is there it counts as delivered, otherwise nothing was delivered.
--   bytes            of the file
--   sha256           of the file
CREATE TABLE delivery_intents (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL CHECK (name <> ''),
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- as those of deliveries
    file     TEXT NOT NULL,
    rows     INTEGER NOT NULL CHECK (rows >= 0),
    filters  TEXT NOT NULL CHECK (json_valid(filters)),
    path     TEXT NOT NULL,                          -- path of the file, relative to the database's folder unless absolute
    bytes    INTEGER NOT NULL CHECK (bytes >= 0),
    sha256   TEXT NOT NULL
) STRICT;
CREATE INDEX delivery_intents_by_name ON delivery_intents (name, id);

-- The listings in such a file, several in each row.
CREATE TABLE delivery_intent_listings (
    intent   INTEGER NOT NULL REFERENCES delivery_intents (id) ON DELETE CASCADE, -- of which file
    state    TEXT NOT NULL CHECK (state IN ('open', 'dropped', 'left')), -- as that of delivered
    listings TEXT NOT NULL CHECK (json_valid(listings) AND json_type(listings) = 'array') -- their ids
) STRICT;
CREATE INDEX delivery_intent_listings_by_intent ON delivery_intent_listings (intent);

-- One claim of a target, from its start to its outcome. The row is written with the claim.
-- If the process is killed, the recovery closes the row, and what only that process
-- knew stays NULL.
CREATE TABLE crawl_attempts (
    id               INTEGER PRIMARY KEY,
    target_id        INTEGER NOT NULL REFERENCES targets (id),
    claim_token      INTEGER NOT NULL,
    run_id           INTEGER NOT NULL REFERENCES runs (id),
    worker_id        TEXT NOT NULL,
    attempt_number   INTEGER NOT NULL CHECK (attempt_number >= 1),
    page_before      INTEGER NOT NULL CHECK (page_before >= 0), -- last page that was committed when it began
    started_at       TEXT NOT NULL,
    finished_at      TEXT,
    duration_ms      INTEGER CHECK (duration_ms >= 0),
    ended            TEXT NOT NULL DEFAULT 'running'
        CHECK (ended IN ('running', 'done', 'failed', 'parked', 'released', 'recovered')),
    error_code       TEXT CHECK (error_code IN
        ('SUCCESS', 'RATE_LIMITED', 'BLOCKED_PROXY', 'HTML_CHANGED', 'TIMEOUT', 'AUTH_FAILED',
         'NETWORK_ERROR', 'PARSE_ERROR', 'NO_LISTINGS', 'UNKNOWN_ERROR')),
    error_message    TEXT,
    http_status      INTEGER,                        -- status of the last response
    proxy            TEXT,                           -- without its password
    identity         TEXT,
    user_agent       TEXT,                           -- as last sent
    pages            INTEGER CHECK (pages >= 0),
    listings         INTEGER CHECK (listings >= 0),  -- found on its pages; for an index, cities
    upserted         INTEGER CHECK (upserted >= 0),  -- listings written
    changed          INTEGER CHECK (changed >= 0),   -- listings new or changed
    bytes            INTEGER CHECK (bytes >= 0),     -- received
    backoff_delay_ms INTEGER CHECK (backoff_delay_ms >= 0), -- until the target may be claimed again
    metadata         TEXT CHECK (metadata IS NULL OR json_valid(metadata)), -- {"steps": […]}: what was done and why, in addition to its requests
    UNIQUE (target_id, claim_token),
    CHECK ((ended = 'running') = (finished_at IS NULL)),
    CHECK ((ended IN ('done', 'failed', 'parked')) = (error_code IS NOT NULL))
) STRICT;
-- Attempts that a recovery has to close; only a few rows at any time.
CREATE INDEX crawl_attempts_open ON crawl_attempts (target_id) WHERE ended = 'running';
CREATE INDEX crawl_attempts_by_run ON crawl_attempts (run_id);
-- For the error summary of the last days.
CREATE INDEX crawl_attempts_by_end ON crawl_attempts (finished_at, error_code, ended) WHERE finished_at IS NOT NULL;

-- One outbound HTTP request, including its redirects. Kept for some days, see meta 'request_days'.
CREATE TABLE requests (
    id             INTEGER PRIMARY KEY,
    source_id      INTEGER NOT NULL REFERENCES sources (id),
    target_id      INTEGER REFERENCES targets (id),
    claim_token    INTEGER,                          -- of the attempt it belongs to
    page           INTEGER,
    correlation_id TEXT NOT NULL,                    -- one for each page fetch; its retries share it
    retry_seq      INTEGER NOT NULL DEFAULT 0 CHECK (retry_seq >= 0),
    type           TEXT NOT NULL CHECK (type IN ('listing', 'detail', 'state_index', 'city_index', 'robots', 'probe')), -- what was requested
    url            TEXT NOT NULL,
    started_at     TEXT NOT NULL,
    finished_at    TEXT NOT NULL,
    waited_ms      INTEGER NOT NULL DEFAULT 0 CHECK (waited_ms >= 0), -- before it started
    wait_reason    TEXT,                             -- why it waited: the host's pace, Retry-After, and so on
    outcome        TEXT NOT NULL CHECK (outcome IN ('success', 'failure')),
    error_class    TEXT CHECK (error_class IN
        ('dns', 'tls', 'timeout', 'connection_refused', 'http_403', 'http_429', 'http_5xx', 'parse_error',
         'auth_error', 'cf_challenge', 'rate_limited', 'unknown')),
    http_status    INTEGER,
    latency_ms     INTEGER NOT NULL CHECK (latency_ms >= 0),
    parse_ok       INTEGER CHECK (parse_ok IN (0, 1)),
    result_count   INTEGER CHECK (result_count >= 0),
    bytes          INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    proxy          TEXT,                             -- without its password
    proxy_failed   INTEGER NOT NULL DEFAULT 0 CHECK (proxy_failed IN (0, 1)), -- 1 = the proxy itself failed, which says nothing about the source
    identity       TEXT,
    via            TEXT NOT NULL DEFAULT 'none' CHECK (via IN ('none', 'proxy', 'browser')), -- how it was sent
    CHECK ((error_class IS NULL) = (outcome = 'success')),
    CHECK (outcome <> 'success' OR result_count IS NOT NULL),
    CHECK (error_class IS NOT 'rate_limited' OR (latency_ms = 0 AND started_at = finished_at))
) STRICT;
-- For the roll-ups: the index contains every column that they read.
CREATE INDEX requests_rollup ON requests (source_id, finished_at, type, outcome, parse_ok, error_class, latency_ms, result_count) WHERE proxy_failed = 0;
CREATE INDEX requests_by_target ON requests (target_id, claim_token) WHERE target_id IS NOT NULL;

-- What requests came to, by source and time: what the plots of the page show. Counted are the requests that the health of a
-- source counts: all but robots.txt, our own deferrals, and those that a proxy itself failed. A roll-up adds
-- the requests behind the last one that it counted (meta 'rolled:requests') and moves that mark in the same transaction: each is counted
-- once, whoever rolls up and whenever, and whatever the clock says. Minutes are kept for two days, hours for two years, the sum of all for ever.
CREATE TABLE request_spans (
    source_id          INTEGER NOT NULL REFERENCES sources (id),
    span               TEXT NOT NULL CHECK (span IN ('minute', 'hour', 'ever')), -- length of the time that the row is about
    began_at           TEXT NOT NULL,              -- begin of that time; "" of span ever
    requests           INTEGER NOT NULL DEFAULT 0,       -- that ended in it
    pages              INTEGER NOT NULL DEFAULT 0,       -- of them answered with a page that could be read, also with one of no listings
    -- failures, by class
    dns                INTEGER NOT NULL DEFAULT 0,
    tls                INTEGER NOT NULL DEFAULT 0,
    timeout            INTEGER NOT NULL DEFAULT 0,
    connection_refused INTEGER NOT NULL DEFAULT 0,
    http_403           INTEGER NOT NULL DEFAULT 0,
    http_429           INTEGER NOT NULL DEFAULT 0,
    http_5xx           INTEGER NOT NULL DEFAULT 0,
    parse_error        INTEGER NOT NULL DEFAULT 0,
    auth_error         INTEGER NOT NULL DEFAULT 0,
    cf_challenge       INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    latency_ms         INTEGER NOT NULL DEFAULT 0,       -- of all requests together
    -- requests by latency, failed ones too: each column counts those of the columns before as well
    ms_25              INTEGER NOT NULL DEFAULT 0,       -- at most 25 ms
    ms_50              INTEGER NOT NULL DEFAULT 0,       -- at most 50 ms
    ms_100             INTEGER NOT NULL DEFAULT 0,       -- at most 100 ms
    ms_200             INTEGER NOT NULL DEFAULT 0,       -- at most 200 ms
    ms_400             INTEGER NOT NULL DEFAULT 0,       -- at most 400 ms
    ms_800             INTEGER NOT NULL DEFAULT 0,       -- at most 800 ms
    ms_1500            INTEGER NOT NULL DEFAULT 0,       -- at most 1,500 ms
    ms_3000            INTEGER NOT NULL DEFAULT 0,       -- at most 3,000 ms
    ms_6000            INTEGER NOT NULL DEFAULT 0,       -- at most 6,000 ms
    ms_12000           INTEGER NOT NULL DEFAULT 0,       -- at most 12,000 ms
    ms_30000           INTEGER NOT NULL DEFAULT 0,       -- at most 30,000 ms
    PRIMARY KEY (source_id, span, began_at)
) STRICT, WITHOUT ROWID;

-- How a source responds, rolled up from requests (docs/health.md, section 4).
CREATE TABLE connectivity_profiles (
    source_id        INTEGER PRIMARY KEY REFERENCES sources (id),
    status           TEXT NOT NULL CHECK (status IN ('healthy', 'degraded', 'failing', 'quarantined')), -- docs/health.md, section 4
    error_class      TEXT CHECK (error_class IN
        ('dns', 'tls', 'timeout', 'connection_refused', 'http_403', 'http_429', 'http_5xx', 'parse_error',
         'auth_error', 'cf_challenge', 'rate_limited', 'unknown')),
    samples_1h       INTEGER NOT NULL DEFAULT 0,
    success_rate_1h  REAL CHECK (success_rate_1h BETWEEN 0 AND 1),  -- NULL = no sample
    samples_24h      INTEGER NOT NULL DEFAULT 0,
    success_rate_24h REAL CHECK (success_rate_24h BETWEEN 0 AND 1),
    latency_p50_ms   INTEGER,                        -- of the hour
    latency_p95_ms   INTEGER,                        -- of the hour
    dominant_class   TEXT,                           -- the most frequent failure class of the hour, if it is frequent enough
    burst_429        INTEGER NOT NULL DEFAULT 0 CHECK (burst_429 IN (0, 1)), -- 1 = many HTTP 429 responses within 10 minutes
    failing_since    TEXT,                           -- start of the current time as failing or quarantined
    quarantine_until TEXT,                           -- end of the quarantine; then one probe is sent
    cooldown_minutes INTEGER NOT NULL DEFAULT 30 CHECK (cooldown_minutes BETWEEN 30 AND 360),
    probe_until      TEXT,                           -- a probe is in progress, until then at most
    updated_at       TEXT NOT NULL,
    CHECK ((error_class IS NULL) = (status = 'healthy')),
    CHECK ((status IN ('failing', 'quarantined')) = (failing_since IS NOT NULL)),
    CHECK ((status = 'quarantined') = (quarantine_until IS NOT NULL))
) STRICT;

-- What a host has asked for, kept so that a restart can't hammer a host that has just
-- asked us to stop.
CREATE TABLE hosts (
    source_id    INTEGER NOT NULL REFERENCES sources (id),
    host         TEXT NOT NULL,                      -- with the port if it is not the scheme's own
    delay_ms     INTEGER NOT NULL DEFAULT 0 CHECK (delay_ms >= 0), -- between request starts; 0 = as configured
    delay_reason TEXT,
    blocks       INTEGER NOT NULL DEFAULT 0 CHECK (blocks >= 0),   -- blocks in a row; each doubles the penalty
    held_until   TEXT,                               -- no request is sent before
    held_for     TEXT,                               -- why, for example "Retry-After"
    updated_at   TEXT NOT NULL,
    held_ms      INTEGER CHECK (held_ms > 0),        -- intended length of the last hold, so that a clock set back can't make it longer
    floor_ms     INTEGER CHECK (floor_ms > 0),       -- smallest delay allowed, as of floor_at: one and a half times the gap at which HTTP 429 came; NULL = none
    floor_at     TEXT,                               -- the last HTTP 429 without Retry-After: each hour since lowers the floor to two thirds
    PRIMARY KEY (source_id, host),
    CHECK ((held_until IS NULL) = (held_for IS NULL)),
    CHECK (floor_ms IS NULL OR floor_at IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- The delay that the operator or robots.txt required when the host was last crawled.
CREATE TABLE host_paces (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    host      TEXT NOT NULL,                         -- as in hosts
    delay_ms  INTEGER NOT NULL CHECK (delay_ms >= 0), -- between request starts
    reason    TEXT NOT NULL,                         -- for example "Crawl-delay"
    PRIMARY KEY (source_id, host)
) STRICT, WITHOUT ROWID;

-- When the next request to a host may start, from any process and for any source. Kept
-- if the configured delay is 200 ms or more, or if the host was found to need a delay; then every request updates it.
CREATE TABLE host_turns (
    host    TEXT PRIMARY KEY,                        -- as in hosts
    next_at TEXT NOT NULL,                           -- no request starts before this time
    gap_ms  INTEGER NOT NULL CHECK (gap_ms > 0)      -- how far ahead that was when written; if it is further ahead now, the clock was set back
) STRICT, WITHOUT ROWID;

-- How many listings of a category usually have a field. The layout alarm compares the
-- latest pages with it. Older pages count less.
CREATE TABLE field_shares (
    source_id   INTEGER NOT NULL REFERENCES sources (id),
    category_id INTEGER NOT NULL REFERENCES categories (id),
    field       TEXT NOT NULL,
    listings    REAL NOT NULL CHECK (listings >= 0),
    having_it   REAL NOT NULL CHECK (having_it BETWEEN 0 AND listings), -- listings with the field
    PRIMARY KEY (source_id, category_id, field)
) STRICT, WITHOUT ROWID;

-- Proxies that the operator added. url may contain a password and is never shown; name
-- is the same without the password.
CREATE TABLE proxies (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT, -- used in commands; never reused
    url                  TEXT NOT NULL UNIQUE,
    name                 TEXT NOT NULL,
    enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    successes            INTEGER NOT NULL DEFAULT 0 CHECK (successes >= 0),
    failures             INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    failing_since        TEXT, -- first of the current failures in a row; NULL = none, or not known
    last_used_at         TEXT,
    last_error           TEXT,
    cooldown_until       TEXT,
    created_at           TEXT NOT NULL
) STRICT;

-- Counters kept in the same transaction as what they count, so that `progress` costs the
-- same for a thousand targets and for a million. The triggers below keep them, except for new
-- listings and companies: whoever adds those counts them, once a page.
CREATE TABLE target_totals (
    source_id INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    state     TEXT NOT NULL,
    status    TEXT NOT NULL,                         -- RETIRED if its city has left the source's index
    targets   INTEGER NOT NULL DEFAULT 0,
    pages     INTEGER NOT NULL DEFAULT 0,
    raw       INTEGER NOT NULL DEFAULT 0,
    accepted  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, kind, state, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE listing_totals (
    source_id INTEGER NOT NULL,
    state     TEXT NOT NULL,                         -- found_state
    listings  INTEGER NOT NULL DEFAULT 0,
    dropped   INTEGER NOT NULL DEFAULT 0,            -- listings among them that were dropped
    emails    INTEGER NOT NULL DEFAULT 0,            -- listings that have an e-mail address and were not dropped
    PRIMARY KEY (source_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE company_totals (
    state     TEXT PRIMARY KEY,                      -- '' when the lead listing has no state
    companies INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TRIGGER targets_added AFTER INSERT ON targets BEGIN
    INSERT INTO target_totals VALUES (new.source_id, new.kind, new.state, iif(new.retired_at IS NULL, new.status, 'RETIRED'), 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_removed AFTER DELETE ON targets BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND kind = old.kind AND state = old.state AND status = iif(old.retired_at IS NULL, old.status, 'RETIRED');
END;
CREATE TRIGGER targets_moved AFTER UPDATE OF status, retired_at ON targets
WHEN old.status <> new.status OR (old.retired_at IS NULL) <> (new.retired_at IS NULL) BEGIN
    UPDATE target_totals SET targets = targets - 1, pages = pages - old.page_current,
        raw = raw - old.raw_count, accepted = accepted - old.accepted_count
    WHERE source_id = old.source_id AND kind = old.kind AND state = old.state AND status = iif(old.retired_at IS NULL, old.status, 'RETIRED');
    INSERT INTO target_totals VALUES (new.source_id, new.kind, new.state, iif(new.retired_at IS NULL, new.status, 'RETIRED'), 1, new.page_current, new.raw_count, new.accepted_count)
    ON CONFLICT DO UPDATE SET targets = targets + 1, pages = pages + excluded.pages,
        raw = raw + excluded.raw, accepted = accepted + excluded.accepted;
END;
CREATE TRIGGER targets_grew AFTER UPDATE OF page_current, raw_count, accepted_count ON targets
WHEN old.status = new.status AND (old.retired_at IS NULL) = (new.retired_at IS NULL) BEGIN
    UPDATE target_totals SET pages = pages + new.page_current - old.page_current,
        raw = raw + new.raw_count - old.raw_count, accepted = accepted + new.accepted_count - old.accepted_count
    WHERE source_id = new.source_id AND kind = new.kind AND state = new.state AND status = iif(new.retired_at IS NULL, new.status, 'RETIRED');
END;
CREATE TRIGGER listings_removed AFTER DELETE ON listings BEGIN
    UPDATE listing_totals SET listings = listings - 1, dropped = dropped - (old.dropped_at IS NOT NULL),
        emails = emails - (old.dropped_at IS NULL AND old.email IS NOT NULL)
    WHERE source_id = old.source_id AND state = old.found_state;
END;
CREATE TRIGGER listings_email AFTER UPDATE OF email ON listings WHEN (old.email IS NULL) <> (new.email IS NULL) AND new.dropped_at IS NULL BEGIN
    UPDATE listing_totals SET emails = emails + iif(new.email IS NULL, -1, 1) WHERE source_id = new.source_id AND state = new.found_state;
END;
CREATE TRIGGER companies_removed AFTER DELETE ON companies BEGIN
    UPDATE company_totals SET companies = companies - 1 WHERE state = ifnull(old.state, '');
END;
CREATE TRIGGER companies_moved AFTER UPDATE OF state ON companies WHEN ifnull(old.state, '') <> ifnull(new.state, '') BEGIN
    UPDATE company_totals SET companies = companies - 1 WHERE state = ifnull(old.state, '');
    INSERT INTO company_totals VALUES (ifnull(new.state, ''), 1)
    ON CONFLICT DO UPDATE SET companies = companies + 1;
END;

-- The page of a listing that was dropped is not asked for, until it is back.
CREATE TRIGGER listings_dropped AFTER UPDATE OF dropped_at ON listings WHEN (old.dropped_at IS NULL) <> (new.dropped_at IS NULL) BEGIN
    UPDATE targets SET retired_at = new.dropped_at WHERE listing = new.id;
    UPDATE listing_totals SET dropped = dropped + iif(new.dropped_at IS NULL, -1, 1),
        emails = emails + iif(new.dropped_at IS NULL, 1, -1) * (new.email IS NOT NULL)
    WHERE source_id = new.source_id AND state = new.found_state;
END;

-- What runs did is counted on when they are forgotten: a sum over all runs never falls.
CREATE TRIGGER runs_removed AFTER DELETE ON runs BEGIN
    INSERT INTO meta (key, value) VALUES ('forgotten:pages', old.pages), ('forgotten:requests', old.requests), ('forgotten:targets', old.targets),
        ('forgotten:listings_new', old.listings_new), ('forgotten:listings_changed', old.listings_changed)
    ON CONFLICT DO UPDATE SET value = value + excluded.value;
END;

-- The rules that no statement may break.

-- Whoever asks: a target that waits is not claimed.
CREATE TRIGGER targets_wait BEFORE UPDATE OF status ON targets
WHEN new.status = 'IN_PROGRESS' AND old.status <> 'IN_PROGRESS' AND old.not_before IS NOT NULL
BEGIN
    SELECT raise(ABORT, 'a target that waits is not claimed');
END;

-- Never a trap: an operator who enables a target means it to be crawled, so all that was
-- set automatically goes with the same statement. A dead letter for a permanent cause
-- stays one: `reset` is for those.
CREATE TRIGGER targets_enabled AFTER UPDATE OF enabled ON targets
WHEN new.enabled = 1
BEGIN
    UPDATE targets SET consecutive_failures = 0, backoff_level = 0,
        not_before = iif(wait_reason = 'backoff', NULL, not_before), wait_reason = iif(wait_reason = 'backoff', NULL, wait_reason),
        finished_at = iif(status = 'FAILED' OR status = 'PARKED' AND backoff_level > 0, NULL, finished_at),
        status = iif(status = 'FAILED' OR status = 'PARKED' AND backoff_level > 0, 'PLANNED', status)
    WHERE id = new.id;
END;
CREATE TRIGGER sources_enabled AFTER UPDATE OF enabled ON sources
WHEN new.enabled = 1
BEGIN
    UPDATE sources SET auto_disabled = 0, paused_until = NULL, paused_code = NULL, paused_reason = NULL,
        consecutive_failures = 0, layout_strikes = 0 WHERE id = new.id;
    UPDATE connectivity_profiles SET status = 'degraded', failing_since = NULL, quarantine_until = NULL, probe_until = NULL,
        cooldown_minutes = 30 WHERE source_id = new.id AND status IN ('failing', 'quarantined');
    -- A penalty and a delay are ours and go; what the host itself asked for (Retry-After) stays.
    UPDATE hosts SET blocks = 0, delay_ms = 0, delay_reason = NULL, floor_ms = NULL, floor_at = NULL,
        held_until = iif(held_for = 'penalty', NULL, held_until), held_for = iif(held_for = 'penalty', NULL, held_for)
    WHERE source_id = new.id;
END;

-- The views are for people too, with sqlite3 or Datasette: they need SQLite 3.38 or later.

-- Every listing, with its source and the search that first showed it.
--   listing          the listing's name in commands: source/listing_id
--   status           open, or dropped = closed: its source no longer shows it
--   name             name of the business
CREATE VIEW v_listings AS
SELECT l.id, s.name || '/' || l.listing_id AS listing, s.name AS source, l.listing_id, l.name, l.phone, l.phone_e164, l.email,
       l.street, l.city, l.state, l.postal_code, l.country, l.address, l.service_area, l.website, l.domain,
       ifnull(l.categories ->> 0, k.name) AS category,   -- the first of categories, or the one searched for
       l.categories, l.rating, l.review_count, l.years_in_business, l.price_range, l.snippet,
       l.hours, m.payment, m.social, m.services, m.languages, m.neighborhoods, m.aka, l.founded, m.about,
       l.claimed, l.sponsored, l.profile_url, l.image_url, l.company_id, c.name AS searched_city, l.found_state AS searched_state,
       k.name AS searched_category, l.lat, l.lon, iif(l.dropped_at IS NULL, 'open', 'dropped') AS status, l.first_seen_at, l.last_seen_at, l.dropped_at, l.own_page_at AS details_read_at
FROM listings l JOIN sources s ON s.id = l.source_id LEFT JOIN listing_texts m ON m.listing = l.id
LEFT JOIN targets x ON x.id = (SELECT min(g.target_id) FROM sightings g WHERE g.listing = l.id)
LEFT JOIN cities c ON c.id = x.city_id LEFT JOIN categories k ON k.id = x.category_id;

-- What is known about listings whose own page was read, from whichever page. It exists for older queries: all fields are in
-- listings and listing_texts now.
CREATE VIEW details AS
SELECT l.id AS listing, l.own_page_at AS fetched_at, l.email, l.phone, l.phone_e164, l.website_url, l.website, l.domain, l.hours, l.lat, l.lon,
       m.payment, m.social, m.services, m.languages, m.neighborhoods, m.aka, l.founded, l.years_in_business, m.about
FROM listings l LEFT JOIN listing_texts m ON m.listing = l.id WHERE l.own_page_at IS NOT NULL;

-- Listings that break a rule of their source, as they were seen. They are not in listings.
--   listing          the listing's name in commands: source/listing_id
--   name             name of the business
CREATE VIEW v_rejected AS
SELECT s.name || '/' || g.listing_id AS listing, s.name AS source, g.listing_id, g.listing ->> 'name' AS name, g.listing ->> 'phone' AS phone, g.listing ->> 'city' AS city,
       ifnull(g.listing ->> 'state', t.state) AS state, g.reasons, g.first_seen_at, g.last_seen_at
FROM staged_listings g JOIN sources s ON s.id = g.source_id JOIN targets t ON t.id = g.target_id;

-- The last file delivered to each name.
CREATE VIEW v_deliveries AS
SELECT d.id, d.name, d.at, d.file, d.rows,
       (SELECT count(*) FROM delivered v WHERE v.name = d.name AND v.state = 'open') AS listings, -- listings that the name has now, without those that were dropped or left
       (SELECT group_concat('--' || key || ' ' || value, ' ') FROM json_each(d.filters)) AS filters
FROM deliveries d WHERE d.id IN (SELECT max(id) FROM deliveries GROUP BY name);

-- Listings' own pages by source and state. fetched counts those that were read at least once, even if they failed later;
-- the columns with_... count the values known among those.
CREATE VIEW v_detail_progress AS
SELECT s.name AS source, t.state, count(*) AS wanted, sum(t.status = 'PLANNED') AS planned, sum(t.status = 'IN_PROGRESS') AS in_progress, sum(t.status = 'DONE') AS done,
       sum(t.status = 'FAILED') AS failed, sum(t.status = 'STUCK') AS stuck, sum(t.status = 'PARKED') AS parked, count(l.id) AS fetched,
       count(l.email) AS with_email, count(l.phone) AS with_phone, count(l.website) AS with_website, count(l.hours) AS with_hours, count(l.lat) AS with_geo, count(m.social) AS with_social
FROM targets t JOIN sources s ON s.id = t.source_id LEFT JOIN listings l ON l.id = t.listing AND l.own_page_at IS NOT NULL
LEFT JOIN listing_texts m ON m.listing = l.id
WHERE t.kind = 'detail' GROUP BY t.source_id, t.state;

-- The indexes of cities: what each source's index of a state contains; '' = one index for all states. Cities are matched to the built-in list by slug, by name, or not at all.
CREATE VIEW v_indexes AS
SELECT s.name AS source, t.state, ifnull(sum(n.cities), 0) AS cities,
       t.accepted_count AS new,                -- cities that are new or back since the last crawl of the index began
       ifnull(sum(n.removed), 0) AS removed, ifnull(sum(n.by_slug), 0) AS by_slug, ifnull(sum(n.by_name), 0) AS by_name, ifnull(sum(n.unmatched), 0) AS unmatched,
       (SELECT ifnull(sum(o.targets), 0) FROM target_totals o WHERE o.kind = 'search' AND o.source_id = t.source_id AND t.state IN (o.state, '') AND o.status <> 'RETIRED') AS targets,
       (SELECT ifnull(sum(o.targets), 0) FROM target_totals o WHERE o.kind = 'search' AND o.source_id = t.source_id AND t.state IN (o.state, '') AND o.status = 'RETIRED') AS retired,
       t.status, t.max_pages AS pages, t.page_current AS page, t.crawl_started_at AS started_at, t.finished_at, t.complete_at, t.last_error_code AS error, t.last_error AS message
FROM targets t JOIN sources s ON s.id = t.source_id
LEFT JOIN (
    SELECT x.source_id, c.state, sum(x.removed_at IS NULL) AS cities, sum(x.removed_at IS NOT NULL) AS removed,
           sum(x.removed_at IS NULL AND x.matched = 'slug') AS by_slug, sum(x.removed_at IS NULL AND x.matched = 'name') AS by_name,
           sum(x.removed_at IS NULL AND x.matched = 'none') AS unmatched
    FROM source_cities x JOIN cities c ON c.id = x.city_id GROUP BY x.source_id, c.state) n ON n.source_id = t.source_id AND t.state IN (n.state, '')
WHERE t.kind = 'index' GROUP BY t.id;

-- Every company with its number of listings. E-mail and hours come from its first listing
-- that has them.
--   name             name of the business
--   listings         how many listings it has
--   email            e-mail address of its first listing that has one
CREATE VIEW v_companies AS
SELECT c.id, c.name, c.website, c.domain, c.phone_e164, c.street, c.city, c.state, c.postal_code, c.country,
       (SELECT l.email FROM listings l WHERE l.company_id = c.id AND l.email IS NOT NULL ORDER BY l.dropped_at IS NOT NULL, l.id LIMIT 1) AS email,
       (SELECT l.hours FROM listings l WHERE l.company_id = c.id AND l.hours IS NOT NULL ORDER BY l.dropped_at IS NOT NULL, l.id LIMIT 1) AS hours,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id) AS listings,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id AND l.dropped_at IS NULL) AS alive, c.first_seen_at
FROM companies c;

-- The history of listings: one row for each listing and each thing that happened to it.
CREATE VIEW promotion_log AS
SELECT e.id << 12 | ifnull(l.id - e.listing, 0) AS id, e.at,
       CASE e.kind WHEN 'new' THEN 'promoted_create' WHEN 'changed' THEN 'promoted_update' WHEN 'completed' THEN 'promoted_update' ELSE e.kind END AS action,
       e.source_id, ifnull(e.listing_id, l.listing_id) AS listing_id, iif(e.kind = 'new', l.company_id, e.company_id) AS company_id, e.run_id,
       CASE e.kind WHEN 'new' THEN iif(e.what ->> ('$."' || (l.id - e.listing) || '"') IS NULL, NULL, json_object('key', e.what ->> ('$."' || (l.id - e.listing) || '"')))
           WHEN 'changed' THEN json_patch(json_object('fields', json((SELECT json_group_array(x.value ->> 'field') FROM json_each(e.what, '$.changes') x))),
               json_object('completed', e.what -> 'completed'))
           ELSE e.what END AS what
FROM listing_events e LEFT JOIN listings l ON l.id BETWEEN e.listing AND e.listing + e.listings - 1;

-- Each field whose value changed at the source; NULL = no value.
--   new              the new value
CREATE VIEW listing_changes AS
SELECT e.id << 12 | x.key AS id, e.listing, x.value ->> 'field' AS field, x.value ->> 'old' AS old, x.value ->> 'new' AS new, e.run_id, e.at, e.reparsed
FROM listing_events e CROSS JOIN json_each(e.what, '$.changes') x WHERE e.kind = 'changed';

-- What happened to listings, one row for each listing and each change. A value that only became known because other markup
-- shows more is not a change.
--   kind             what happened: new, changed, dropped (closed), restored or rejected
--   name             name of the business
CREATE VIEW v_changes AS
SELECT e.at, e.kind, s.name || '/' || ifnull(e.listing_id, l.listing_id) AS listing, coalesce(g.listing ->> 'name', l.name, r.name) AS name,
       iif(g.listing IS NULL, ifnull(l.city, r.city), g.listing ->> 'city') AS city,   -- the listing's own place
       iif(g.listing IS NULL, ifnull(l.state, r.state), g.listing ->> 'state') AS state,
       nullif(substr(ifnull('; ' || (SELECT group_concat(x.value ->> 'field' || ': ' || ifnull(x.value ->> 'old', '–') || ' → ' || ifnull(x.value ->> 'new', '–'), '; ') FROM json_each(e.what, '$.changes') x), '')
           || ifnull('; ' || (SELECT group_concat(x.value, '; ') FROM json_each(e.what, '$.reasons') x), '') || iif(e.reparsed = 1, '; a kept page was read again', ''), 3), '') AS what,
       s.name AS source, ifnull(e.listing_id, l.listing_id) AS listing_id,
       l.company_id,                           -- the listing's company now; NULL = rejected
       e.run_id AS run,                        -- NULL = rebuilt from logs, or reparsed
       ifnull(e.what -> 'changes', '[]') AS changes, ifnull(e.what -> 'reasons', '[]') AS reasons, -- why it was rejected, or dropped: city_left_index
       e.reparsed,                             -- 1 = a kept page was read again, so this is no news from the source
       coalesce(g.listing ->> 'state', l.state, r.state, l.found_state, r.found_state, (SELECT x.state FROM targets x WHERE x.id = g.target_id)) AS found_state, -- its own state, or the one it was searched in
       e.id AS event
FROM listing_events e CROSS JOIN sources s ON s.id = e.source_id
LEFT JOIN listings l ON l.id BETWEEN e.listing AND e.listing + e.listings - 1
LEFT JOIN staged_listings g ON e.kind = 'rejected' AND g.source_id = e.source_id AND g.listing_id = e.listing_id
LEFT JOIN listings r ON e.kind = 'rejected' AND r.source_id = e.source_id AND r.listing_id = e.listing_id
WHERE e.kind <> 'completed';

-- How many listings the site says it has, and how many the last crawl of each target
-- saw. pages_left are pages beyond --max-pages, estimated from the site's numbers.
CREATE VIEW v_coverage AS
SELECT t.id, (SELECT name FROM sources WHERE id = t.source_id) AS source, (SELECT name FROM cities WHERE id = t.city_id) AS city, t.state,
       (SELECT name FROM categories WHERE id = t.category_id) AS category, t.status, t.site_total, t.seen,
       CASE WHEN t.site_total > 0 THEN iif(t.seen >= t.site_total, 100.0, min(99.9, round(100.0 * t.seen / t.site_total, 1))) END AS percent,
       t.page_current AS pages, t.max_pages, t.pages_left,
       t.crawled,                              -- 1 = a page of it was read; 0 = none yet, or none by the crawl in progress
       t.complete_at, t.finished_at,
       t.ending,                               -- how the last crawl ended: total, said, pagination, short_page and next_none mean that the site confirmed the end
       t.end_text                              -- why, if the site did not confirm the end
FROM targets_and_coverage t;

-- The searches, and what the last crawl of each saw.
CREATE VIEW targets_and_coverage AS
SELECT t.*, ifnull(t.seen_ids, t.raw_count) AS seen, -- cards that could not be read don't count
       t.page_current > 0 OR t.status = 'DONE' AS crawled,
       t.last_success_at IS NOT NULL OR t.complete_at IS NOT NULL AS crawled_before, -- 1 = at least one crawl of it succeeded
       CASE WHEN t.next_page_url IS NULL OR t.page_current = 0 OR t.status <> 'DONE' AND (t.site_total IS NULL OR t.max_pages = 0) THEN 0
            WHEN t.site_total IS NULL THEN 1
            ELSE max(t.status = 'DONE', cast(ceil((t.site_total - t.raw_count - t.bad_count) * 1.0 * t.page_current / max(1, t.raw_count + t.bad_count)) AS INTEGER)
                 - iif(t.status = 'DONE', 0, t.max_pages - t.page_current)) END AS pages_left,
       -- Why the current crawl has not come to an end that the site confirmed; NULL = it has.
       -- Nor has a list an end of which the site says that nothing is there, unless the target has shown listings before.
       CASE WHEN t.status = 'DONE' THEN CASE WHEN t.complete_at = t.finished_at THEN NULL
                WHEN t.last_error_code = 'NO_LISTINGS' AND NOT EXISTS (SELECT 1 FROM sightings g WHERE g.target_id = t.id) THEN NULL
                WHEN t.next_page_url IS NOT NULL THEN 'max_pages' ELSE 'unconfirmed' END
            WHEN t.status IN ('FAILED', 'PARKED', 'STUCK') OR t.status = 'PLANNED' AND t.wait_reason IS NOT NULL THEN 'failed'
            WHEN t.page_current > 0 THEN 'begun' WHEN t.last_success_at IS NOT NULL OR t.complete_at IS NOT NULL THEN 'again' ELSE 'never' END AS unread
FROM targets t WHERE t.kind = 'search' AND t.retired_at IS NULL;

-- Progress by source, kind and state.
CREATE VIEW v_state_progress AS
SELECT s.name AS source, t.kind, t.state, sum(iif(t.status = 'RETIRED', 0, t.targets)) AS targets,
       sum(iif(t.status = 'PLANNED', t.targets, 0)) AS planned, sum(iif(t.status = 'IN_PROGRESS', t.targets, 0)) AS in_progress,
       sum(iif(t.status = 'DONE', t.targets, 0)) AS done, sum(iif(t.status = 'FAILED', t.targets, 0)) AS failed,
       sum(iif(t.status = 'STUCK', t.targets, 0)) AS stuck, sum(iif(t.status = 'PARKED', t.targets, 0)) AS parked,
       sum(iif(t.status = 'RETIRED', t.targets, 0)) AS retired, sum(t.pages) AS pages, sum(t.accepted) AS accepted
FROM target_totals t JOIN sources s ON s.id = t.source_id GROUP BY s.name, t.kind, t.state;

-- Targets that may be claimed now: enabled, not paused, not waiting, and from a source that is
-- open. (A claim finds the same targets through an index, after planning what became due; a test checks that
-- the two agree.) If a waiting time is further ahead than its reason allows, the clock was
-- set back, and the time counts as over.
CREATE VIEW targets_available AS
SELECT t.* FROM targets_and_waits t CROSS JOIN v_source_availability o ON o.source_id = t.source_id
WHERE o.open = 1 AND t.enabled = 1 AND t.paused = 0 AND t.retired_at IS NULL
    AND (t.status IN ('PLANNED', 'FAILED') OR t.status = 'DONE' AND t.not_before IS NOT NULL) AND t.waits = 0;

-- The targets, and whether each is waiting. CASE stops at the first match. With OR and AND, SQLite would evaluate both sides, and
-- computing a time for each of a million targets takes a second.
CREATE VIEW targets_and_waits AS
SELECT t.*, CASE WHEN t.not_before > n.now THEN CASE WHEN t.wait_reason = 'gap' THEN t.not_before <= n.gap WHEN t.wait_reason = 'backoff' THEN t.not_before <= n.far
        WHEN t.not_before <= n.week THEN 1 ELSE t.not_before <= strftime('%Y-%m-%dT%H:%M:%fZ', n.now, '+' || (t.crawl_frequency_minutes + 1440) || ' minutes') END ELSE 0 END AS waits
FROM targets t CROSS JOIN (
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+2 minutes') AS gap,
           strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+33 hours') AS far, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+192 hours') AS week) n;

-- Why a source may not be requested now, and until when: one row for each reason, including those that
-- are over. A source is open when no reason is in force. Claims, runs and commands rely on this
-- view alone. "9999" = until an operator, or a probe, ends it.
--   state            disabled, paused, quarantined or held
CREATE VIEW v_source_closures AS
SELECT id AS source_id, 1 AS rank, 'disabled' AS state, '9999' AS until, NULL AS ends, NULL AS code, 'disabled by an operator' AS reason
FROM sources WHERE enabled = 0
UNION ALL
SELECT id, 2, 'paused', iif(auto_disabled = 1, '9999', paused_until), iif(auto_disabled = 1, NULL, paused_until), paused_code, paused_reason
FROM sources WHERE auto_disabled = 1 OR paused_until IS NOT NULL
UNION ALL
SELECT source_id, 3, 'quarantined', '9999', quarantine_until, NULL, error_class
FROM connectivity_profiles WHERE status = 'quarantined'
UNION ALL
SELECT source_id, 4, 'held', until, until, NULL, held_for
FROM (SELECT h.source_id, max(h.held_until) AS until, h.held_for FROM hosts h WHERE h.held_until IS NOT NULL GROUP BY h.source_id);

-- The same for people: one row for each source, with the reason in force.
--   state            open, disabled, paused, quarantined or held
CREATE VIEW v_source_availability AS
SELECT s.id AS source_id, s.name AS source, ifnull(c.state, 'open') AS state, c.state IS NULL AS open, c.ends AS until, c.code, c.reason, min(c.rank) AS rank
FROM sources s LEFT JOIN v_source_closures c ON c.source_id = s.id AND c.until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
GROUP BY s.id; -- of the row with the least rank

-- Every target with its health and its place in the schedule:
-- NOT_SCHEDULED done and not to be crawled again, or retired because its city left the index
-- FAILED       given up (`reset` plans it again)
-- PAUSED       paused by an operator, or its source is disabled, paused or quarantined
-- DEGRADED     resting after three or more failures; continues by itself
-- NEEDS_PLAN   stuck; `reset --status STUCK` plans it again
-- DUE          may be crawled now, or is being crawled
-- SCHEDULED    waiting for its time, or its source is held
--   auto_disabled    1 = parked because it failed too often
--   listings         accepted by the current crawl
CREATE VIEW v_crawler_status AS
SELECT t.id, t.kind, o.source, c.name AS city, t.state, k.name AS category, t.listing, t.status,
       CASE WHEN t.paused = 1 THEN 'paused' WHEN t.status = 'PARKED' THEN 'failed' WHEN t.backoff_level > 0 THEN 'degraded' ELSE 'active' END AS crawl_status,
       t.enabled, t.status = 'PARKED' AND t.backoff_level > 0 AS auto_disabled,
       CASE WHEN t.retired_at IS NOT NULL THEN 'NOT_SCHEDULED' WHEN t.status = 'PARKED' THEN 'FAILED'
            WHEN t.enabled = 0 OR t.paused = 1 OR o.state IN ('disabled', 'paused', 'quarantined') THEN 'PAUSED'
            WHEN t.status = 'STUCK' THEN 'NEEDS_PLAN'
            WHEN t.status = 'FAILED' AND t.waits THEN 'DEGRADED'
            WHEN t.status = 'DONE' AND t.not_before IS NULL THEN 'NOT_SCHEDULED'
            WHEN t.waits OR t.status <> 'IN_PROGRESS' AND o.state = 'held' THEN 'SCHEDULED'
            ELSE 'DUE' END AS schedule_status,
       t.not_before, t.wait_reason, t.backoff_level, iif(t.wait_reason = 'backoff', t.not_before, NULL) AS backoff_until,
       t.consecutive_failures, t.crawl_frequency_minutes, iif(t.wait_reason IN ('recrawl', 'gap'), t.not_before, NULL) AS next_crawl_at, t.last_success_at,
       t.total_attempts, t.total_successes, round(100.0 * t.total_successes / nullif(t.total_attempts, 0), 1) AS success_rate,
       t.page_current, t.accepted_count AS listings, t.max_retries, t.last_error_code, t.last_error,
       (SELECT x.finished_at FROM crawl_attempts x WHERE x.target_id = t.id AND x.ended IN ('failed', 'parked') ORDER BY x.claim_token DESC LIMIT 1) AS last_failure_at,
       (SELECT x.proxy FROM crawl_attempts x WHERE x.target_id = t.id ORDER BY x.claim_token DESC LIMIT 1) AS last_proxy,
       (SELECT x.identity FROM crawl_attempts x WHERE x.target_id = t.id ORDER BY x.claim_token DESC LIMIT 1) AS last_identity,
       t.claimed_by, t.heartbeat_at, t.crawl_started_at, t.finished_at, t.retired_at,
       iif(t.kind = 'search', c.slug || '/' || k.slug, NULL) AS slug, -- as commands take a search: city/category
       t.priority, t.population, t.max_pages, t.next_page_url, t.site_total, t.raw_count, t.bad_count, t.recoveries, t.created_at
FROM targets_and_waits t CROSS JOIN v_source_availability o ON o.source_id = t.source_id
LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id;

-- The targets as lists show them.
--   failures         failures in a row
CREATE VIEW v_targets AS
SELECT v.id,
       iif(v.kind = 'index', 'Index of ' || iif(v.state = '', 'all states', v.state),
           coalesce((SELECT name FROM listings WHERE id = v.listing), v.category, '') || ' in ' || ifnull(v.city || iif(v.state = '', '', ', '), '') || v.state) AS target,
       v.source, v.kind, v.state, v.city, v.category, v.status,
       v.schedule_status AS schedule,          -- as in v_crawler_status
       iif(v.enabled = 1, v.crawl_status, 'disabled') AS health,
       v.wait_reason AS wait,                  -- backoff, recrawl or gap
       v.not_before AS next_at,                -- when the target's own wait ends
       v.page_current AS page,                 -- the last page committed
       v.listings,                             -- accepted by the current crawl
       v.consecutive_failures AS failures, v.backoff_level,
       iif(v.status = 'DONE' AND v.last_error_code = 'NO_LISTINGS', NULL, v.last_error_code) AS error, v.last_error AS message,
       ifnull(v.last_error_code, iif(v.status = 'DONE', 'SUCCESS', NULL)) AS code, -- how the last attempt ended; NO_LISTINGS with DONE means that the site has nothing here, which is no error
       v.enabled, v.auto_disabled,             -- parked because it failed too often
       60 * v.crawl_frequency_minutes AS again_after_seconds, -- 0 = once only
       v.total_attempts, v.total_successes, v.success_rate AS success_percent,
       (SELECT count(*) FROM crawl_attempts x WHERE x.target_id = v.id) AS attempts_kept, -- attempts still on record
       v.last_success_at, v.claimed_by, v.heartbeat_at, v.crawl_started_at AS started_at, v.finished_at, v.retired_at,
       v.slug,                                 -- as commands take a search: city/category
       v.site_total, v.raw_count AS raw,       -- listings on the pages of the current crawl; for an index, cities
       v.bad_count AS bad,                     -- cards that the current crawl could not read
       v.max_pages, v.max_retries, v.next_page_url, v.recoveries, v.priority, v.population, v.created_at
FROM v_crawler_status v;

-- The attempts at targets.
--   listings         listings accepted
--   claim_token      claim token of the attempt
CREATE VIEW v_attempts AS
SELECT a.id, a.target_id,
       iif(t.kind = 'index', 'Index of ' || iif(t.state = '', 'all states', t.state), coalesce((SELECT name FROM listings WHERE id = t.listing), k.name, '') || ' in ' || ifnull(c.name || iif(t.state = '', '', ', '), '') || t.state) AS target,
       s.name AS source, t.kind, t.state, a.run_id AS run, w.name || ' (' || w.pid || ')' AS worker, a.worker_id, a.attempt_number AS attempt, a.started_at, a.finished_at, a.duration_ms,
       a.ended,                                -- running, done, failed, parked, released or recovered
       a.error_code AS error, a.error_message AS message, a.http_status, a.page_before, a.pages, a.listings, a.upserted, a.changed,
       a.bytes, a.backoff_delay_ms, a.proxy, a.identity, a.user_agent, a.claim_token
FROM crawl_attempts a JOIN targets t ON t.id = a.target_id JOIN sources s ON s.id = t.source_id
LEFT JOIN workers w ON w.run_id = a.run_id AND w.worker_id = a.worker_id
LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id;

-- What attempts did, step by step, in words: the start (rank 0), what a request waited for (1), the request (2) and its response (3),
-- notes of the attempt (4), what is no longer known (5), the end (6).
CREATE VIEW v_steps AS
SELECT a.target_id, a.claim_token, a.attempt_number AS attempt,
       a.started_at AS time,                   -- when it happened; NULL = it has not happened yet
       0 AS page,                              -- page that the step is about
       0 AS rank,                              -- order among steps with the same time and page
       'attempt ' || a.attempt_number || ' begins, ' || substr(a.started_at, 1, 10) || ', by ' || ifnull(w.name || ' (' || w.pid || ')', a.worker_id) || ' on ' || r.host
           || ', from page ' || (a.page_before + 1) || ifnull(', as ' || a.identity || ': ' || a.user_agent, '') AS what -- for people
FROM crawl_attempts a JOIN runs r ON r.id = a.run_id LEFT JOIN workers w ON w.run_id = a.run_id AND w.worker_id = a.worker_id
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, q.started_at, ifnull(q.page, 0), 1,
       'waited ' || iif(q.waited_ms < 1000, q.waited_ms || ' ms', printf('%.1f s', q.waited_ms / 1000.0)) || ifnull(': ' || q.wait_reason, '')
FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token WHERE q.waited_ms > 0
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, q.started_at, ifnull(q.page, 0), 2,
       iif(q.error_class IS 'rate_limited', 'not sent yet: ' || ifnull(q.wait_reason, 'the host''s turn has not come'),
           'sent ' || iif(q.url GLOB '* *', '', 'GET ') || q.url || iif(q.retry_seq > 0, ' again (' || q.retry_seq || ')', '') || iif(q.type <> 'listing', ' (' || q.type || ')', '')
               || ifnull(' via ' || q.proxy, '') || iif(q.via <> 'none', ifnull(' as ' || q.identity, ''), ''))
FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, q.finished_at, ifnull(q.page, 0), 3,
       iif(q.http_status IS NULL, 'no response', 'status ' || q.http_status) || ' after ' || iif(q.latency_ms < 1000, q.latency_ms || ' ms', printf('%.1f s', q.latency_ms / 1000.0))
           || CASE WHEN q.proxy_failed = 1 THEN ': the proxy failed, ' || ifnull(q.error_class, '') WHEN q.error_class IS NOT NULL THEN ': ' || q.error_class
               ELSE ifnull(': ' || q.result_count || CASE WHEN q.type = 'state_index' THEN iif(q.result_count = 1, ' city', ' cities') ELSE iif(q.result_count = 1, ' listing', ' listings') END, '') END
FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token WHERE q.error_class IS NOT 'rate_limited'
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, iif(s.value ->> 'at' GLOB '[0-9][0-9][0-9][0-9]-*', s.value ->> 'at', a.started_at), ifnull(s.value ->> 'page', 0), 4,
       iif(s.value ->> 'page' > 0, 'page ' || (s.value ->> 'page') || ' ', '') || ifnull(s.value ->> 'event', '') || ifnull(': ' || nullif(s.value ->> 'detail', ''), '')
FROM crawl_attempts a CROSS JOIN json_each(a.metadata, '$.steps') s WHERE s.type = 'object' AND s.value ->> 'event' NOT IN ('claimed', 'ended')
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, a.finished_at, 1 << 30, 5,
       iif(a.metadata ->> 'dropped' = 1, '1 step', (a.metadata ->> 'dropped') || ' steps') || ' more were not kept'
FROM crawl_attempts a WHERE a.metadata ->> 'dropped' > 0
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, a.finished_at, 1 << 30, 5, 'its steps are not known: the process ended before it could write them'
FROM crawl_attempts a WHERE a.ended <> 'running' AND json_type(a.metadata, '$.steps') IS NOT 'array'
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, a.finished_at, 1 << 30, 5,
       'no requests are kept of it: none was made, they were deleted as too old, or the process was killed first'
FROM crawl_attempts a WHERE NOT EXISTS (SELECT 1 FROM requests q WHERE q.target_id = a.target_id AND q.claim_token = a.claim_token)
UNION ALL
SELECT a.target_id, a.claim_token, a.attempt_number, a.finished_at, 1 << 30, 6,
       CASE WHEN a.ended = 'running' THEN 'still under way, or its process was killed and is not recovered yet' WHEN a.ended = 'recovered' THEN 'recovered: its process had ended'
           WHEN a.ended = 'done' AND a.error_code = 'NO_LISTINGS' THEN 'done (the site has no listings here)' WHEN a.error_code <> 'SUCCESS' THEN a.ended || ' ' || a.error_code ELSE a.ended END
           || CASE WHEN a.duration_ms < 1000 THEN ' after ' || a.duration_ms || ' ms' WHEN a.duration_ms >= 1000 THEN printf(' after %.1f s', a.duration_ms / 1000.0) ELSE '' END
           || ifnull(': ' || iif(a.error_message LIKE 'fetch http%: %', substr(a.error_message, instr(a.error_message, ': ') + 2), a.error_message), '') -- without the address
           || ifnull('; ' || a.pages || iif(a.pages = 1, ' page', ' pages'), '')
           || ifnull(', ' || a.listings || CASE WHEN t.kind = 'index' THEN iif(a.listings = 1, ' city', ' cities') ELSE iif(a.listings = 1, ' listing', ' listings') END, '')
           || ifnull(', ' || a.changed || ' new or changed', '')
           || iif(a.backoff_delay_ms > 0, ifnull('; next try at ' || strftime('%Y-%m-%d %H:%M:%S UTC', a.finished_at, '+' || (a.backoff_delay_ms / 1000.0) || ' seconds'), ''), '')
FROM crawl_attempts a JOIN targets t ON t.id = a.target_id;

-- The runs. state is how a run ended; a running one whose process has died is shown as killed, for its lock tells.
--   state            running, or how it ended: done, interrupted, budget, error, killed, blocked, no_proxies or layout
--   host             name of the machine
CREATE VIEW v_runs AS
SELECT r.id AS run, r.uuid, s.name AS source, -- NULL = several
       r.host, r.pid, r.command, r.started_at, r.heartbeat_at, r.finished_at, iif(r.outcome = 'dead', 'killed', r.outcome) AS state,
       round(max(0, julianday(CASE r.outcome WHEN 'running' THEN min(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), strftime('%Y-%m-%dT%H:%M:%fZ', r.heartbeat_at, '+1 minute')) WHEN 'dead' THEN r.heartbeat_at ELSE r.finished_at END)
           - julianday(r.started_at)) * 86400, 3) AS took_seconds,
       r.targets,                              -- finished, whatever the outcome
       r.pages,                                -- committed, of every kind
       r.listings_new AS new, r.listings_changed AS changed, r.listings_rejected AS rejected, r.listings_dropped AS dropped, r.listings_restored AS restored,
       iif(r.outcome IN ('running', 'dead'), nullif(r.requests, 0), r.requests) AS requests -- of one that has not ended those up to its last heartbeat, NULL = it has sent none
FROM runs r LEFT JOIN sources s ON s.id = r.source_id;

-- The passes of sources by the runs that worked on them: a row a run. What is NULL did not narrow the selection.
--   kind             kinds of its targets
--   states           of the selection, by code
--   cities           how many were chosen
--   categories       how many were chosen
CREATE VIEW v_passes AS
SELECT s.name AS source, x.run_id AS run, x.began_at, -- of the pass, by this run or an earlier one
       ifnull((SELECT group_concat(value, ' ') FROM json_each(x.selection, '$.kinds')), 'search') AS kind,
       (SELECT group_concat(value, ' ') FROM json_each(x.selection, '$.states')) AS states,
       nullif(json_array_length(x.selection, '$.cities'), 0) AS cities, nullif(json_array_length(x.selection, '$.categories'), 0) AS categories,
       x.selection ->> '$.min_population' AS min_population, -- of the cities
       (x.selection ->> '$.recrawl') / 1000000000 AS recrawl_seconds -- what was done longer ago is crawled again
FROM run_passes x JOIN sources s ON s.id = x.source_id;

-- request_spans with the latency that half of the requests, and 95 of 100, did not exceed. Such a latency lies between two
-- bounds of the columns ms_*, and is estimated as if the requests were spread evenly between them. The true one lies between the same bounds,
-- the upper of which is at most two and a half times the lower; of more than 30,000 ms it says 30,000.
--   began_at         begin of the span
--   requests         that ended in it
--   pages            of them answered with a page that could be read
--   latency_ms       of all requests together
CREATE VIEW request_spans_and_latency AS
SELECT s.name AS source, source_id, span, began_at, requests, pages, dns, tls, timeout, connection_refused, http_403, http_429, http_5xx, parse_error, auth_error, cf_challenge, unknown, latency_ms,
       CASE WHEN requests = 0 THEN NULL
           WHEN ms_25 >= 0.5 * requests THEN round(0 + 25 * (0.5 * requests) / ms_25)
           WHEN ms_50 >= 0.5 * requests THEN round(25 + 25 * (0.5 * requests - ms_25) / (ms_50 - ms_25))
           WHEN ms_100 >= 0.5 * requests THEN round(50 + 50 * (0.5 * requests - ms_50) / (ms_100 - ms_50))
           WHEN ms_200 >= 0.5 * requests THEN round(100 + 100 * (0.5 * requests - ms_100) / (ms_200 - ms_100))
           WHEN ms_400 >= 0.5 * requests THEN round(200 + 200 * (0.5 * requests - ms_200) / (ms_400 - ms_200))
           WHEN ms_800 >= 0.5 * requests THEN round(400 + 400 * (0.5 * requests - ms_400) / (ms_800 - ms_400))
           WHEN ms_1500 >= 0.5 * requests THEN round(800 + 700 * (0.5 * requests - ms_800) / (ms_1500 - ms_800))
           WHEN ms_3000 >= 0.5 * requests THEN round(1500 + 1500 * (0.5 * requests - ms_1500) / (ms_3000 - ms_1500))
           WHEN ms_6000 >= 0.5 * requests THEN round(3000 + 3000 * (0.5 * requests - ms_3000) / (ms_6000 - ms_3000))
           WHEN ms_12000 >= 0.5 * requests THEN round(6000 + 6000 * (0.5 * requests - ms_6000) / (ms_12000 - ms_6000))
           WHEN ms_30000 >= 0.5 * requests THEN round(12000 + 18000 * (0.5 * requests - ms_12000) / (ms_30000 - ms_12000))
           ELSE 30000 END AS p50_ms,
       CASE WHEN requests = 0 THEN NULL
           WHEN ms_25 >= 0.95 * requests THEN round(0 + 25 * (0.95 * requests) / ms_25)
           WHEN ms_50 >= 0.95 * requests THEN round(25 + 25 * (0.95 * requests - ms_25) / (ms_50 - ms_25))
           WHEN ms_100 >= 0.95 * requests THEN round(50 + 50 * (0.95 * requests - ms_50) / (ms_100 - ms_50))
           WHEN ms_200 >= 0.95 * requests THEN round(100 + 100 * (0.95 * requests - ms_100) / (ms_200 - ms_100))
           WHEN ms_400 >= 0.95 * requests THEN round(200 + 200 * (0.95 * requests - ms_200) / (ms_400 - ms_200))
           WHEN ms_800 >= 0.95 * requests THEN round(400 + 400 * (0.95 * requests - ms_400) / (ms_800 - ms_400))
           WHEN ms_1500 >= 0.95 * requests THEN round(800 + 700 * (0.95 * requests - ms_800) / (ms_1500 - ms_800))
           WHEN ms_3000 >= 0.95 * requests THEN round(1500 + 1500 * (0.95 * requests - ms_1500) / (ms_3000 - ms_1500))
           WHEN ms_6000 >= 0.95 * requests THEN round(3000 + 3000 * (0.95 * requests - ms_3000) / (ms_6000 - ms_3000))
           WHEN ms_12000 >= 0.95 * requests THEN round(6000 + 6000 * (0.95 * requests - ms_6000) / (ms_12000 - ms_6000))
           WHEN ms_30000 >= 0.95 * requests THEN round(12000 + 18000 * (0.95 * requests - ms_12000) / (ms_30000 - ms_12000))
           ELSE 30000 END AS p95_ms
FROM sources s CROSS JOIN request_spans r ON r.source_id = s.id;

-- Requests by source and minute, of the last two days, see request_spans: one that has just ended is there after a minute or so. A minute without requests has no row.
--   began_at         begin of the minute
--   requests         that ended in it: all but robots.txt, our own deferrals, and those that a proxy itself failed
--   pages            of them answered with a page that could be read
--   success_percent  share of the requests that brought a page
CREATE VIEW v_request_minutes AS
SELECT source, began_at, requests, pages, round(100.0 * pages / requests, 1) AS success_percent, p50_ms, p95_ms,
       dns, tls, timeout, connection_refused, http_403, http_429, http_5xx, parse_error, auth_error, cf_challenge, unknown
FROM request_spans_and_latency WHERE span = 'minute' AND began_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now');

-- Requests by source and hour, of the last two years, see request_spans: one that has just ended is there after a minute or so. An hour without requests has no row.
--   began_at         begin of the hour
--   requests         that ended in it: all but robots.txt, our own deferrals, and those that a proxy itself failed
--   pages            of them answered with a page that could be read
--   success_percent  share of the requests that brought a page
CREATE VIEW v_request_hours AS
SELECT source, began_at, requests, pages, round(100.0 * pages / requests, 1) AS success_percent, p50_ms, p95_ms,
       dns, tls, timeout, connection_refused, http_403, http_429, http_5xx, parse_error, auth_error, cf_challenge, unknown
FROM request_spans_and_latency WHERE span = 'hour' AND began_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now');

-- What the passes brought, by source: a row a pass, the sum of its runs. See run_passes: what was just found is there after a minute or so.
--   runs             that worked on it
--   pages            read, but for pages of results without a listing
CREATE VIEW v_pass_changes AS
SELECT s.name AS source, x.began_at, count(*) AS runs, max(x.run_id) AS last_run, -- its number
       sum(x.pages) AS pages, sum(x.new) AS new, sum(x.changed) AS changed, sum(x.dropped) AS dropped, sum(x.restored) AS restored
FROM sources s CROSS JOIN run_passes x ON x.source_id = s.id GROUP BY x.source_id, x.began_at, x.selection;

-- The workers of runs, including those that have ended.
--   state            running or ended
--   host             name of the machine
CREATE VIEW v_run_workers AS
SELECT w.run_id AS run, w.name || ' (' || w.pid || ')' AS worker, w.host, iif(w.stopped_at IS NULL AND r.outcome = 'running', 'running', 'ended') AS state,
       t.id AS target_id, iif(t.kind = 'index', 'Index of ' || iif(t.state = '', 'all states', t.state), coalesce(l.name, k.name) || ' in ' || ifnull(c.name || iif(t.state = '', '', ', '), '') || t.state) AS target,
       ifnull(s.name, x.name) AS source,
       t.page_current + 1 AS page,             -- page being read
       w.pages,                                -- pages committed, of every kind
       CASE WHEN w.stopped_at IS NOT NULL OR r.outcome <> 'running'
           THEN round(w.pages / nullif((julianday(ifnull(w.stopped_at, w.heartbeat_at)) - julianday(w.started_at)) * 86400, 0), 2)
           ELSE round((SELECT count(*) FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
                   WHERE a.run_id = w.run_id AND a.worker_id = w.worker_id AND ifnull(a.finished_at, '9999') > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute')
                       AND q.finished_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute') AND q.type NOT IN ('robots', 'probe') AND q.outcome = 'success')
               / nullif(min(60, (julianday('now') - julianday(w.started_at)) * 86400), 0), 2) END AS pages_per_second, -- of the last minute
       w.listings,                             -- accepted
       w.claims, w.claim_retries, nullif(w.rss_bytes, 0) AS memory_bytes, w.cpu_ms,
       iif(w.stopped_at IS NULL AND r.outcome = 'running', w.waits_for, NULL) AS waits_for, -- limit that keeps it from claiming a ready target: "--max-per-state 5"
       w.started_at, w.heartbeat_at, w.stopped_at, w.worker_id, w.pid, r.uuid
FROM workers w JOIN runs r ON r.id = w.run_id LEFT JOIN sources x ON x.id = r.source_id
LEFT JOIN targets t INDEXED BY targets_held ON t.status = 'IN_PROGRESS' AND t.run_id = w.run_id AND t.claimed_by = w.worker_id
LEFT JOIN sources s ON s.id = t.source_id
LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing;

-- The proxies, without their passwords.
--   state            active, rests or disabled
--   name             address without the password
CREATE VIEW v_proxies AS
SELECT id, name, CASE WHEN enabled = 0 THEN 'disabled' WHEN cooldown_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'rests' ELSE 'active' END AS state,
       enabled, successes, failures, consecutive_failures, cooldown_until, last_used_at, last_error
FROM proxies;

-- The sources: whether they may be requested now, and how they respond, as rated every 5 minutes during a run.
--   status           healthy, degraded, failing or quarantined; NULL = never rated
CREATE VIEW v_sources AS
SELECT s.name AS source, o.state AS availability, o.until, o.reason, p.status, p.error_class,
       round(100 * p.success_rate_1h, 1) AS success_1h_percent, p.samples_1h, round(100 * p.success_rate_24h, 1) AS success_24h_percent, p.samples_24h,
       p.latency_p50_ms, p.latency_p95_ms,     -- of the hour
       (SELECT max(q.finished_at) FROM requests q WHERE q.source_id = s.id AND q.finished_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
           AND q.proxy_failed = 0 AND (q.error_class IN ('http_403', 'http_429', 'cf_challenge')
               OR q.error_class = 'unknown' AND q.http_status IN (402, 406, 412, 418, 428, 451))) AS last_block_at, -- of the last 24 hours
       p.updated_at AS rated_at, s.stage, s.base_url
FROM sources s JOIN v_source_availability o ON o.source_id = s.id LEFT JOIN connectivity_profiles p ON p.source_id = s.id;

-- The hosts that have been requested or are held: their pace, and what holds them.
--   source           NULL = not known; only its next turn is
--   host             host name, with the port if it is not the usual one
--   next_at          no request starts before this time
--   pace_ms          time between request starts when last crawled; NULL = not known
--   pace_reason      "delay between requests", "Crawl-delay", or why the host is slowed down
--   delay_ms         delay that was learned; NULL = as configured
--   last_429_at      last HTTP 429 without Retry-After
CREATE VIEW v_hosts AS
WITH clock (now) AS (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
     asked (source_id, host) AS (SELECT source_id, host FROM hosts UNION SELECT source_id, host FROM host_paces)
SELECT s.name AS source, a.host, iif(h.held_until > clock.now, h.held_until, NULL) AS held_until, iif(h.held_until > clock.now, h.held_for, NULL) AS reason,
       nullif(h.delay_ms, 0) AS delay_ms, h.delay_reason, ifnull(h.blocks, 0) AS blocks, -- in a row
       t.next_at,
       iif(h.delay_ms > ifnull(p.delay_ms, 0), h.delay_ms, p.delay_ms) AS pace_ms,
       iif(h.delay_ms > ifnull(p.delay_ms, 0), h.delay_reason, p.reason) AS pace_reason, h.floor_at AS last_429_at
FROM asked a JOIN sources s ON s.id = a.source_id CROSS JOIN clock LEFT JOIN hosts h ON h.source_id = a.source_id AND h.host = a.host
     LEFT JOIN host_paces p ON p.source_id = a.source_id AND p.host = a.host LEFT JOIN host_turns t ON t.host = a.host
UNION ALL -- what a process has asked that died before it wrote more than its turn
SELECT (SELECT s.name FROM sources s WHERE substr(s.base_url || '/', instr(s.base_url, '://') + 3, length(t.host) + 1) = t.host || '/' ORDER BY s.id LIMIT 1), t.host, NULL, NULL,
       NULL, NULL, 0, t.next_at, t.gap_ms, NULL, NULL
FROM host_turns t WHERE t.host NOT IN (SELECT host FROM asked);

-- What targets wait for: how many for each reason, and when the first and the last of them may go on. NULL = not by itself.
-- Workers of runs that are kept from claiming a target wait, too.
CREATE VIEW v_waits AS
SELECT s.name AS source, t.kind, t.wait_reason AS reason,
       count(*) AS targets,                    -- NULL = workers wait, not targets
       min(t.not_before) AS next_at, max(t.not_before) AS last_at
FROM targets t JOIN sources s ON s.id = t.source_id
WHERE t.not_before IS NOT NULL AND t.not_before > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AND t.retired_at IS NULL
GROUP BY t.source_id, t.kind, t.wait_reason
UNION ALL
SELECT s.name, t.kind, iif(t.paused = 1, 'paused', 'disabled'), count(*), NULL, NULL
FROM targets t INDEXED BY targets_set_aside JOIN sources s ON s.id = t.source_id
WHERE (t.enabled = 0 OR t.paused = 1) AND t.retired_at IS NULL GROUP BY t.source_id, t.kind, t.paused
UNION ALL
SELECT o.source, n.kind, 'source ' || o.state || ifnull(': ' || o.reason, ''), sum(n.targets), o.until, o.until
FROM v_source_availability o JOIN target_totals n ON n.source_id = o.source_id AND n.status IN ('PLANNED', 'FAILED') AND n.targets > 0
WHERE o.open = 0 GROUP BY o.source_id, n.kind
UNION ALL
SELECT source, 'search', reason, NULL, NULL, NULL FROM v_worker_waits;

-- What keeps workers from claiming a target that is ready. A worker whose process has died without a word has an old heartbeat.
CREATE VIEW v_worker_waits AS
SELECT s.name AS source, iif(count(*) = 1, '1 worker waits', count(*) || ' workers wait') || ': ' || w.waits_for AS reason
FROM runs r INDEXED BY runs_alive JOIN workers w ON w.run_id = r.id AND w.stopped_at IS NULL
    AND w.waits_for IS NOT NULL AND w.heartbeat_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 minutes')
JOIN sources s ON s.id = w.waits_source WHERE r.outcome = 'running' GROUP BY s.id, w.waits_for;

-- How attempts ended in the last 7 days, by code, most frequent first. NO_LISTINGS is no failure if the target is DONE: the site says that it has
-- nothing here. It is a failure if the page does not exist.
CREATE VIEW v_crawl_error_summary AS
SELECT s.name AS source, a.error_code, count(*) AS occurrences, count(DISTINCT a.target_id) AS targets,
       sum(a.ended = 'done') AS went_well,     -- occurrences after which the target was DONE (SUCCESS and NO_LISTINGS only)
       sum(a.error_code = 'BLOCKED_PROXY' AND a.proxy IS NOT NULL) AS by_proxy, -- occurrences of BLOCKED_PROXY that used a proxy
       max(a.finished_at) AS last_seen, cast(avg(a.duration_ms) AS INTEGER) AS mean_duration_ms
FROM crawl_attempts a JOIN targets t ON t.id = a.target_id JOIN sources s ON s.id = t.source_id
WHERE a.finished_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days') AND a.error_code IS NOT NULL
GROUP BY s.name, a.error_code ORDER BY occurrences DESC, a.error_code, s.name;

-- The health of each source's searches, one row for each source.
--   paused           paused by an operator
--   failed           given up (PARKED)
CREATE VIEW v_crawl_health AS
SELECT s.name AS source, count(t.id) AS targets,
       sum(t.paused = 0 AND t.status <> 'PARKED' AND t.backoff_level = 0) AS active,
       sum(t.paused = 0 AND t.status <> 'PARKED' AND t.backoff_level > 0) AS degraded,
       sum(t.paused = 1) AS paused, sum(t.paused = 0 AND t.status = 'PARKED') AS failed,
       (SELECT count(*) FROM targets_available a WHERE a.source_id = s.id AND a.kind = 'search') AS due_now,
       sum(t.consecutive_failures > 0) AS with_failures, round(avg(t.consecutive_failures), 2) AS mean_consecutive_failures,
       count(*) FILTER (WHERE t.last_success_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')) AS successful_24h
FROM sources s JOIN targets t ON t.source_id = s.id WHERE t.kind = 'search' GROUP BY s.id;

-- The workers that have not stopped, with what each holds. Only the lock file shows whether their process
-- is alive: `ypcrawl status` checks it.
--   listing          name of the listing
--   page             page being read
--   name             name of the worker
--   host             name of the machine
CREATE VIEW v_workers AS
SELECT w.worker_id, w.name, w.host, w.pid, r.uuid AS run, s.name AS source, w.started_at, w.heartbeat_at,
       t.id AS target_id, t.kind, l.name AS listing, c.name AS city, t.state, k.name AS category, t.page_current + 1 AS page,
       w.pages, w.listings, w.claims, w.claim_retries, w.rss_bytes
FROM workers w JOIN runs r ON r.id = w.run_id
LEFT JOIN targets t INDEXED BY targets_held ON t.status = 'IN_PROGRESS' AND t.run_id = w.run_id AND t.claimed_by = w.worker_id
LEFT JOIN sources s ON s.id = ifnull(t.source_id, r.source_id)
LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing
WHERE w.stopped_at IS NULL AND r.outcome = 'running';

-- What /metrics, /status.json, `status --check` and the metrics file tell, beside what only locks, files and the
-- passes of a crawl tell. In Prometheus each name begins with ypcrawl_. What ends in _total never falls.
--   name             of the metric
--   value            NULL = not known
CREATE VIEW v_metrics AS
WITH clock AS (
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour') AS hour, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day') AS day
), source AS MATERIALIZED (
    SELECT o.source_id AS id, o.source AS name, o.state, o.code, o.until, p.success_rate_1h, p.latency_p50_ms, p.latency_p95_ms,
           (SELECT max(iif(outcome = 'success' AND type IN ('listing', 'detail', 'state_index', 'city_index'), finished_at, NULL)) FROM (
               SELECT r.outcome, r.type, r.finished_at FROM requests r WHERE r.source_id = o.source_id AND r.proxy_failed = 0 AND r.finished_at <= clock.now
               ORDER BY r.finished_at DESC LIMIT 1000)) AS last_page_at
    FROM clock CROSS JOIN v_source_availability o LEFT JOIN connectivity_profiles p ON p.source_id = o.source_id ORDER BY o.source
), good AS MATERIALIZED ( -- requests of the last hour
    SELECT s.name, count(r.type) AS n, ifnull(sum(r.type = 'listing' AND r.result_count > 0), 0) AS search, ifnull(sum(r.type = 'detail' AND r.result_count > 0), 0) AS detail,
           ifnull(sum(r.type IN ('state_index', 'city_index') AND r.result_count > 0), 0) AS "index"
    FROM clock CROSS JOIN source s LEFT JOIN requests r ON r.source_id = s.id AND r.finished_at > clock.hour AND r.finished_at <= clock.now
        AND r.proxy_failed = 0 AND r.type <> 'robots' AND r.outcome = 'success' GROUP BY s.id ORDER BY s.name
), bad AS MATERIALIZED (
    SELECT s.name, r.error_class, count(*) AS n FROM clock CROSS JOIN source s CROSS JOIN requests r ON r.source_id = s.id AND r.finished_at > clock.hour AND r.finished_at <= clock.now
        AND r.proxy_failed = 0 AND r.type <> 'robots' AND r.outcome = 'failure' AND r.error_class <> 'rate_limited' GROUP BY 1, 2
), tried AS MATERIALIZED (
    SELECT a.error_code AS code, sum(a.finished_at > clock.hour) AS hour, count(*) AS day,
           sum(a.ended = 'done' AND a.finished_at > clock.hour) AS well_hour, sum(a.ended = 'done') AS well_day
    FROM clock CROSS JOIN crawl_attempts a WHERE a.finished_at > clock.day AND a.finished_at <= clock.now AND a.error_code IS NOT NULL GROUP BY 1
), codes AS (
    SELECT c.value AS code, ifnull(x.hour, 0) AS hour, ifnull(x.day, 0) AS day
    FROM json_each('["SUCCESS","RATE_LIMITED","BLOCKED_PROXY","HTML_CHANGED","TIMEOUT","AUTH_FAILED","NETWORK_ERROR","PARSE_ERROR","NO_LISTINGS","UNKNOWN_ERROR"]') c
    LEFT JOIN tried x ON x.code = c.value
), kinds AS (
    SELECT DISTINCT s.name, n.source_id, n.kind FROM source s JOIN target_totals n ON n.source_id = s.id WHERE n.targets > 0
), due AS MATERIALIZED ( -- what is ready is in an index of its own, and what falls due in another
    SELECT source_id, kind, sum(n) AS n FROM (
        SELECT source_id, kind, count(*) AS n FROM targets INDEXED BY targets_ready
        WHERE status = 'PLANNED' AND enabled = 1 AND paused = 0 AND not_before IS NULL AND retired_at IS NULL GROUP BY 1, 2
        UNION ALL SELECT d.source_id, d.kind, count(*) FROM clock CROSS JOIN targets d INDEXED BY targets_waiting
        WHERE d.not_before IS NOT NULL AND d.wait_reason IN ('backoff', 'recrawl', 'gap') AND d.not_before <= clock.now AND d.enabled = 1 AND d.paused = 0 AND d.retired_at IS NULL GROUP BY 1, 2)
    GROUP BY 1, 2
), forgotten AS (
    SELECT substr(key, 11) AS what, cast(value AS INTEGER) AS n FROM meta WHERE key LIKE 'forgotten:%'
), claimed AS (
    SELECT ifnull(sum(claims), 0) AS n, ifnull(sum(claim_retries), 0) AS retries FROM workers
    WHERE run_id IN (SELECT id FROM runs WHERE outcome = 'running' UNION SELECT max(id) FROM runs)
), ever AS MATERIALIZED ( -- of each source, since it was first asked
    SELECT r.* FROM source s CROSS JOIN request_spans r ON r.source_id = s.id AND r.span = 'ever' AND r.began_at = ''
), failed_ever AS (
    SELECT source_id, 'dns' AS error_class, dns AS n FROM ever
    UNION ALL SELECT source_id, 'tls' AS error_class, tls AS n FROM ever
    UNION ALL SELECT source_id, 'timeout' AS error_class, timeout AS n FROM ever
    UNION ALL SELECT source_id, 'connection_refused' AS error_class, connection_refused AS n FROM ever
    UNION ALL SELECT source_id, 'http_403' AS error_class, http_403 AS n FROM ever
    UNION ALL SELECT source_id, 'http_429' AS error_class, http_429 AS n FROM ever
    UNION ALL SELECT source_id, 'http_5xx' AS error_class, http_5xx AS n FROM ever
    UNION ALL SELECT source_id, 'parse_error' AS error_class, parse_error AS n FROM ever
    UNION ALL SELECT source_id, 'auth_error' AS error_class, auth_error AS n FROM ever
    UNION ALL SELECT source_id, 'cf_challenge' AS error_class, cf_challenge AS n FROM ever
    UNION ALL SELECT source_id, 'unknown' AS error_class, unknown AS n FROM ever
), latency_ever AS (
    SELECT source_id, '0.025' AS le, ms_25 AS n FROM ever
    UNION ALL SELECT source_id, '0.05' AS le, ms_50 AS n FROM ever
    UNION ALL SELECT source_id, '0.1' AS le, ms_100 AS n FROM ever
    UNION ALL SELECT source_id, '0.2' AS le, ms_200 AS n FROM ever
    UNION ALL SELECT source_id, '0.4' AS le, ms_400 AS n FROM ever
    UNION ALL SELECT source_id, '0.8' AS le, ms_800 AS n FROM ever
    UNION ALL SELECT source_id, '1.5' AS le, ms_1500 AS n FROM ever
    UNION ALL SELECT source_id, '3' AS le, ms_3000 AS n FROM ever
    UNION ALL SELECT source_id, '6' AS le, ms_6000 AS n FROM ever
    UNION ALL SELECT source_id, '12' AS le, ms_12000 AS n FROM ever
    UNION ALL SELECT source_id, '30' AS le, ms_30000 AS n FROM ever
    UNION ALL SELECT source_id, '+Inf', requests FROM ever
), found AS (
    SELECT ifnull(sum(listings), 0) AS n, ifnull(sum(dropped), 0) AS dropped, ifnull(sum(emails), 0) AS emails FROM listing_totals
)
SELECT 'pages_total' AS name,
       '{}' AS labels,                         -- JSON: names and values
       cast(ifnull((SELECT sum(pages) FROM runs), 0) + ifnull((SELECT n FROM forgotten WHERE what = 'pages'), 0) AS REAL) AS value,
       'Pages stored by all runs: results pages, listings'' own pages and indexes.' AS help -- what it is
UNION ALL SELECT 'requests_total', '{}', ifnull((SELECT sum(requests) FROM runs), 0) + ifnull((SELECT n FROM forgotten WHERE what = 'requests'), 0),
       'Requests sent by all runs; a run in progress counts up to its last heartbeat.'
UNION ALL SELECT 'targets_finished_total', '{}', ifnull((SELECT sum(targets) FROM runs), 0) + ifnull((SELECT n FROM forgotten WHERE what = 'targets'), 0),
       'Targets that all runs finished, whatever the outcome.'
UNION ALL SELECT 'listings_new_total', '{}', ifnull((SELECT sum(listings_new) FROM runs), 0) + ifnull((SELECT n FROM forgotten WHERE what = 'listings_new'), 0),
       'New listings found by all runs.'
UNION ALL SELECT 'listings_changed_total', '{}', ifnull((SELECT sum(listings_changed) FROM runs), 0) + ifnull((SELECT n FROM forgotten WHERE what = 'listings_changed'), 0),
       'Changed listings found by all runs.'
UNION ALL SELECT 'last_run_outcome', json_object('outcome', outcome), 1, 'How the last run ended: see the label outcome.'
       FROM runs WHERE id = (SELECT max(id) FROM runs WHERE outcome <> 'running')
UNION ALL SELECT 'last_run_finished_timestamp_seconds', '{}', round((julianday(max(r.finished_at)) - 2440587.5) * 86400, 3), 'When the last run ended.'
       FROM runs r WHERE r.id = (SELECT max(id) FROM runs WHERE outcome <> 'running')
UNION ALL SELECT 'last_run_done_timestamp_seconds', '{}', round((julianday(max(r.finished_at)) - 2440587.5) * 86400, 3), 'When the last successful run ended; successful means that it did all due work or used up its budget.'
       FROM runs r WHERE r.id = (SELECT max(id) FROM runs WHERE outcome IN ('done', 'budget'))
UNION ALL SELECT 'last_page_timestamp_seconds', '{}', round((julianday(max(last_page_at)) - 2440587.5) * 86400, 3), 'When the last page was read.' FROM source
UNION ALL SELECT 'claims', '{}', n, 'Targets claimed by the runs in progress and the last run.' FROM claimed
UNION ALL SELECT 'claim_retries', '{}', retries, 'Retries of these claims because the database was busy.' FROM claimed
UNION ALL SELECT 'targets', json_object('source', kinds.name, 'kind', kinds.kind, 'status', lower(x.value)),
       (SELECT ifnull(sum(n.targets), 0) FROM target_totals n WHERE n.source_id = kinds.source_id AND n.kind = kinds.kind AND n.status = x.value), 'Targets by source, kind and status.'
       FROM kinds CROSS JOIN json_each('["PLANNED","IN_PROGRESS","DONE","FAILED","STUCK","PARKED","RETIRED"]') x
UNION ALL SELECT 'targets_due', json_object('source', kinds.name, 'kind', kinds.kind),
       iif(s.state = 'open', ifnull((SELECT d.n FROM due d WHERE d.source_id = kinds.source_id AND d.kind = kinds.kind), 0), 0), 'Targets that a run may claim now.'
       FROM kinds JOIN source s ON s.id = kinds.source_id
UNION ALL SELECT 'dead_letters', '{}', (SELECT ifnull(sum(targets), 0) FROM target_totals WHERE status = 'PARKED'), 'Targets that no run crawls again automatically.'
UNION ALL SELECT 'listings', json_object('state', 'alive'), n - dropped, 'Listings by state; dropped are those that their site no longer shows.' FROM found
UNION ALL SELECT 'listings', json_object('state', 'dropped'), dropped, 'Listings by state; dropped are those that their site no longer shows.' FROM found
UNION ALL SELECT 'listings_with_email', '{}', emails, 'Listings that are not dropped and have an e-mail address.' FROM found
UNION ALL SELECT 'companies', '{}', (SELECT ifnull(sum(companies), 0) FROM company_totals), 'Companies in the database.'
UNION ALL SELECT 'source_availability', json_object('source', s.name, 'availability', x.value), s.state = x.value, '1 for the source''s current state, 0 for its other states.'
       FROM source s CROSS JOIN json_each('["open","held","quarantined","paused","disabled"]') x
UNION ALL SELECT 'source_layout_alarm', json_object('source', name), ifnull(code = 'HTML_CHANGED', 0), '1 while the source is paused because its layout has changed.' FROM source
UNION ALL SELECT 'source_opens_timestamp_seconds', json_object('source', name), round((julianday(until) - 2440587.5) * 86400, 3), 'When a source that is held, quarantined or paused may be crawled again.' FROM source
UNION ALL SELECT 'source_success_ratio', json_object('source', name), success_rate_1h, 'Share of successful requests in the hour before the source was last rated.' FROM source
UNION ALL SELECT 'source_latency_p50_seconds', json_object('source', name), latency_p50_ms / 1000.0, 'Median response time in that hour.' FROM source
UNION ALL SELECT 'source_latency_p95_seconds', json_object('source', name), latency_p95_ms / 1000.0, '95th percentile of the response time in that hour.' FROM source
UNION ALL SELECT 'source_requests_total', json_object('source', s.name), ifnull(e.requests, 0), 'Requests that count for the health of the source.'
       FROM source s LEFT JOIN ever e ON e.source_id = s.id
UNION ALL SELECT 'source_request_failures_total', json_object('source', s.name, 'error_class', e.error_class), e.n, 'Failed requests among those of ypcrawl_source_requests_total, by class.'
       FROM source s JOIN failed_ever e ON e.source_id = s.id
UNION ALL SELECT 'source_request_duration_seconds_bucket', json_object('source', s.name, 'le', e.le), e.n, 'Response time of the requests of ypcrawl_source_requests_total.'
       FROM source s JOIN latency_ever e ON e.source_id = s.id
UNION ALL SELECT 'source_request_duration_seconds_sum', json_object('source', s.name), e.latency_ms / 1000.0, 'Response time of the requests of ypcrawl_source_requests_total.'
       FROM source s JOIN ever e ON e.source_id = s.id
UNION ALL SELECT 'source_request_duration_seconds_count', json_object('source', s.name), e.requests, 'Response time of the requests of ypcrawl_source_requests_total.'
       FROM source s JOIN ever e ON e.source_id = s.id
UNION ALL SELECT 'source_last_page_timestamp_seconds', json_object('source', name), round((julianday(last_page_at) - 2440587.5) * 86400, 3), 'When the last page of the source was read.' FROM source
UNION ALL SELECT 'last_hour_pages', json_object('source', good.name, 'kind', x.value), CASE x.value WHEN 'search' THEN good.search WHEN 'detail' THEN good.detail ELSE good."index" END,
       'Requests of the last hour whose page had listings or cities, by the kind of target; ypcrawl_pages_total counts stored pages.'
       FROM good CROSS JOIN json_each('["index","search","detail"]') x
UNION ALL SELECT 'last_hour_requests', json_object('source', good.name, 'outcome', x.value), iif(x.value = 'success', good.n, (SELECT ifnull(sum(b.n), 0) FROM bad b WHERE b.name = good.name)),
       'Requests of the last hour, by outcome.' FROM good CROSS JOIN json_each('["success","failure"]') x
UNION ALL SELECT 'last_hour_request_failures', json_object('source', name, 'error_class', error_class), n, 'Failed requests of the last hour, by class.' FROM bad
UNION ALL SELECT 'last_hour_attempts', json_object('error_code', code), hour, 'Attempts at targets that ended in the last hour, by code.' FROM codes
UNION ALL SELECT 'last_day_attempts', json_object('error_code', code), day, 'Attempts at targets that ended in the last 24 hours, by code.' FROM codes
UNION ALL SELECT 'last_hour_empty_attempts', '{}', ifnull((SELECT well_hour FROM tried WHERE code = 'NO_LISTINGS'), 0),
       'Attempts of the last hour with NO_LISTINGS whose target is done, because the site says that it has no listings there.'
UNION ALL SELECT 'last_day_empty_attempts', '{}', ifnull((SELECT well_day FROM tried WHERE code = 'NO_LISTINGS'), 0),
       'Attempts of the last 24 hours with NO_LISTINGS whose target is done, because the site says that it has no listings there.'
UNION ALL SELECT 'hosts_held', '{}', (SELECT count(*) FROM clock CROSS JOIN hosts h WHERE h.held_until > clock.now), 'Hosts that get no requests for now, because they asked for a pause or after a block.'
UNION ALL SELECT 'hosts_slowed', '{}', (SELECT count(*) FROM hosts WHERE delay_ms > 0), 'Hosts that get requests at a slower pace than configured.'
UNION ALL SELECT 'measured_timestamp_seconds', '{}', round((julianday(now) - 2440587.5) * 86400, 3), 'When these figures were read.' FROM clock;

-- The targets that were given up: no crawl takes them again by itself.
--   listing          name of the listing
--   auto_disabled    1 = it failed too often
CREATE VIEW v_dead_letters AS
SELECT t.id, t.kind, s.name AS source, c.name AS city, t.state, k.name AS category, l.listing_id, l.name AS listing, t.last_error_code, t.last_error,
       t.finished_at AS parked_at, t.consecutive_failures, t.total_attempts, t.page_current, t.backoff_level > 0 AS auto_disabled
FROM targets t JOIN sources s ON s.id = t.source_id LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id
LEFT JOIN listings l ON l.id = t.listing
WHERE t.status = 'PARKED' AND t.retired_at IS NULL AND t.status IN ('FAILED', 'STUCK', 'PARKED'); -- twice: so that the partial index serves it
