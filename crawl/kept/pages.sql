-- The file of kept pages, NAME.db.pages.
CREATE TABLE IF NOT EXISTS pages (
	id           INTEGER PRIMARY KEY,
	key          TEXT NOT NULL,    -- of the target
	page         INTEGER NOT NULL,
	kind         TEXT NOT NULL,
	final_url    TEXT NOT NULL,
	status       INTEGER NOT NULL,
	content_type TEXT NOT NULL,
	fetched_at   TEXT NOT NULL,
	target       TEXT NOT NULL,    -- JSON, as in a line of a log
	base_url     TEXT NOT NULL,    -- of the source at that time
	filter       TEXT NOT NULL,    -- JSON: which listings were kept
	unknown      TEXT NOT NULL,    -- why its layout is not known; '' = it is
	body         BLOB NOT NULL,    -- zstd
	method       TEXT NOT NULL DEFAULT 'GET',
	request_body BLOB NOT NULL DEFAULT x'',   -- what was asked beside the address, as it is; names stand for secrets
	headers      TEXT NOT NULL DEFAULT '{}'   -- JSON: of the answer, what rules read
) STRICT;
CREATE INDEX IF NOT EXISTS pages_newest ON pages (key, page, fetched_at);
CREATE INDEX IF NOT EXISTS pages_unknown ON pages (target ->> 'source') WHERE unknown <> '';
