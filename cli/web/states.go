package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// tiles is where each state stands: the rows of a map, a column for each two letters.
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
	Column, Row int
	Planned     bool   // something is, or was found there
	Class       string // of its colour: "" = nothing is known
	Number      string // what stands in it
	Label       string // for those who can't see it
	Held        bool   // a worker is there
	Troubled    bool   // targets there are FAILED, STUCK or PARKED
}

// mapModel is what the map's template shows.
type mapModel struct {
	By      report.MapBy
	Choices []choice
	Legend  []choice
	Unit    string
	Tiles   []tile
	Others  []tile // regions that are no state of the USA
}

type choice struct{ Word, Path, Class string }

// stateMap is the map of the states.
func (s *Server) stateMap() Part {
	return Part{Name: "map", Asks: []string{"by"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		by := report.MapBy(q.Get("by"))
		if by == "" {
			by = report.MapDone
		}
		if !slices.Contains(report.MapBys(), by) {
			return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("The map can't show %q.", by), "Choose one of the words above it."}
		}
		figures, err := s.cfg.Reader.Map(ctx, s.cfg.Scope, by)
		if err != nil {
			return nil, err
		}
		return mapOf(by, figures), nil
	}}
}

func mapOf(by report.MapBy, figures []report.StateFigures) mapModel {
	m := mapModel{By: by, Legend: legendOf(by), Unit: unitOf(by)}
	for _, b := range report.MapBys() {
		c := choice{Word: wordOf(b), Path: "/?by=" + string(b)}
		if b == by {
			c.Class = "here"
		}
		m.Choices = append(m.Choices, c)
	}
	most := int64(0)
	of := map[string]report.StateFigures{}
	for _, f := range figures {
		if of[f.State] = f; f.New != nil {
			most = max(most, *f.New)
		}
	}
	for row, line := range strings.Split(strings.TrimSpace(tiles), "\n") {
		for column, code := range strings.Fields(line) {
			if code == "." {
				continue
			}
			st, _ := yp.LookupState(code)
			f, there := of[code]
			t := tileOf(by, f, there, most)
			t.Code, t.Name, t.Row, t.Column = code, st.Name, row, column
			m.Tiles = append(m.Tiles, t)
			delete(of, code)
		}
	}
	for _, f := range figures {
		if _, other := of[f.State]; other {
			t := tileOf(by, f, true, most)
			t.Code, t.Name = f.State, f.State
			m.Others = append(m.Others, t)
		}
	}
	return m
}

// steps are the colours of a map: step0 for the least, step4 for the most.
const steps = 5

func step(n int) string { return "step" + strconv.Itoa(min(max(n, 0), steps-1)) }

