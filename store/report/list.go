package report

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// A List is an answer that is a table: a view of schema.sql, what narrows it, and what people see of it. A new list is a view
// and a row of Lists.
type List struct {
	Name    string // as it is typed
	View    string
	Show    string // columns that people see, the most important first; --columns chooses others
	Order   string
	Unique  string  // columns that no two rows have in common and that are never NULL and never change: those that an index has, if any
	Stages  []Stage // in which the page shows it, one after the other; none = all in its Order
	Key     string  // with it the rows are found first, then made up: where the view has them all to sort
	Noun    string
	Filters string // names of ListFilters
	Time    string // the column that the filter "since" asks
	Unless  string // a condition that the filter "all" lifts, and "run"
	Usage   string // what the list is, for help
	Page    string // where the page shows it, and its word in the navigation, "" = it has none: "/queue Queue"
	Help    string // what is to be said besides
	None    string // said where the database has none
	Headed  bool   // what is above it says when there is none
	Under   string // the group of the help, of a list that is a command by itself: others are in commands of their own
	Few     bool   // there are so few rows that all are shown, unless a limit is given
	Lives   bool   // its column state is that of a process: its lock says whether one that runs is alive

	Default map[string]string // what filters are that are not given, for help; missing = any
}

// Lists are all of them.
var Lists = []List{
	{
		Name: "targets list", Page: "/queue Queue", View: "v_targets", Unique: "id", Stages: queueStages, Noun: "target", Order: "id", Time: "finished_at",
		Show:    "id target status error next_at page failures wait health source",
		Filters: "states cities categories source kind status health schedule error since",
		Usage:   "List targets with their status, schedule and last error", Help: "--status PARKED lists those that were given up.",
	},
	{
		Name: "attempts list", Under: "Trouble", Page: "/attempts", View: "v_attempts", Unique: "id", Noun: "attempt", Order: "id DESC", Time: "started_at",
		Show: "id target started_at ended error pages listings duration_ms worker run message", Filters: "target run states source error since",
		Usage: "List attempts at targets, newest first: how they ended, and why",
	},
	{
		Name: "runs list", Page: "/runs Runs", View: "v_runs", Unique: "run", Noun: "run", Order: "run DESC", Time: "started_at",
		Show: "run started_at took_seconds state targets pages new changed dropped requests command", Filters: "since",
		Usage: "List runs, newest first: when, how they ended, what they found", None: "There is no run yet; `ypcrawl run` starts one.",
		Help: "Pages are of every kind: of results, of listings, of indexes. Targets are searches that were finished or failed.", Lives: true,
	},
	{
		Name: "workers", Under: "Trouble", Page: "/workers Workers", View: "v_run_workers", Unique: "run, worker_id", Noun: "worker",
		Order: "run DESC, length(worker_id), worker_id", Time: "started_at",
		Show:    "worker state target page pages pages_per_second heartbeat_at run host listings memory_bytes cpu_ms",
		Filters: "run all", Unless: "state = 'running'",
		Default: map[string]string{"run": "the active ones"},
		Usage:   "Show the workers of runs: targets, speed, memory and processor time",
		Help: "running: its process is alive and sends heartbeats (every 30s). silent: it has not ended, but sends no heartbeat.\n" +
			"killed: its process is gone; the next run, or `ypcrawl recover`, releases what it held.\n" +
			"unknown: it is silent, and its lock can't be checked by this user or on this disk.\n" +
			"pages_per_second is the rate of the last minute, or of its whole time for a worker that has ended. Memory and processor\n" +
			"time are those of the process, which its workers share.",
		None: "No run is active; --all shows the workers of runs that have ended.", Lives: true,
	},
	{
		Name: "companies list", Page: "/companies", View: "v_companies", Unique: "id", Noun: "company", Order: "id",
		Show: "id name listings city state phone_e164 website", Filters: "states name min-listings",
		Usage: "List companies with their numbers of listings",
	},
	{
		Name: "listings list", Page: "/listings Listings", View: "v_listings", Unique: "id", Noun: "listing", Order: "id DESC", Time: "last_seen_at",
		Show:    "listing name phone city state category rating last_seen_at status",
		Filters: "states cities categories source search has min-rating status since",
		Usage:   "List listings, newest first; `ypcrawl export` writes all of them to a file",
		Help:    "--status rejected lists listings that break a rule of their source; only --source and --states can narrow it.",
	},
	{
		Name: "listings list --status rejected", Page: "/rejected", View: "v_rejected", Unique: "source, listing_id", Noun: "listing", Order: "last_seen_at DESC",
		Show: "listing name reasons city state last_seen_at", Filters: "states source", Usage: "List listings that break a rule of their source",
	},
	{
		Name: "coverage", Page: "/coverage Coverage", View: "v_coverage", Unique: "id", Noun: "search",
		Order: "crawled DESC, percent IS NULL, percent, seen - site_total, id", Key: "id",
		Show:    "city category state site_total seen percent pages_left complete_at ending end_text source",
		Filters: "states categories source all", Unless: "crawled",
		Usage: "Show how many listings sites say they have, and how many were seen, smallest share first",
		Help: "For each city and category: the listings that the site says it has, those that the last crawl saw, and the pages\n" +
			"not read because of the limit of pages (raise it with `run --max-pages`). Retired searches are left out;\n" +
			"--all also shows those of which no page was read. If a search was not fully read, its new listings may only be new\n" +
			"to this file, and closed ones go unnoticed.",
		None: "No search has been read yet; --all shows them all.",
	},
	{
		Name: "changes", Page: "/changes Changes", Headed: true, View: "v_changes", Unique: "at, event, listing", Noun: "change",
		Order: "at DESC, event DESC, listing DESC", Time: "at", Show: "at kind listing name city state what",
		Filters: "since run source states kind lasting listing",
		Default: map[string]string{"since": "last-pass", "run": "all", "listing": "all"},
		Usage:   "Show changes of listings: new, changed, dropped, restored, rejected",
		Help: "--since takes an age (90m, 36h, 7d, 2w), a date or time in UTC (2026-11-20, 2026-11-20T23:50), or a run (its number,\n" +
			"or last), which counts from its beginning. Without --since, changes are those since the last pass of each source began.\n" +
			"A listing is dropped (closed) when two complete crawls in a row of every search that showed it no longer do, or when two\n" +
			"complete reads in a row of the site's index lack the city of the search (city_left_index).",
	},
	{
		Name: "details stats", Few: true, View: "v_detail_progress", Unique: "source, state", Noun: "detail", Order: "source, state",
		Show:    "state wanted planned done failed parked stuck fetched with_email with_phone with_website with_hours with_geo source",
		Filters: "states source",
		Usage:   "Count own pages by source and state: wanted, done, failed, with e-mail, hours, geo",
		None:    "Own pages are not planned yet: run --details, or `ypcrawl details`.",
	},
	{
		Name: "discover stats", Few: true, View: "v_indexes", Unique: "source, state", Noun: "index", Order: "source, state",
		Show:    "state cities new removed by_slug by_name unmatched targets retired status page pages complete_at message source",
		Filters: "states source",
		Usage:   "Show how many cities indexes have, by state", None: "No index has been read yet; `ypcrawl discover --states AZ` reads one.",
	},
	{
		Name: "export deliveries", View: "v_deliveries", Unique: "id", Noun: "delivery", Order: "name", Show: "name at rows file listings filters",
		Usage: "List what was delivered under the names of --as",
		None:  "Nothing has been delivered yet; `ypcrawl export -o FILE --as NAME` remembers what it delivers.",
	},
	{
		Name: "proxies list", Few: true, View: "v_proxies", Unique: "id", Noun: "proxy", Order: "id",
		Show:  "id name state successes failures consecutive_failures last_used_at last_error",
		Usage: "List proxies with their results; passwords are never shown", None: "There are no proxies; `ypcrawl proxies add` adds some.",
	},
	{
		Name: "sources", Page: "/sources Sources", View: "v_sources", Unique: "source", Few: true, Noun: "source", Order: "source",
		Show: "source availability status stage base_url reason until success_1h_percent samples_1h latency_p50_ms latency_p95_ms last_block_at", Usage: "List sources: whether they may be crawled, and how they respond",
	},
	{
		Name: "hosts list", Under: "Sources", Page: "/hosts", View: "v_hosts", Unique: "source, host", Few: true, Noun: "host", Order: "source, host", Filters: "source",
		Show:  "host pace_ms pace_reason held_until reason blocks next_at source",
		Usage: "List the hosts of sources: their pace, and whether they are held",
		None:  "No host has been asked yet.",
	},
	{
		Name: "errors", Under: "Trouble", Page: "/errors Errors", Few: true, View: "v_crawl_error_summary", Unique: "source, error_code", Noun: "error",
		Order: "occurrences DESC, error_code, source", Show: "error_code occurrences targets last_seen mean_duration_ms source",
		Filters: "source", Usage: "Show how the attempts of the last 7 days ended, by error code",
	},
	{
		Name: "waits", Under: "Trouble", Page: "/waits", Few: true, View: "v_waits", Unique: "source, kind, reason", Noun: "wait",
		Order: "source, targets DESC, reason", Show: "reason targets next_at last_at kind source", Filters: "source",
		Usage: "Show what targets wait for, and until when", None: "Nothing waits.",
	},
}

