package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// tiles is where each state is on the map: the rows of a map, a column for each two letters.
const tiles = `
AK . . . . . . . . . . ME
. . . . . . . . . . VT NH
. WA ID MT ND MN IL WI MI NY RI MA
. OR NV WY SD IA IN OH PA NJ CT .
. CA UT CO NE MO KY WV VA MD DE .
. . AZ NM KS AR TN NC SC DC . .
. . . . OK LA MS AL GA . . .
HI . . . TX . . . . FL . .`

// tile is a state on the map.
type tile struct {
	Code, Name  string
	ID          string // of its element
	Path        string // of its page, below the root
	Column, Row int
	Planned     bool   // something is, or was found there
	Class       string // of its colour: "" = nothing is known
	Number      string // what is in it, short
	Figure      string // in full, where there is room
	Meaning     string // of the figure
	Notes       []string
	Label       string // all of that, for those who can't see it
	Held        bool   // a worker reads there
	Troubled    bool   // targets there are FAILED, STUCK or PARKED
}

// mapModel is what the map's template shows.
type mapModel struct {
	By      report.StateMeasure
	Choices []choice
	Legend  []choice
	Tiles   []tile // none where no source is of the USA
	Few     bool   // only those with something planned or found, large
	Others  []tile // regions that are no state of the USA
	Ranked  []ranking

	reading bool // a run reads pages: what is held is crawled now
}

// few is up to how many states the map shows those alone where something is planned or found.
const few = 8

// Held reports whether a worker reads in one of the states.
func (m mapModel) Held() bool { return m.has(func(t tile) bool { return t.Held }) }

// Troubled reports whether one of the states is in trouble.
func (m mapModel) Troubled() bool { return m.has(func(t tile) bool { return t.Troubled }) }

// Keyed reports whether colours and signs need a key: each of few states says all in words.
func (m mapModel) Keyed() bool { return !m.Few || len(m.Others)+len(m.Ranked) > 0 }

// Unplanned reports whether one of the states has nothing.
func (m mapModel) Unplanned() bool { return m.has(func(t tile) bool { return !t.Planned }) }

func (m mapModel) has(what func(tile) bool) bool {
	return slices.ContainsFunc(m.Tiles, what) || slices.ContainsFunc(m.Others, what) ||
		slices.ContainsFunc(m.Ranked, func(r ranking) bool { return slices.ContainsFunc(r.States, what) })
}

// ranking is the states of another country, those first of which most is to be said.
type ranking struct {
	Country string
	States  []tile
}

type choice struct{ Word, Path, Class string }

// measureOf finds what a map shows; "" = the first.
func measureOf(name string) (report.StateMeasure, bool) {
	i := slices.IndexFunc(report.StateMeasures, func(m report.StateMeasure) bool { return m.Name == name || name == "" })
	if i < 0 {
		return report.StateMeasure{}, false
	}
	return report.StateMeasures[i], true
}

// stateMap is the map of the states.
func (s *Server) stateMap() Part {
	return Part{Name: "map", Asks: []string{"by"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		by, ok := measureOf(q.Get("by"))
		if !ok {
			return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("The map can't show %q.", q.Get("by")), "Choose one of the words above it."}
		}
		known, err := k.KnownStates(ctx, s.cfg.Scope.SourceID)
		if err != nil {
			return nil, err
		}
		countries, err := k.Countries(ctx, s.cfg.Scope.SourceID)
		if err != nil {
			return nil, err
		}
		st, err := standingOf(ctx, k, s.cfg.Scope)
		if err != nil {
			return nil, err
		}
		m, now := mapHead(by), time.Now()
		m.reading = st.Live > 0 && st.WaitingFor == ""
		for _, country := range countries {
			states, err := k.States(ctx, s.cfg.Scope, by, country)
			if err != nil {
				return nil, err
			}
			if country == yp.DefaultCountry {
				m.addTiles(known, states, now)
				continue
			}
			if all := m.rank(known, states, country, now); len(all) > 0 {
				m.Ranked = append(m.Ranked, ranking{country, all})
			}
		}
		if !slices.ContainsFunc(m.Tiles, func(t tile) bool { return t.Planned }) && len(m.Ranked) == 0 && len(m.Others) == 0 {
			m.Tiles, m.Few = nil, true // the map of a country of which nothing is planned tells nothing
		}
		return m, nil
	}}
}

// rank lists the states of a country, the highest number first.
func (m *mapModel) rank(known report.KnownStates, states *report.Table, country string, now time.Time) (all []tile) {
	most := mostNew(states)
	for _, row := range slices.SortedStableFunc(slices.Values(states.Rows), func(a, b []any) int {
		return compareMeasure(states.Value(b, m.By.Column), states.Value(a, m.By.Column))
	}) {
		t := m.tileOf(states, row, most, now)
		t.Code = fmt.Sprint(row[0])
		t.Name, t.ID, t.Path = known.Name(t.Code), country+"-"+strings.ReplaceAll(t.Code, " ", "-"), pathOfState(t.Code)+"?country="+country
		if t.Code == "" {
			t.Name = "all places"
		}
		all = append(all, t)
	}
	return all
}