// tileOf is what a map says of a state.
func tileOf(by report.MapBy, f report.StateFigures, there bool, most int64) tile {
	t := tile{Label: "not known", Planned: there && (f.Targets > 0 || f.Listings > 0), Held: f.Held > 0, Troubled: f.Troubled > 0, Number: "-"}
	if !t.Planned {
		t.Number, t.Label = "", "nothing planned"
		return t
	}
	share := func(p *float64, of string) {
		if p == nil {
			t.Label = of + " is not known"
			return
		}
		t.Class, t.Number = step(int(*p)/20), strings.TrimSuffix(percent(*p), " %")
		t.Label = percent(*p) + " " + of
	}
	switch by {
	case report.MapDone:
		share(f.Done, "of "+yp.Plural(f.Targets, "target")+" done")
	case report.MapCoverage:
		share(f.Coverage, "of what the site lists was seen")
	case report.MapSuccess:
		share(f.Success, "of the attempts succeeded")
	case report.MapFreshness:
		t.Label = "never crawled to an end"
		if f.AgeSec != nil {
			age := time.Duration(*f.AgeSec * float64(time.Second))
			t.Number, t.Class = shortAge(age), step(ageStep(age))
			t.Label = "crawled " + yp.Lasting(age) + " ago on average"
		}
	case report.MapNew:
		if f.New != nil {
			t.Number, t.Class = compact(*f.New), step(newStep(*f.New, most))
			t.Label = yp.Plural(*f.New, "new listing")
		}
	}
	if t.Held {
		t.Label += ", crawled now"
	}
	if t.Troubled {
		t.Label += ", " + yp.Thousands(f.Troubled) + " in trouble"
	}
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

func wordOf(by report.MapBy) string {
	return map[report.MapBy]string{
		report.MapDone: "Done", report.MapCoverage: "Coverage", report.MapSuccess: "Success", report.MapFreshness: "Freshness", report.MapNew: "New",
	}[by]
}

func unitOf(by report.MapBy) string {
	return map[report.MapBy]string{
		report.MapDone:      "Targets that are done or dead letters, in percent of those planned.",
		report.MapCoverage:  "Listings seen, in percent of those that the site says it has. Where it says no number: -",
		report.MapSuccess:   "Attempts that succeeded, in percent of all so far.",
		report.MapFreshness: "How long ago the targets were last crawled successfully, on average: m minutes, h hours, d days.",
		report.MapNew:       "Listings seen for the first time in the last pass: k thousands, M millions.",
	}[by]
}

func legendOf(by report.MapBy) []choice {
	words := []string{"0–19", "20–39", "40–59", "60–79", "80–100"}
	switch by {
	case report.MapFreshness:
		words = []string{"over 90 d", "30–90 d", "7–30 d", "1–7 d", "under 1 d"}
	case report.MapNew:
		words = []string{"none", "few", "some", "many", "most"}
	}
	var legend []choice
	for i, w := range words {
		legend = append(legend, choice{Word: w, Class: step(i)})
	}
	return append(legend, choice{Word: "not planned", Class: "unplanned"})
}

// statesModel is a table of all states, or two of them side by side.
type statesModel struct {
	Codes []yp.State // for the choice of two
	A, B  string
	Pair  []stateModel
	Rows  []stateModel
}

type stateModel struct {
	Name   string
	Table  *report.StateTable
	Row    report.StateFigures
	Cities int
	More   string // the address of the same with more cities; "" = there are none
}

const (
	fewCities  = 25
	mostCities = 500
)

// statesTable lists all states with what the maps show, or compares two.
func (s *Server) statesTable() Part {
	return Part{Name: "states", Asks: []string{"a", "b", "cities"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		m := statesModel{Codes: yp.States(), A: strings.ToUpper(q.Get("a")), B: strings.ToUpper(q.Get("b"))}
		for _, code := range []string{m.A, m.B} {
			if code == "" {
				continue
			}
			one, err := s.readState(ctx, code, report.MapCoverage, q)
			if err != nil {
				return nil, err
			}
			m.Pair = append(m.Pair, *one)
		}
		if len(m.Pair) > 0 {
			return m, nil
		}
		all, err := s.cfg.Reader.Map(ctx, s.cfg.Scope, report.MapCoverage)
		for _, f := range all {
			m.Rows = append(m.Rows, stateModel{Name: nameOfState(f.State), Row: f})
		}
		return m, err
	}}
}

// oneState is the cities and categories of a state.
func (s *Server) oneState() Part {
	return Part{Name: "state", Asks: []string{"state", "cities"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		return s.readState(ctx, strings.ToUpper(q.Get("state")), report.MapDone, q)
	}}
}

func (s *Server) readState(ctx context.Context, code string, by report.MapBy, q url.Values) (*stateModel, error) {
	if st, ok := yp.LookupState(code); ok {
		code = st.Code
	}
	cities := fewCities
	if n, err := strconv.Atoi(q.Get("cities")); err == nil {
		cities = min(max(n, 1), mostCities)
	}
	if len(s.cfg.Scope.States) > 0 && !slices.Contains(s.cfg.Scope.States, code) {
		return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("This page does not show %s.", code), "It was started with --states " + strings.Join(s.cfg.Scope.States, " ") + "."}
	}
	rows, err := s.cfg.Reader.Map(ctx, store.Scope{SourceID: s.cfg.Scope.SourceID, States: []string{code}}, by)
	if err != nil {
		return nil, err
	}
	m := &stateModel{Name: nameOfState(code), Row: report.StateFigures{State: code}, Cities: cities}
	if len(rows) > 0 {
		m.Row = rows[0]
	} else if _, ok := yp.LookupState(code); !ok {
		return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("There is no state %q.", code), "Use a code such as TX, or choose a state on the map."}
	}
	if m.Table, err = s.cfg.Reader.StateTable(ctx, s.cfg.Scope.SourceID, code, cities); err != nil {
		return nil, err
	}
	if m.Table.MoreCities && cities < mostCities {
		more := url.Values{}
		for name := range q {
			if name != "state" {
				more.Set(name, q.Get(name))
			}
		}
		more.Set("cities", strconv.Itoa(min(4*cities, mostCities)))
		m.More = "?" + more.Encode()
	}
	return m, nil
}

func nameOfState(code string) string {
	if st, ok := yp.LookupState(code); ok {
		return st.Name
	}
	return code
}
