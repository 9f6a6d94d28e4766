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
	{"about", "what the business says of itself, on the listing's own page"},
	{"address", "where it is, in one line, where that could not be split surely"},
	{"aka", "other names of the business"},
	{"categories", "all that the source says the business does"},
	{"category", "the first, or the searched one"},
	{"city", "name of the city; NULL = none"},
	{"claimed", "1 = the source says that the owner looks after the listing"},
	{"company_id", "row of the company of the listing"},
	{"country", "country of the source (ISO 3166), \"US\""},
	{"details_read_at", "when the listing's own page was read last; NULL = never"},
	{"domain", "of the website, without \"www.\""},
	{"dropped_at", "every target that showed it was crawled to its end twice without it, or its city is missing from two reads of the index"},
	{"email", "e-mail address, from the listing's own page or the structured data of another"},
	{"first_seen_at", "when it was seen first"},
	{"founded", "year"},
	{"hours", "opening hours, a list of \"Mo 09:00-17:00\"; days that are closed are left out, [] = always closed"},
	{"id", "number of the row; never given again"},
	{"image_url", "address of the listing's picture"},
	{"languages", "that are spoken there"},
	{"last_seen_at", "when it was seen last"},
	{"lat", "latitude in degrees"},
	{"listing", "its name for commands: source/listing_id"},
	{"listing_id", "number or name that the source itself gives the listing"},
	{"lon", "longitude in degrees"},
	{"name", "of the business"},
	{"neighborhoods", "where the business works"},
	{"payment", "ways to pay"},
	{"phone", "as the source writes it"},
	{"phone_e164", "the same as \"+13105550123\"; NULL = its country is not known"},
	{"postal_code", "postal code, as its country writes it"},
	{"price_range", "as \"$$\""},
	{"profile_url", "address of the listing's own page"},
	{"rating", "0.5 to 5 stars, with two decimals at most"},
	{"review_count", "number of reviews"},
	{"searched_category", "category of the search that showed the listing first"},
	{"searched_city", "city of it"},
	{"searched_state", "state of it"},
	{"service_area", "where a business works that has no address"},
	{"services", "what it offers"},
	{"snippet", "text beside the listing"},
	{"social", "addresses in social networks"},
	{"source", "name of the source"},
	{"sponsored", "1 = shown as an ad"},
	{"state", "code of the state, \"CA\"; where it has none, its name"},
	{"status", "open, or dropped: its source no longer shows it"},
	{"street", "street and number"},
	{"website", "home page in its normal form"},
	{"years_in_business", "as the source says"},
}