// ListFilter narrows lists. It means the same in each.
type ListFilter struct {
	Name, Usage string
	Where       string // a condition on the view, ? its value; {time} is the list's column of time
	Kind        FilterKind
	Values      []string // what it may be; nil = anything
	Default     string   // "" = it does not narrow unless it is given
}

const (
	listingOfCategory = `(id IN (
			SELECT g.listing
			FROM categories k
				CROSS JOIN targets t ON t.category_id = k.id AND t.kind = 'search'
				CROSS JOIN sightings g ON g.target_id = t.id
			WHERE lower(k.name) IN (SELECT lower(value) FROM json_each(?)) OR k.slug IN (SELECT lower(value) FROM json_each(?)))
		OR EXISTS (
			SELECT 1 FROM listings l, json_each(l.categories) v
			WHERE l.id = v_listings.id AND lower(v.value) IN (SELECT lower(value) FROM json_each(?))))`
	// {"row": number, "source": number, "id": text}
	listingHistory = `listing_id = ? ->> 'id' AND event IN (
			SELECT id FROM (SELECT id FROM listing_events WHERE listing <= ? ->> 'row' AND kind = 'new' ORDER BY listing DESC LIMIT 1)
			UNION ALL
			SELECT id FROM listing_events WHERE listing = ? ->> 'row' AND kind <> 'new'
			UNION ALL
			SELECT id FROM listing_events WHERE listing IS NULL AND source_id = ? ->> 'source' AND listing_id = ? ->> 'id')`
	lastingChange = `(kind NOT IN ('dropped', 'restored') OR event = (
			SELECT max(x.id) FROM listing_events x
			WHERE x.listing = (SELECT o.listing FROM listing_events o WHERE o.id = v_changes.event)
				AND x.kind IN ('dropped', 'restored')))`
	listingStatus = `(status = iif(? = 'restored', 'open', ?) AND (? <> 'restored' OR id IN (
			SELECT listing FROM listing_events INDEXED BY listing_events_closings
			WHERE kind IN ('dropped', 'restored', 'rejected') AND kind = 'restored')))`
)

