-- Reviews of what the crawl dropped, restored and rejected.
-- Until where somebody has looked through what the crawl dropped, restored and rejected:
-- what is to be reviewed has a higher number in listing_events.
CREATE TABLE reviews (
    id       INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    event    INTEGER NOT NULL CHECK (event >= 0),    -- the last of listing_events that was shown
    by       TEXT NOT NULL CHECK (by IN ('command', 'page'))
) STRICT;

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