// pathOfState is the path of a state's page, below the root.
func pathOfState(code string) string {
	if code == "" {
		return "states"
	}
	return "states/" + url.PathEscape(code)
}

// compareMeasure compares two values of a measure: what is not known is the least.
func compareMeasure(a, b any) int {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
		return 1
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return 1
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
		return 1
	}
	if b == nil {
		return 0
	}
	return -1
}

// mostNew is the most new listings of a state.
func mostNew(states *report.Table) (most int64) {
	for _, row := range states.Rows {
		n, _ := states.Value(row, "new").(int64)
		most = max(most, n)
	}
	return most
}

// mapHead is a map without states.
func mapHead(by report.StateMeasure) mapModel {
	m := mapModel{By: by, Legend: legendOf(by)}
	for _, b := range report.StateMeasures {
		c := choice{Word: b.Word, Path: "/?by=" + b.Name}
		if b == by {
			c.Class = "here"
		}
		m.Choices = append(m.Choices, c)
	}
	return m
}

// addTiles adds the states of the USA, and other regions that their sources have.
func (m *mapModel) addTiles(known report.KnownStates, states *report.Table, now time.Time) {
	most, of := mostNew(states), map[string][]any{}
	for _, row := range states.Rows {
		of[fmt.Sprint(row[0])] = row
	}
	m.Few = 0 < len(of) && len(of) <= few
	for y, line := range strings.Split(strings.TrimSpace(tiles), "\n") {
		for x, code := range strings.Fields(line) {
			if code != "." && (of[code] != nil || !m.Few) {
				t := m.tileOf(states, of[code], most, now)
				t.Code, t.Name, t.Row, t.Column, t.ID, t.Path = code, nameOfState(code), y, x, code, pathOfState(code)
				m.Tiles = append(m.Tiles, t)
				delete(of, code)
			}
		}
	}
	for _, row := range states.Rows {
		if code := fmt.Sprint(row[0]); of[code] != nil {
			t := m.tileOf(states, row, most, now)
			t.Code, t.Name, t.ID, t.Path = code, known.Name(code), strings.ReplaceAll(code, " ", "-"), pathOfState(code)
			m.Others = append(m.Others, t)
		}
	}
}

// steps are the colours of a map: step0 for the least, step4 for the most.
const steps = 5

func step(n int) string { return "step" + strconv.Itoa(min(max(n, 0), steps-1)) }

// tileOf is what a map says of a state; no row: nothing is planned there, and nothing was found.
func (m *mapModel) tileOf(states *report.Table, row []any, most int64, now time.Time) tile {
	if row == nil {
		return tile{Label: "nothing planned"}
	}
	count := func(column string) int64 { n, _ := states.Value(row, column).(int64); return n }
	t := tile{Figure: "not known", Planned: true, Held: m.reading && count("in_progress") > 0, Troubled: count("troubled") > 0, Number: "–"}
	switch v := states.Value(row, m.By.Column).(type) {
	case float64:
		of := map[string]string{
			"done": "of " + yp.Plural(count("targets"), "search") + " done", "coverage": "of the site's listings seen", "success": "of attempts succeeded",
		}
		t.Class, t.Number, t.Figure, t.Meaning = step(int(v)/20), strings.TrimSuffix(percent(v), "%"), percent(v), of[m.By.Name]
	case int64:
		figure, meaning, _ := strings.Cut(yp.Plural(v, "new listing"), " ")
		t.Class, t.Number, t.Figure, t.Meaning = step(newStep(v, most)), compact(v), figure, meaning
	case string:
		if at, err := yp.ParseTime(v); err == nil {
			age := max(0, now.Sub(at))
			t.Class, t.Number, t.Figure, t.Meaning = step(ageStep(age)), shortAge(age), shortAge(age), "since the last crawl, on average"
		}
	}
	t.Label = strings.TrimSpace(t.Figure + " " + t.Meaning)
	if t.Held {
		t.Notes = append(t.Notes, "being crawled now")
	}
	if t.Troubled {
		t.Notes = append(t.Notes, yp.Thousands(count("troubled"))+" in trouble")
	}
	t.Label = strings.Join(slices.Concat([]string{t.Label}, t.Notes), ", ")
	return t
}

// ages are the limits between the colours of freshness.
func ages() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{day, 7 * day, 30 * day, 90 * day}
}

func ageStep(age time.Duration) int {
	for i, limit := range ages() {
		if age < limit {
			return steps - 1 - i
		}
	}
	return 0
}

func newStep(n, most int64) int {
	if n == 0 || most == 0 {
		return 0
	}
	return 1 + int((n-1)*(steps-1)/most)
}

func shortAge(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// compact writes a count in the width of a tile: 950, 1.2k, 35k, 1.1M.
func compact(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n-n%100)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n-n%100_000)/1_000_000)
}