// FilterKind says what a filter takes.
type FilterKind int

// Kinds of filters.
const (
	OneWord FilterKind = iota
	ManyWords
	Number
	Moment // an age, a time, or a run
	Switch // given: the condition does not apply
	Only   // given: the condition applies
)

// ListFilters are all of them, each declared once.
var ListFilters = []ListFilter{
	{"states", "only in these states: `STATE...` is TX, California, ...", `state IN (SELECT value FROM json_each(?))`, ManyWords, nil, ""},
	{"cities", "only in these cities: `CITY...` by name", `lower(city) IN (SELECT lower(value) FROM json_each(?))`, ManyWords, nil, ""},
	{
		"categories", "only of these: `CATEGORY...` by name or slug",
		`category IN (SELECT k.name FROM categories k JOIN json_each(?) j ON lower(j.value) IN (lower(k.name), k.slug))`, ManyWords, nil, "",
	},
	{"source", "only this `SOURCE`", `source = ?`, OneWord, nil, ""},
	{"kind", "only these kinds: `KIND...` is search, detail, index", `kind IN (SELECT value FROM json_each(?))`, ManyWords, texts(yp.Kinds()), ""},
	{
		"status", "only with these: `STATUS...` is PLANNED, IN_PROGRESS, DONE, FAILED, STUCK, PARKED",
		`status IN (SELECT value FROM json_each(?))`, ManyWords, texts(yp.Statuses()), "",
	},
	{
		"health", "only with these: `HEALTH...` is active, degraded, paused, failed, disabled",
		`health IN (SELECT value FROM json_each(?))`, ManyWords, append(texts(yp.Healths()), "disabled"), "",
	},
	{
		"schedule", "only with these: `SCHEDULE...` is DUE, SCHEDULED, DEGRADED, PAUSED, FAILED, NEEDS_PLAN, NOT_SCHEDULED",
		`schedule IN (SELECT value FROM json_each(?))`, ManyWords, texts(Schedules()), "",
	},
	{"error", "only those whose last error has this `CODE`, such as TIMEOUT", `error = ?`, OneWord, texts(yp.ErrorCodes()), ""},
	{"since", "only since `7d|DATE|RUN`: the last 7 days, a date or the start of a run", `{time} >= ?`, Moment, nil, ""},
	{"run", "only of this `RUN`: its number, or last", `run = ?`, OneWord, nil, ""},
	{"target", "only of this `TARGET`: its id, or city/category", `target_id = ?`, OneWord, nil, ""},
	{"name", "only those with this `TEXT` in their name", `instr(lower(name), lower(?)) > 0`, OneWord, nil, ""},
	{"min-listings", "only those with so many `LISTINGS` or more", `listings >= ?`, Number, nil, ""},
	{"all", "all of them", `{unless}`, Switch, nil, ""},

	{
		"error@v_targets", "only those whose last attempt ended with this `CODE`, such as TIMEOUT, or NO_LISTINGS",
		`code = ?`, OneWord, texts(yp.ErrorCodes()), "",
	},
	{
		"since@v_changes", "changes since `last-pass|7d|DATE|RUN`",
		`at >= ? ->> '$.all' AND at >= ifnull(? ->> ('$."' || source || '"'), '')`, Moment, nil, "",
	},
	{"states@v_changes", "", `found_state IN (SELECT value FROM json_each(?))`, ManyWords, nil, ""},
	{
		"kind@v_changes", "only these kinds: `KIND...` is new, changed, dropped, restored, rejected",
		`kind IN (SELECT value FROM json_each(?))`, ManyWords, texts(ChangeKinds()), "",
	},
	{
		"lasting", "leave out changes that a later one undid: listings that were dropped and came back, or the reverse",
		lastingChange, Only, nil, "",
	},
	{"listing", "the whole history of one listing, `SOURCE/ID`", listingHistory, OneWord, nil, ""},

	// Of a listing its own place and categories count, and those that it was searched under.
	{"states@v_listings", "", `ifnull(state, searched_state) IN (SELECT value FROM json_each(?))`, ManyWords, nil, ""},
	{
		"cities@v_listings", "only in these cities: `CITY...` by name",
		`lower(ifnull(city, searched_city)) IN (SELECT lower(value) FROM json_each(?))`, ManyWords, nil, "",
	},
	{
		"categories@v_listings", "only those found by searches for these, or listed under them: `CATEGORY...`",
		listingOfCategory, ManyWords, nil, "",
	},
	{
		"status@v_listings", "only this `STATUS`: open, dropped, rejected, restored", listingStatus, OneWord,
		texts(ListingStatuses()), "open",
	},
	{
		"search", "only those with all these `WORDS` in name, categories or city",
		`id IN (SELECT rowid FROM listing_words WHERE listing_words MATCH ?)`, ManyWords, nil, "",
	},
	{"has", "only those that have these: `COLUMN...` is email, phone, website, hours ...", "", ManyWords, nil, ""},
	{"min-rating", "only those rated `STARS` or better, from 0.5 to 5", `rating >= ?`, Number, nil, ""},
}

