package report

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

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
	Noun    string
	Filters string // names of ListFilters
	Time    string // the column that the filter "since" asks
	Usage   string // what the list is, for help
	Help    string // what is to be said besides
	None    string // said where the database has none
	Lives   bool   // its column state is that of a process: its lock says whether one that runs is alive
}

// Lists are all of them.
var Lists = []List{
	{
		Name: "targets list", View: "v_targets", Noun: "target", Order: "id", Time: "finished_at",
		Show: "id target status error next_at page failures wait health source", Filters: "states cities categories source kind status health schedule error since",
		Usage: "List targets with their status, schedule and last error", Help: "The dead letters are those of --status PARKED.",
	},
	{
		Name: "attempts list", View: "v_attempts", Noun: "attempt", Order: "started_at DESC, id DESC", Time: "started_at",
		Show: "id target started_at ended error pages listings duration_ms worker run message", Filters: "target run states source error since",
		Usage: "List attempts at targets, the newest first: how they ended, and why",
	},
	{
		Name: "runs list", View: "v_runs", Noun: "run", Order: "run DESC", Time: "started_at",
		Show: "run started_at took_seconds state targets pages new dropped requests exit_code command", Filters: "since",
		Usage: "List runs, the newest first: when, how they ended, what they brought", None: "No run is known: `ypcrawl run` starts one.",
		Help: "Pages are those of every kind: of results, of listings, of indexes. Targets are searches brought to an outcome.", Lives: true,
	},
	{
		Name: "workers", View: "v_run_workers", Noun: "worker", Order: "run DESC, length(worker_id), worker_id", Time: "started_at",
		Show: "worker state target page pages pages_per_second heartbeat_at run host listings memory_bytes cpu_ms", Filters: "run all",
		Usage: "Show the workers of runs: their targets, speed, memory and processor time",
		Help: "running: its process lives and sends heartbeats (every 30s). silent: it has not ended and sends no heartbeat.\n" +
			"killed: its process is gone; the next run, or `ypcrawl recover`, releases what it held.\n" +
			"pages_per_second is the rate of the last minute; for an ended worker that of all its time. Memory and processor\n" +
			"time are those of its process, which its workers share.",
		None: "No run is under way: --all shows the workers of those that have ended.", Lives: true,
	},
	{
		Name: "companies list", View: "v_companies", Noun: "company", Order: "id",
		Show: "id name listings city state phone_e164 website", Filters: "states name min-listings",
		Usage: "List companies with how many listings they have",
	},
	{
		Name: "proxies list", View: "v_proxies", Noun: "proxy", Order: "id", Show: "id name state successes failures consecutive_failures last_used_at last_error",
		Usage: "List the proxies with their results; passwords are never shown", None: "There are no proxies; `ypcrawl proxies add` adds some.",
	},
	{
		Name: "errors", View: "v_crawl_error_summary", Noun: "error", Order: "source, occurrences DESC, error_code", Show: "error_code occurrences targets last_seen mean_duration_ms source",
		Filters: "source", Usage: "Show how the attempts of the last 7 days ended, by code",
	},
	{
		Name: "waits", View: "v_waits", Noun: "wait", Order: "source, targets DESC, reason", Show: "reason targets next_at last_at kind source", Filters: "source",
		Usage: "Show what targets wait for, and until when", None: "Nothing waits.",
	},
}

// ListFilter narrows lists. It means the same in each.
type ListFilter struct {
	Name, Usage string
	Where       string // a condition on the view, ? its value; {time} is the list's column of time
	Kind        FilterKind
	Values      []string // what it may be; nil = anything
}

// FilterKind says what a filter takes.
type FilterKind int

// Kinds of filters.
const (
	OneWord FilterKind = iota
	ManyWords
	Number
	Moment // an age, a time, or a run
	Switch // given: the condition does not apply
)

// ListFilters are all of them, each declared once.
var ListFilters = []ListFilter{
	{"states", "only in these: `STATE...` is TX, California, ...", `state IN (SELECT value FROM json_each(?))`, ManyWords, nil},
	{"cities", "only in these: `CITY...` by name", `lower(city) IN (SELECT lower(value) FROM json_each(?))`, ManyWords, nil},
	{"categories", "only of these: `CATEGORY...` by name", `lower(category) IN (SELECT lower(value) FROM json_each(?))`, ManyWords, nil},
	{"source", "only this `SOURCE`", `source = ?`, OneWord, nil},
	{"kind", "only these: `KIND...` is search, detail, index", `kind IN (SELECT value FROM json_each(?))`, ManyWords, texts(yp.Kinds())},
	{"status", "only these: `STATUS...` is PLANNED, IN_PROGRESS, DONE, FAILED, STUCK, PARKED", `status IN (SELECT value FROM json_each(?))`, ManyWords, texts(yp.Statuses())},
	{"health", "only these: `HEALTH...` is active, degraded, paused, failed", `health IN (SELECT value FROM json_each(?))`, ManyWords, texts(yp.Healths())},
	{"schedule", "only these: `SCHEDULE...` is DUE, SCHEDULED, DEGRADED, PAUSED, FAILED, NEEDS_PLAN, NOT_SCHEDULED", `schedule IN (SELECT value FROM json_each(?))`, ManyWords, texts(Schedules())},
	{"error", "only those whose last error has this `CODE`, such as TIMEOUT", `error = ?`, OneWord, texts(yp.ErrorCodes())},
	{"since", "only since this `7d|DATE|RUN`", `{time} >= ?`, Moment, nil},
	{"run", "only of this `RUN`: its number, the first letters of its uuid, or last", `run = ?`, OneWord, nil},
	{"target", "only of this `TARGET`: its id, or city/category", `target_id = ?`, OneWord, nil},
	{"name", "only those with this `TEXT` in their name", `instr(lower(name), lower(?)) > 0`, OneWord, nil},
	{"min-listings", "only those with so many `LISTINGS` or more", `listings >= ?`, Number, nil},
	{"all", "those that have ended, too", `state = 'running'`, Switch, nil},
}

