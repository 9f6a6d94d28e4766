// Code generated from schema.sql by make manual. DO NOT EDIT.

package report

import "strings"

// What the schema says of columns: 0 or 1; JSON arrays; numbers that are no quantities.
var (
	switches = strings.Fields("auto_disabled burst_429 claimed crawled crawled_before enabled open others parse_ok proxy_failed reparsed sponsored")
	lists    = strings.Fields("ads aka categories changes hours languages listings neighborhoods organic payment reasons services social")
	names    = strings.Fields("category_id city_id committed company_id deepest_target founded hash http_status id intent lead_source listing pid run run_id source_id target_id waits_source")
)
