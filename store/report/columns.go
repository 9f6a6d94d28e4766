// Code generated from schema.sql by make manual. DO NOT EDIT.

package report

import "strings"

// What the schema says of columns: 0 or 1; JSON arrays; numbers that are no quantities.
var (
	switches = strings.Fields("auto_disabled burst_429 claimed crawled crawled_before enabled open others parse_ok proxy_failed reparsed sponsored")
	lists    = strings.Fields("ads aka categories changes hours languages listings neighborhoods organic payment reasons services social")
	names    = strings.Fields("category_id city_id committed company_id deepest_target founded hash http_status id intent lead_source listing pid run run_id source_id target_id waits_source")
)

// What the schema says of the columns of v_listings.
var meanings = [...][2]string{
	{"about", "what the business says about itself, on the listing's own page"},
	{"address", "the whole address in one line, if it could not be split with certainty"},
	{"aka", "other names of the business"},
	{"categories", "everything the source says the business does"},
	{"category", "the first of categories, or the one searched for"},
	{"city", "name of the city; NULL = unknown"},
	{"claimed", "1 = the source says that the owner manages the listing"},
	{"company_id", "row of the listing's company"},
	{"country", "country of the source (ISO 3166 code), such as US"},
	{"details_read_at", "when the listing's own page was last read; NULL = never"},
	{"domain", "domain of the website, without \"www.\""},
	{"dropped_at", "when it closed: every search that had shown it was read to the end twice without it, or its city was missing from two reads of the index"},
	{"email", "e-mail address, from the listing's own page or from structured data"},
	{"first_seen_at", "when it was first seen"},
	{"founded", "year"},
	{"hours", "opening hours, a list of texts such as \"Mo 09:00-17:00\"; days without an entry are closed, [] = always closed"},
	{"id", "number of the row; never reused"},
	{"image_url", "address of the listing's picture"},
	{"languages", "languages spoken there"},
	{"last_seen_at", "when it was last seen"},
	{"lat", "latitude in degrees"},
	{"listing", "the listing's name in commands: source/listing_id"},
	{"listing_id", "id that the source itself gives the listing"},
	{"lon", "longitude in degrees"},
	{"name", "name of the business"},
	{"neighborhoods", "neighborhoods that the business serves"},
	{"payment", "accepted ways to pay"},
	{"phone", "phone number as the source writes it"},
	{"phone_e164", "phone number in international form, \"+13105550123\"; NULL = its country is not known"},
	{"postal_code", "postal code as its country writes it"},
	{"price_range", "price level such as \"$$\""},
	{"profile_url", "address of the listing's own page"},
	{"rating", "0.5 to 5 stars, with at most two decimals"},
	{"review_count", "number of reviews"},
	{"searched_category", "category of the search that first showed the listing"},
	{"searched_city", "city of the search that first showed the listing"},
	{"searched_state", "state of the search that first showed the listing"},
	{"service_area", "area served by a business without an address"},
	{"services", "services that the business offers"},
	{"snippet", "short text shown beside the listing"},
	{"social", "addresses of social media pages"},
	{"source", "name of the source"},
	{"sponsored", "1 = shown as an ad"},
	{"state", "code of the state, such as CA; the state's name if it has no code"},
	{"status", "open, or dropped = closed: its source no longer shows it"},
	{"street", "street and house number"},
	{"website", "home page, in normal form"},
	{"years_in_business", "years in business, as the source says"},
}