// Find finds a list by its name.
func Find(name string) List {
	return Lists[slices.IndexFunc(Lists, func(l List) bool { return l.Name == name })]
}

// Narrows returns the filters of a list.
func (l List) Narrows() (all []ListFilter) {
	for _, name := range strings.Fields(l.Filters) {
		all = append(all, ListFilters[slices.IndexFunc(ListFilters, func(f ListFilter) bool { return f.Name == name })])
	}
	return all
}

// Choice is what is asked of a list: values of its filters by name, a text, a number, or texts.
type Choice struct {
	Values  map[string]any
	Columns []string // none = all
	Limit   int      // 0 = all
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
	if err := rowsOf(ctx, k.db.Read(), query, args, to); err != nil {
		return fmt.Errorf("list from %s: %w", l.View, err)
	}
	return nil
}

// question is the statement that answers for a choice of a list.
func (k *Reader) question(ctx context.Context, l List, choice Choice) (query string, args []any, err error) {
	columns := "*"
	if len(choice.Columns) > 0 {
		all, err := list(ctx, k, "columns of "+l.View, `SELECT name FROM pragma_table_info(?)`, []any{l.View}, value[string])
		if err != nil {
			return "", nil, err
		}
		for _, name := range choice.Columns {
			if !slices.Contains(all, name) {
				return "", nil, &NotFoundError{What: fmt.Sprintf("no column %q", name), Hint: Meant(name, all)}
			}
		}
		columns = strings.Join(choice.Columns, ", ")
	}
	where, order := []string{"1"}, l.Order
	for _, f := range l.Narrows() {
		v, given := choice.Values[f.Name]
		if given == (f.Kind == Switch) {
			continue
		}
		where = append(where, strings.ReplaceAll(f.Where, "{time}", l.Time))
		if words, ok := v.([]string); ok {
			if f.Name == "status" && !slices.ContainsFunc(words, func(s string) bool { return !yp.Status(s).Resettable() }) {
				where, order = append(where, `status IN ('FAILED', 'STUCK', 'PARKED')`), "+"+l.Order // as the index targets_troubled has it: they are few, and sorted
			}
			v = store.JSONTexts(words)
		}
		if given {
			args = append(args, v)
		}
	}
	if l.Lives {
		columns += ", uuid, host, heartbeat_at"
	}
	query = "SELECT " + columns + " FROM " + l.View + " WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order
	if choice.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", choice.Limit)
	}
	return query, args, nil
}

// judged looks at the lock of each run that has not ended, see runState. The last three columns are asked for that alone.
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
		run := Run{Outcome: "running"}
		run.UUID, _ = values[own].(string)
		run.Host, _ = values[own+1].(string)
		_ = at(&run.Heartbeat).Scan(values[own+2]) // what is no time is zero
		if state, _ := j.k.runState(&run); state == WorkerSilent {
			if values[j.state] = "silent"; run.Host == j.k.host && !j.k.alive(run.UUID) {
				values[j.state] = "killed"
			}
		}
	}
	return j.Rows.Row(values[:own])
}

// known says which name of a choice the database does not have.
func (k *Reader) known(ctx context.Context, choice Choice) error {
	words := func(name string) []string {
		all, _ := choice.Values[name].([]string)
		return all
	}
	if name, ok := choice.Values["source"].(string); ok {
		if id, err := k.SourceID(ctx, name); err != nil {
			return err
		} else if id == 0 {
			return &NotFoundError{What: fmt.Sprintf("--source %q: nothing was planned for that source in %s", name, k.db.Path())}
		}
	}
	return k.CheckNames(ctx, ListingFilter{Cities: words("cities"), Categories: words("categories")})
}

// Meant is a hint: what was probably meant, or all that there is.
func Meant(word string, all []string) string {
	if near, ok := yp.Nearest(word, all); ok {
		return "did you mean " + near + "?"
	}
	return "want one of " + strings.Join(all, ", ")
}

// rowsOf hands the rows of a query over as they come.
func rowsOf(ctx context.Context, db *sql.DB, query string, args []any, to Rows) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
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
