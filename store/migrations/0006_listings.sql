-- Words of listings, deliveries, and views that carry what a listing's own page says.
-- The words of listings, brought up to date by `listings search`;
-- meta says how far it goes (words_listing, words_event): see store/words.go.
CREATE VIRTUAL TABLE listing_words USING fts5 (name, categories, city, content = '', contentless_delete = 1, detail = none);

-- What was handed to somebody: the next file under the same name tells what became of
-- listings since then.
CREATE TABLE deliveries (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL CHECK (name <> ''),
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that it has seen
    file     TEXT NOT NULL,
    rows     INTEGER NOT NULL CHECK (rows >= 0),
    filters  TEXT NOT NULL CHECK (json_valid(filters))
) STRICT;
CREATE INDEX deliveries_by_name ON deliveries (name, id);

DROP VIEW v_listings;
DROP VIEW v_companies;
DROP TRIGGER listings_gone;
ALTER TABLE listings RENAME COLUMN gone_at TO dropped_at;
ALTER TABLE listings RENAME COLUMN filled TO backfilled;
ALTER TABLE source_cities RENAME COLUMN gone_at TO removed_at;
ALTER TABLE company_merges RENAME COLUMN gone TO absorbed;
CREATE TRIGGER listings_dropped AFTER UPDATE OF dropped_at ON listings WHEN (old.dropped_at IS NULL) <> (new.dropped_at IS NULL) BEGIN
    UPDATE targets SET retired_at = new.dropped_at WHERE listing = new.id;
END;

-- Every listing with its source, where it was searched first, and what its own page adds.
-- Lists are plain: "A; B".
CREATE VIEW v_listings AS
SELECT s.name AS source, l.listing_id, l.name, ifnull(l.phone, d.phone) AS phone, ifnull(l.phone_e164, d.phone_e164) AS phone_e164, d.email,
       l.street, l.city, l.state, l.postal_code, l.service_area, ifnull(l.website, d.website) AS website, ifnull(l.domain, d.domain) AS domain,
       (SELECT group_concat(value, '; ') FROM json_each(l.categories)) AS categories,
       l.rating, l.review_count, ifnull(l.years_in_business, d.years_in_business) AS years_in_business, l.price_range, l.snippet,
       (SELECT group_concat(value, '; ') FROM json_each(ifnull(d.hours, l.hours))) AS hours,
       l.claimed, l.sponsored, l.profile_url, l.image_url, l.company_id, c.name AS searched_city, l.found_state AS searched_state,
       k.name AS searched_category, d.lat, d.lon, l.first_seen_at, l.last_seen_at, l.dropped_at, d.fetched_at AS details_read_at
FROM listings l JOIN sources s ON s.id = l.source_id LEFT JOIN details d ON d.listing = l.id
LEFT JOIN targets x ON x.id = (SELECT min(g.target_id) FROM sightings g WHERE g.listing = l.id)
LEFT JOIN cities c ON c.id = x.city_id LEFT JOIN categories k ON k.id = x.category_id;

-- Every company with how many listings it has; e-mail and hours are of its first listing
-- that has them.
CREATE VIEW v_companies AS
SELECT c.id, c.name, c.website, c.domain, c.phone_e164, c.street, c.city, c.state, c.postal_code,
       (SELECT d.email FROM listings l JOIN details d ON d.listing = l.id WHERE l.company_id = c.id AND d.email IS NOT NULL ORDER BY l.dropped_at IS NOT NULL, l.id LIMIT 1) AS email,
       (SELECT (SELECT group_concat(value, '; ') FROM json_each(ifnull(d.hours, l.hours))) FROM listings l LEFT JOIN details d ON d.listing = l.id
        WHERE l.company_id = c.id AND ifnull(d.hours, l.hours) IS NOT NULL ORDER BY l.dropped_at IS NOT NULL, l.id LIMIT 1) AS hours,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id) AS listings,
       (SELECT count(*) FROM listings l WHERE l.company_id = c.id AND l.dropped_at IS NULL) AS alive, c.first_seen_at
FROM companies c;
