-- Rows of every table, and targets of every status, as a file of version 1 has them.
INSERT INTO meta VALUES ('created_at', '2026-01-02T03:04:05.000Z'), ('note', 'kept');
INSERT INTO sources VALUES
    (1, 'yellowpages', 'https://yp.example', 1, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
    (2, 'demo', 'http://127.0.0.1:1', 0, '2026-01-03T00:00:00.000Z', '2026-01-04T00:00:00.000Z');
INSERT INTO cities VALUES
    (1, 'los-angeles-ca', 'Los Angeles', 'CA', 3898747, 34.02, -118.41, 1),
    (2, 'fresno-ca', 'Fresno', 'CA', 542107, 36.78, -119.79, 2),
    (3, 'austin-tx', 'Austin', 'TX', 961855, 30.3, -97.75, 1),
    (4, 'marfa-tx', 'Marfa', 'TX', 1788, 30.31, -104.02, 3);
INSERT INTO categories VALUES (1, 'plumbers', 'Plumbers'), (2, 'dentists', 'Dentists'), (3, 'bakeries', 'Bakeries');
INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome, requests, pages, targets, listings_new) VALUES
    (1, 'AAAA', 'box', 11, 1, 'run --states CA', '2026-02-01T00:00:00.000Z', '2026-02-01T01:00:00.000Z', '2026-02-01T01:00:01.000Z', 'done', 9, 8, 7, 6),
    (2, 'BBBB', 'box', 12, 1, 'run', '2026-02-02T00:00:00.000Z', '2026-02-02T01:00:00.000Z', '2026-02-02T01:00:01.000Z', 'interrupted', 1, 1, 1, 1),
    (3, 'CCCC', 'box', 13, 1, 'run', '2026-02-03T00:00:00.000Z', '2026-02-03T01:00:00.000Z', '2026-02-03T01:00:01.000Z', 'budget', 1, 1, 1, 1),
    (4, 'DDDD', 'box', 14, 1, 'run', '2026-02-04T00:00:00.000Z', '2026-02-04T01:00:00.000Z', '2026-02-04T01:00:01.000Z', 'error', 1, 1, 1, 1),
    (5, 'EEEE', 'box', 15, 2, 'run', '2026-02-05T00:00:00.000Z', '2026-02-05T01:00:00.000Z', '2026-02-05T01:00:01.000Z', 'dead', 1, 1, 1, 1),
    (6, 'FFFF', 'box', 16, 1, 'run', '2026-02-06T00:00:00.000Z', '2026-02-06T01:00:00.000Z', NULL, 'running', 2, 2, 2, 2);