// Find finds a list by its name.
func Find(name string) List {
	return Lists[slices.IndexFunc(Lists, func(l List) bool { return l.Name == name })]
}

// Narrows returns the filters of a list.
func (l List) Narrows() (all []ListFilter) {
	for _, name := range strings.Fields(l.Filters) {
		i := slices.IndexFunc(ListFilters, func(f ListFilter) bool { return f.Name == name+"@"+l.View })
		if i < 0 {
			i = slices.IndexFunc(ListFilters, func(f ListFilter) bool { return f.Name == name })
		}
		f := ListFilters[i]
		f.Name = name
		all = append(all, f)
	}
	return all
}

// Parse reads words as the value of a filter: texts, one text, or a number. Which states are meant, KnownStates says.
func (f ListFilter) Parse(words []string) (any, error) {
	for i, word := range words {
		if words[i] = strings.TrimSpace(word); f.Values == nil {
			continue
		}
		n := slices.IndexFunc(f.Values, func(v string) bool { return strings.EqualFold(v, strings.ReplaceAll(words[i], "-", "_")) })
		if n < 0 {
			return nil, fmt.Errorf("unknown %s %q: %s", f.Name, word, Meant(word, f.Values))
		}
		words[i] = f.Values[n]
	}
	switch f.Kind {
	case ManyWords:
		if f.Name == "search" && slices.ContainsFunc(words, func(word string) bool { return len(wordsIn(word)) == 0 }) {
			return nil, fmt.Errorf("%q: want words of letters or digits", strings.Join(words, " "))
		}
		return words, nil
	case Number:
		n, err := strconv.ParseFloat(words[0], 64)
		if err != nil || !(n >= 0) {
			return nil, fmt.Errorf("%q: want a number from 0 up", words[0])
		}
		if f.Name == "min-rating" && n > 5 {
			return nil, fmt.Errorf("%q: want stars from 0.5 to 5", words[0])
		}
		return n, nil
	case Switch, Only:
		return true, nil
	}
	return words[0], nil
}