func legendOf(by report.StateMeasure) []choice {
	words := []string{"0–19%", "20–39%", "40–59%", "60–79%", "80–100%"}
	switch by.Name {
	case "freshness":
		words = []string{"over 90 d", "30–90 d", "7–30 d", "1–7 d", "under 1 d"}
	case "new":
		words = []string{"none", "few", "some", "many", "most"}
	}
	var legend []choice
	for i, w := range words {
		legend = append(legend, choice{Word: w, Class: step(i)})
	}
	return legend
}

// statesModel is all states, or some of them side by side, with their categories.
type statesModel struct {
	Codes, States []string // of those that were chosen: codes, and names
	Names         []string // of their totals, and what they are
	Cells         [][]string
	Table         *table // all states, or the categories of those
}

// statesShow are the columns of States that the page shows.
const statesShow = "state targets done_percent troubled listings coverage_percent success_percent crawled_at"

// pick is the form that chooses two states. It changes with its address alone: nothing replaces it while somebody chooses.
func (s *Server) pick() Part {
	type model struct {
		Codes []yp.State
		A, B  string
	}
	return Part{Name: "pick", Asks: []string{"a", "b"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		known, err := k.KnownStates(ctx, s.cfg.Scope.SourceID)
		if err != nil {
			return nil, err
		}
		all := slices.DeleteFunc(known.All(), func(st yp.State) bool { return st.Code == "" })
		return model{all, codeOf(known, q.Get("a")), codeOf(known, q.Get("b"))}, nil
	}}
}

// statesTable lists all states with what the maps show, or compares two, or shows one.
func (s *Server) statesTable() Part {
	return Part{Name: "states", Asks: []string{"a", "b", "state", "country"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		var m statesModel
		scope, country := s.cfg.Scope, q.Get("country")
		known, err := k.KnownStates(ctx, scope.SourceID)
		if err != nil {
			return nil, err
		}
		for _, code := range []string{q.Get("state"), q.Get("a"), q.Get("b")} {
			if code = codeOf(known, code); code != "" {
				if len(scope.States) > 0 && !slices.Contains(scope.States, code) {
					return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("This page does not show %s.", code), "It was started with --states " + strings.Join(scope.States, " ") + "."}
				}
				m.Codes, m.States = append(m.Codes, code), append(m.States, known.Name(code))
			}
		}
		if len(m.Codes) > 0 {
			scope.States = m.Codes
		}
		by, _ := measureOf("coverage")
		all, err := k.States(ctx, scope, by, country)
		if err != nil {
			return nil, err
		}
		all.Show = statesShow
		rows, now := all.Shown(), time.Now()
		m.Table = &table{
			Noun: "state", None: "Nothing is planned yet. To start: `ypcrawl run --source demo --states CA TX`.", now: now, states: known,
		}
		if len(m.Codes) > 0 {
			if err := m.compare(all, known, now); err != nil {
				return nil, err
			}
			if rows, err = k.StateCategories(ctx, scope, country); err != nil {
				return nil, err
			}
			m.Table.Noun, m.Table.None = "category", "Nothing is planned there. To plan it: `ypcrawl run --states "+strings.Join(m.Codes, " ")+"`."
		}
		if m.Table.Noun == "state" { // they are shown by name
			slices.SortStableFunc(rows.Rows, func(a, b []any) int {
				return cmp.Compare(m.Table.nameOfState(fmt.Sprint(a[0])), m.Table.nameOfState(fmt.Sprint(b[0])))
			})
		}
		err = m.Table.Head(rows.Columns)
		for _, row := range rows.Rows {
			err = errors.Join(err, m.Table.Row(row))
		}
		return m, err
	}}
}

// compare sets the totals of the chosen states side by side.
func (m *statesModel) compare(all *report.Table, known report.KnownStates, now time.Time) error {
	for _, column := range strings.Fields(statesShow)[1:] {
		cells := make([]string, len(m.Codes))
		for i, code := range m.Codes {
			row := slices.IndexFunc(all.Rows, func(row []any) bool { return row[0] == code })
			if _, ok := known.Lookup(code); !ok && row < 0 {
				return &Refusal{http.StatusNotFound, fmt.Sprintf("There is no state %q.", code), "Use a code such as TX, or choose a state on the map."}
			}
			if cells[i] = "–"; row >= 0 {
				cells[i] = report.Cell(now, column, all.Value(all.Rows[row], column))
			}
		}
		m.Names, m.Cells = append(m.Names, report.Title(column)), append(m.Cells, cells)
	}
	return nil
}

// codeOf returns the code of the state that a word of an address means; the word where it is none.
func codeOf(known report.KnownStates, word string) string {
	codes, err := known.Parse([]string{word})
	if err != nil || len(codes) == 0 {
		return strings.ToUpper(word)
	}
	return codes[0]
}

func nameOfState(code string) string {
	if st, ok := yp.LookupState(code); ok {
		return st.Name
	}
	return code
}