INSERT INTO targets (id, source_id, city_id, category_id, state, population, priority, max_pages, status, claimed_by, claimed_at, heartbeat_at, claim_token, run_id,
    recoveries, page_current, next_page_url, last_listing_id, site_total, raw_count, accepted_count, bad_count, crawl_started_at, finished_at,
    last_error_code, last_error, last_success_at, next_crawl_at, backoff_until, consecutive_failures, total_attempts, total_successes, created_at) VALUES
    (1, 1, 1, 1, 'CA', 3898747, 1, 3, 'PLANNED', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, 0, 0, 0, '2026-01-05T00:00:00.000Z'),
    (2, 1, 1, 2, 'CA', 3898747, 1, 3, 'PLANNED', NULL, NULL, NULL, 4, NULL, 1, 2, '/la?page=3', 'l2', 1108, 60, 58, 1, '2026-02-01T00:00:01.000Z', '2026-02-01T00:30:00.000Z',
        'TIMEOUT', 'slow', NULL, NULL, NULL, 4, 4, 0, '2026-01-05T00:00:00.000Z'),
    (3, 1, 1, 3, 'CA', 3898747, 1, 3, 'IN_PROGRESS', 'worker_0_pid_16', '2026-02-06T00:10:00.000Z', '2026-02-06T01:00:00.000Z', 2, 6, 0, 1, '/lab?page=2', 'l1', NULL, 30, 30, 0,
        '2026-02-06T00:10:00.000Z', NULL, 'TIMEOUT', 'slow', NULL, NULL, NULL, 1, 2, 0, '2026-01-05T00:00:00.000Z'),
    (4, 1, 2, 1, 'CA', 542107, 2, 2, 'DONE', NULL, NULL, NULL, 1, NULL, 0, 2, NULL, 'l3', 31, 31, 31, 0, '2026-02-01T00:00:01.000Z', '2026-02-01T00:40:00.000Z',
        NULL, NULL, '2026-02-01T00:40:00.000Z', '2026-02-08T00:40:00.000Z', NULL, 0, 1, 1, '2026-01-05T00:00:00.000Z'),
    (5, 1, 2, 2, 'CA', 542107, 2, 2, 'FAILED', NULL, NULL, NULL, 1, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, '2026-02-01T00:00:01.000Z', '2026-02-01T00:41:00.000Z',
        'TIMEOUT', 'slow', NULL, NULL, '2026-02-01T02:41:00.000Z', 1, 1, 0, '2026-01-05T00:00:00.000Z'),
    (6, 1, 3, 1, 'TX', 961855, 1, 3, 'FAILED', NULL, NULL, NULL, 3, NULL, 0, 1, '/aus?page=2', NULL, NULL, 30, 29, 1, '2026-02-01T00:00:01.000Z', '2026-02-01T00:42:00.000Z',
        'NETWORK_ERROR', 'refused', NULL, NULL, '2026-02-01T08:42:00.000Z', 3, 3, 0, '2026-01-05T00:00:00.000Z'),
    (7, 1, 3, 2, 'TX', 961855, 1, 3, 'FAILED', NULL, NULL, NULL, 9, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, '2026-02-01T00:00:01.000Z', '2026-02-01T00:43:00.000Z',
        'BLOCKED_PROXY', '403', NULL, NULL, '2099-01-01T00:00:00.000Z', 9, 9, 0, '2026-01-05T00:00:00.000Z'),
    (8, 1, 4, 1, 'TX', 1788, 3, 1, 'STUCK', NULL, NULL, NULL, 3, NULL, 3, 0, NULL, NULL, NULL, 0, 0, 0, '2026-02-01T00:00:01.000Z', '2026-02-01T00:44:00.000Z',
        NULL, NULL, NULL, NULL, NULL, 0, 3, 0, '2026-01-05T00:00:00.000Z'),
    (9, 1, 4, 2, 'TX', 1788, 3, 1, 'PARKED', NULL, NULL, NULL, 1, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, '2026-02-01T00:00:01.000Z', '2026-02-01T00:45:00.000Z',
        'NO_LISTINGS', '404', NULL, NULL, NULL, 1, 1, 0, '2026-01-05T00:00:00.000Z'),
    (10, 2, 4, 1, 'TX', 1788, 3, 0, 'PLANNED', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, 0, 0, 0, '2026-01-05T00:00:00.000Z');
INSERT INTO companies VALUES
    (1, 'Acme', 'https://acme.com', 'acme.com', '+13105550123', '1 Main St', 'Los Angeles', 'CA', '90001', 1, 'l1', '2026-02-01T00:00:02.000Z'),
    (5, 'Other', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'l3', '2026-02-01T00:00:03.000Z'),
    (9, 'Gone', NULL, NULL, NULL, NULL, NULL, 'TX', NULL, 1, 'l9', '2026-02-01T00:00:03.000Z');
DELETE FROM companies WHERE id = 9; -- its number must not be given again
INSERT INTO company_keys VALUES ('web:acme.com', 1), ('tel:+13105550123|acme', 1);
INSERT INTO listings (id, source_id, listing_id, company_id, name, profile_url, phone, phone_e164, street, city, state, postal_code, service_area, website_url,
    website, domain, categories, rating, review_count, years_in_business, price_range, snippet, image_url, hours, claimed, sponsored, found_state, fingerprint, first_seen_at, last_seen_at) VALUES
    (1, 1, 'l1', 1, 'Acme', '/mip/acme-1', '(310) 555-0123', '+13105550123', '1 Main St', 'Los Angeles', 'CA', '90001', 'Serving LA', 'http://www.acme.com',
        'https://acme.com', 'acme.com', '["Plumbers"]', 4.5, 12, 20, '$$', 'We mend.', '/i.png', '{"mo":"9-5"}', 1, 1, 'CA', -7, '2026-02-01T00:00:02.000Z', '2026-02-02T00:00:02.000Z'),
    (2, 1, 'l2', 1, 'Acme', NULL, NULL, '+13105550123', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 'CA', 8,
        '2026-02-01T00:00:02.000Z', '2026-02-01T00:00:02.000Z'),
    (3, 1, 'l3', 5, 'Other', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 'CA', 9,
        '2026-02-01T00:00:03.000Z', '2026-02-01T00:00:03.000Z');
INSERT INTO sightings VALUES (2, 1, 1, 1, '2026-02-01T00:00:02.000Z'), (2, 2, 2, 1, '2026-02-01T00:00:02.000Z'), (4, 3, 1, 4, '2026-02-01T00:00:03.000Z');