// Choice is what is asked of a list: values of its filters by name, a text, a number, or texts.
type Choice struct {
	Values  map[string]any
	Columns []string    // none = all
	Limit   int         // 0 = all
	Sort    string      // of Part alone: a column, "-column" for its greatest first, ByKey, or "" = as the list is sorted
	Scope   store.Scope // source and states count, of lists that have these filters: beside what is chosen
}

// TextsOf is the value of a filter that takes several.
func TextsOf(values map[string]any, filter string) []string {
	all, _ := values[filter].([]string)
	return all
}

// Rows takes an answer: the names of its columns, then each row. Values are texts, integers, floats, or nil.
type Rows interface {
	Head(columns []string) error
	Row(values []any) error
}

// List asks a list. The error is a *NotFoundError where a name selects nothing, or a column is unknown.
func (k *Reader) List(ctx context.Context, l List, choice Choice, to Rows) error {
	if err := k.known(ctx, choice); err != nil {
		return err
	}
	query, args, err := k.question(ctx, l, choice)
	if err != nil {
		return err
	}
	if l.Lives {
		to = &judged{Rows: to, k: k}
	}
	if err := rowsOf(ctx, k.pool(), query, args, to); err != nil {
		return fmt.Errorf("list from %s: %w", l.View, err)
	}
	return nil
}

