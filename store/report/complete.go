package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/store"
)

// Word is a word that a shell may offer, with what it stands for.
type Word struct{ Text, About string }

// WordKind is what words stand for.
type WordKind string

// The kinds of words that a database knows.
const (
	WordSource   WordKind = "source"
	WordCity     WordKind = "city"
	WordCityName WordKind = "name of a city" // for filters of listings, which know no slugs
	WordCategory WordKind = "category"
	WordTarget   WordKind = "target"
	WordDead     WordKind = "dead letter"
	WordCompany  WordKind = "company"
	WordListing  WordKind = "listing"
	WordRun      WordKind = "run"
	WordDelivery WordKind = "delivery"
	WordProxy    WordKind = "proxy"
)

// Each asks for words from ?1 up to ?2, at most ?3 of them, by an index where the table may be large. A target is CITY/CATEGORY, a
// listing SOURCE/ID: of these ?4 and ?5 bound what stands behind the slash.
var wordQueries = map[WordKind]string{
	WordSource:   `SELECT name, base_url FROM sources WHERE name >= ?1 AND name < ?2 LIMIT ?3`,
	WordCity:     `SELECT slug, name || ', ' || state FROM cities WHERE slug >= ?1 AND slug < ?2 LIMIT ?3`,
	WordCityName: `SELECT DISTINCT name, state FROM cities WHERE substr(lower(name), 1, length(?1)) = lower(?1) AND ?2 = ?2 ORDER BY 1 LIMIT ?3`,
	WordCategory: `SELECT slug, name FROM categories WHERE slug >= ?1 AND slug < ?2 LIMIT ?3`,
	WordTarget: `SELECT c.slug || '/' || k.slug, t.status || ' of ' || s.name FROM sources s CROSS JOIN cities c
		CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = s.id AND t.city_id = c.id CROSS JOIN categories k ON k.id = t.category_id
		WHERE c.slug >= ?1 AND c.slug < ?2 AND k.slug >= ?4 AND k.slug < ?5 LIMIT ?3`,
	WordDead: `SELECT id, source || ': ' || ifnull(listing, category || ' in ' || city) || ': ' || last_error_code FROM v_dead_letters WHERE kind <> 'index' AND ?1 < ?2 LIMIT ?3`,
	WordListing: `SELECT s.name || '/' || l.listing_id, l.name || ifnull(', ' || l.city, '') FROM sources s CROSS JOIN listings l ON l.source_id = s.id
		WHERE s.name >= ?1 AND s.name < ?2 AND l.listing_id >= ?4 AND l.listing_id < ?5 LIMIT ?3`,
	WordRun:      `SELECT id, substr(started_at, 1, 16) || 'Z ' || outcome FROM runs WHERE ?1 < ?2 ORDER BY id DESC LIMIT ?3`,
	WordDelivery: `SELECT name, max(substr(at, 1, 10)) || ' ' || file FROM deliveries WHERE name >= ?1 AND name < ?2 GROUP BY name LIMIT ?3`,
	WordProxy:    `SELECT name, iif(enabled, '', 'disabled') FROM proxies WHERE name >= ?1 AND name < ?2 LIMIT ?3`,
}

const companyWords = `SELECT c.id, c.name FROM json_each(?1) j CROSS JOIN companies c ON c.id BETWEEN j.value ->> 0 AND j.value ->> 1 LIMIT ?2`

// Words lists words of a kind that begin with prefix, at most limit of them. It reads by indexes:
// what is not found quickly is not worth a wait at a shell's prompt.
func (k *Reader) Words(ctx context.Context, kind WordKind, prefix string, limit int) ([]Word, error) {
	what := fmt.Sprintf("look for a %s", kind)
	if kind == WordCompany {
		return list(ctx, k, what, companyWords, []any{numbersWith(prefix), limit}, fields[Word])
	}
	const end = "\U0010FFFF"
	query := wordQueries[kind]
	args := []any{prefix, prefix + end, limit}
	if strings.Contains(query, "?5") {
		head, tail, behind := strings.Cut(prefix, "/")
		args = []any{head, head + end, limit, tail, tail + end}
		if behind {
			args[1] = head + "\x00" // that one alone
		}
	}
	return list(ctx, k, what, query, args, fields[Word])
}

// numbersWith are the ranges of numbers that begin with the digits of prefix, as JSON.
func numbersWith(prefix string) string {
	if prefix == "" {
		return `[[1, 9223372036854775807]]`
	}
	first, err := strconv.ParseInt(prefix, 10, 32)
	if err != nil || first < 1 {
		return "[]"
	}
	var ranges [][2]int64
	for from, size := first, int64(1); from < 1e12; from, size = from*10, size*10 {
		ranges = append(ranges, [2]int64{from, from + size - 1})
	}
	return store.JSON(ranges)
}
