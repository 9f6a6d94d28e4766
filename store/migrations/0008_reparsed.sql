-- Kept pages that are read again.
ALTER TABLE listing_events ADD COLUMN reparsed INTEGER NOT NULL DEFAULT 0 CHECK (reparsed IN (0, 1));
-- How often the kept page of a target was read again with a result that was stored: a
-- replay does not store one over a later one.
CREATE TABLE reparsed (
    target_id INTEGER NOT NULL REFERENCES targets (id),
    page      INTEGER NOT NULL CHECK (page >= 1),
    times     INTEGER NOT NULL CHECK (times >= 1),
    PRIMARY KEY (target_id, page)
) STRICT, WITHOUT ROWID;

DROP VIEW v_changes;
DROP VIEW listing_changes;
CREATE VIEW listing_changes AS
SELECT e.id << 12 | x.key AS id, e.listing, x.value ->> 'field' AS field, x.value ->> 'old' AS old, x.value ->> 'new' AS new, e.run_id, e.at, e.reparsed
FROM listing_events e CROSS JOIN json_each(e.what, '$.changes') x WHERE e.kind = 'changed';
-- Every change of a listing in words.
CREATE VIEW v_changes AS
SELECT x.at, r.uuid AS run, s.name AS source, l.listing_id, l.name, l.city, l.state, x.field, x.old, x.new, l.company_id, x.reparsed
FROM listing_changes x JOIN listings l ON l.id = x.listing JOIN sources s ON s.id = l.source_id LEFT JOIN runs r ON r.id = x.run_id;