// question is the statement that answers for a choice of a list. It is made of the list's view and the filters that are
// given, and looks like
//
//	SELECT id, target, status FROM v_targets WHERE 1 AND state IN (SELECT value FROM json_each(?)) AND status = ? ORDER BY id LIMIT 20
func (k *Reader) question(ctx context.Context, l List, choice Choice) (query string, args []any, err error) {
	columns, order := "*", l.Order
	if len(choice.Columns) > 0 {
		columns = strings.Join(choice.Columns, ", ")
		err = k.haveColumns(ctx, l, "columns", choice.Columns)
	}
	w, wrong := k.narrow(ctx, l, choice)
	if err = cmp.Or(err, wrong); err != nil {
		return "", nil, err
	}
	if w.few {
		order = "+" + order
	}
	if l.Lives {
		columns += ", uuid, host, heartbeat_at"
	}
	of := " FROM " + l.View + " WHERE " + strings.Join(w.parts, " AND ") + " ORDER BY " + order
	if choice.Limit > 0 {
		of += fmt.Sprintf(" LIMIT %d", choice.Limit)
	}
	if l.Key != "" {
		of = " FROM " + l.View + " WHERE " + l.Key + " IN (SELECT " + l.Key + of + ") ORDER BY " + order
	}
	return "SELECT " + columns + of, w.args, nil
}

// haveColumns says which column of a flag a list does not have.
func (k *Reader) haveColumns(ctx context.Context, l List, flag string, names []string) error {
	all, err := list(ctx, k, "columns of "+l.View, `SELECT name FROM pragma_table_info(?)`, []any{l.View}, value[string])
	for _, name := range names {
		if err == nil && !slices.Contains(all, name) {
			err = &NotFoundError{What: fmt.Sprintf("--%s: no column %q", flag, name), Hint: Meant(name, all)}
		}
	}
	return err
}

// condition is the parts of a WHERE clause and their arguments.
type condition struct {
	parts []string
	args  []any
	few   bool // the rows are few, and sorted when they are found
}

func (w *condition) and(part string, args ...any) {
	w.parts, w.args = append(w.parts, part), append(w.args, args...)
}

// narrow is what a choice narrows a list to.
func (k *Reader) narrow(ctx context.Context, l List, choice Choice) (w condition, err error) {
	w.and("1")
	if l.View == "v_companies" && choice.Scope.SourceID != 0 {
		w.and(`EXISTS (SELECT 1 FROM listings l WHERE l.company_id = v_companies.id AND l.source_id = ?)`, choice.Scope.SourceID)
	}
	for _, f := range l.Narrows() {
		if f.Name == "states" && len(choice.Scope.States) > 0 {
			w.and(f.Where, store.JSONTexts(choice.Scope.States))
		}
		if f.Name == "source" && choice.Scope.SourceID != 0 {
			w.and(`source = (SELECT name FROM sources WHERE id = ?)`, choice.Scope.SourceID)
		}
		v, given := choice.Values[f.Name]
		if given == (f.Kind == Switch) || f.Kind == Switch && choice.Values["run"] != nil { // of a run that is named all is shown
			continue
		}
		words, many := v.([]string)
		if f.Name == "has" {
			if err := k.haveColumns(ctx, l, "has", words); err != nil {
				return w, err
			}
			w.and(strings.Join(words, " IS NOT NULL AND ") + " IS NOT NULL")
			continue
		}
		if many {
			if f.Name == "status" && !slices.ContainsFunc(words, func(s string) bool { return !yp.Status(s).Resettable() }) {
				w.and(`status IN ('FAILED', 'STUCK', 'PARKED') AND retired_at IS NULL`) // as the index targets_troubled has it
				w.few = true
			}
			if v = store.JSONTexts(words); f.Name == "search" {
				v = matchWords(strings.Join(words, " "))
			}
		}
		w.and(strings.NewReplacer("{time}", l.Time, "{unless}", l.Unless).Replace(f.Where),
			slices.Repeat([]any{v}, strings.Count(f.Where, "?"))...)
	}
	return w, nil
}

// judged looks at the lock of each run that has not ended, see life. The last three columns are asked for that alone.
type judged struct {
	Rows
	k     *Reader
	state int // the column state; -1 = not asked for
}

// Head implements Rows.
func (j *judged) Head(columns []string) error {
	columns = columns[:len(columns)-3]
	j.state = slices.Index(columns, "state")
	return j.Rows.Head(columns)
}

// Row implements Rows.
func (j *judged) Row(values []any) error {
	own := len(values) - 3
	if j.state >= 0 && values[j.state] == "running" {
		var heartbeat time.Time
		_ = at(&heartbeat).Scan(values[own+2]) // what is no time is zero
		values[j.state] = j.k.life(fmt.Sprint(values[own]), fmt.Sprint(values[own+1]), heartbeat)
	}
	return j.Rows.Row(values[:own])
}

// Check says which name of a choice the database does not have: a source, a city, a category, a column.
func (k *Reader) Check(ctx context.Context, l List, choice Choice) error {
	err := k.known(ctx, choice)
	if err == nil {
		_, _, err = k.question(ctx, l, choice)
	}
	return err
}

func (k *Reader) known(ctx context.Context, choice Choice) error {
	if name, ok := choice.Values["source"].(string); ok {
		if id, err := k.SourceID(ctx, name); err != nil {
			return err
		} else if id == 0 {
			return &NotFoundError{What: fmt.Sprintf("--source %q: nothing is planned for that source in %s", name, k.db.Path())}
		}
	}
	if err := k.CheckNames(ctx, TextsOf(choice.Values, "cities"), nil); err != nil {
		return ofFlag("cities", err)
	}
	return ofFlag("categories", k.CheckNames(ctx, nil, TextsOf(choice.Values, "categories")))
}

// ofFlag names the flag whose value was not found.
func ofFlag(flag string, err error) error {
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		missing.What = "--" + flag + ": " + missing.What
	}
	return err
}

// rowsOf hands the rows of a query over as they come.
func rowsOf(ctx context.Context, db pool, query string, args []any, to Rows) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	return handOver(rows, to)
}

// Query answers a question that somebody else wrote, see store.DB.Question. What SQLite can't answer is a *QuestionError.
func (k *Reader) Query(ctx context.Context, query string, to Rows) error {
	var refused error // by to
	err := k.db.Question(ctx, query, func(rows *sql.Rows) error {
		watch := &refusing{Rows: to}
		err := handOver(rows, watch)
		refused = watch.err
		return err
	})
	if refused != nil {
		return err
	}
	return k.asked(ctx, query, err)
}

// refusing keeps the error with which rows were not taken: it is no fault of the question.
type refusing struct {
	Rows
	err error
}

func (r *refusing) Head(columns []string) error {
	r.err = r.Rows.Head(columns)
	return r.err
}

func (r *refusing) Row(values []any) error {
	r.err = r.Rows.Row(values)
	return r.err
}

func handOver(rows *sql.Rows, to Rows) error {
	names, err := rows.Columns()
	if err == nil {
		err = to.Head(names)
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for err == nil && rows.Next() {
		if err = rows.Scan(into...); err == nil {
			err = to.Row(values)
		}
	}
	if err == nil {
		err = rows.Err()
	}
	return err
}
