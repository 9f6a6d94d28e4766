package site

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ypcrawl/yp"
)

// MaxCitiesFile bounds the file that cities names, in bytes.
const MaxCitiesFile = 10 << 20

// An Opener returns the text of the file that a definition names under cities.
type Opener func(name string) ([]byte, error)

// errNoCities says that a definition came without its file.
var errNoCities = errors.New("the file can't be read here")

// cityFile is the places of a source, from the file that its definition names.
type cityFile struct {
	text    []byte
	columns []string // all that the file has, in its order
	cities  []yp.City
	values  [][]string // of the cities, by column
	lines   []int      // of the cities, while the file is read
	at      map[cityKey]int
}

type cityKey struct{ state, slug string }

// cityColumn is the form of a column's name.
var cityColumn = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// compileCities reads the places and the states of the source.
func (c *compiled) compileCities(open Opener, f *faults) {
	own := c.ownStates(f)
	c.stateSet = yp.StatesOf(c.country)
	exact := len(own) > 0
	if exact {
		c.stateSet = c.stateSet.Only(own, true)
	}
	if c.def.Cities == "" {
		return
	}
	if open == nil {
		f.add("cities", errNoCities)
		return
	}
	text, err := open(c.def.Cities)
	if err == nil && len(text) > MaxCitiesFile {
		err = fmt.Errorf("the file is larger than %d MB", MaxCitiesFile>>20)
	}
	if err != nil {
		f.add("cities", err)
		return
	}
	file, stated, err := readCities(text)
	if err == nil && !exact {
		c.stateSet = c.stateSet.Only(stated, false)
	}
	if err == nil {
		err = file.place(c.stateSet)
	}
	f.add("cities", err)
	c.cities = file
}

// ownStates are those under states.
func (c *compiled) ownStates(f *faults) (list []yp.State) {
	for _, code := range slices.Sorted(maps.Keys(c.def.States)) {
		st := yp.State{Code: yp.Clean(code), Name: yp.Clean(c.def.States[code])}
		st.Name = cmp.Or(st.Name, st.Code)
		if st.Code == "" || max(utf8.RuneCountInString(st.Code), utf8.RuneCountInString(st.Name)) > yp.MaxState {
			f.add("states."+code, fmt.Errorf("want a code and a name of up to %d characters, such as BY: Bayern", yp.MaxState))
			continue
		}
		list = append(list, st)
	}
	return list
}

// atLine says where in the file something is wrong. It never quotes the file, which may be any that its owner can read.
func atLine(line int, format string, args ...any) error {
	return fmt.Errorf("line %d of the file: %s", line, fmt.Sprintf(format, args...))
}

// cityLines reads the lines of a file: what is wrong with one is told with its number.
type cityLines struct{ *csv.Reader }

func newCityLines(text []byte) cityLines {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.FieldsPerRecord = -1
	return cityLines{r}
}

func (r cityLines) next() (row []string, line int, err error) {
	row, err = r.Read()
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, 0, atLine(bad.Line, "%v", bad.Err)
	}
	if err != nil {
		return nil, 0, err
	}
	line, _ = r.FieldPos(0)
	for i, field := range row {
		if row[i] = strings.TrimSpace(field); !utf8.ValidString(field) || strings.ContainsFunc(row[i], unicode.IsControl) {
			return nil, 0, atLine(line, "column %d is not UTF-8, or holds a control character", i+1)
		}
	}
	return row, line, nil
}

// header reads the names of the columns.
func (r cityLines) header() ([]string, error) {
	row, line, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line must name the columns, such as state,city,population")
	}
	if err != nil {
		return nil, err
	}
	for i, name := range row {
		switch {
		case !cityColumn.MatchString(name):
			return nil, atLine(line, "column %d: its name may hold only lower-case letters, digits and _", i+1)
		case slices.Contains(row[:i], name):
			return nil, atLine(line, "column %d has the same name as another column", i+1)
		case name != "state" && name != "city" && (slices.Contains(placeholders, name) || slices.Contains(otherPlaceholders, name)):
			return nil, atLine(line, "column %d has the name of the placeholder {%s}", i+1, name)
		}
	}
	for _, name := range []string{"state", "city"} {
		if !slices.Contains(row, name) {
			return nil, atLine(line, "the columns state and city are required, such as state,city,population")
		}
	}
	return slices.Clone(row), nil
}

// otherPlaceholders are those that stand for no part of a place and are not in every template.
var otherPlaceholders = []string{"letter", "offset", "cursor"}

// readCities reads the file, and returns with it the states that it names.
func readCities(text []byte) (file *cityFile, stated []yp.State, err error) {
	r := newCityLines(text)
	file = &cityFile{text: text, at: map[cityKey]int{}}
	if file.columns, err = r.header(); err != nil {
		return file, nil, err
	}
	had := map[string]bool{}
	for {
		row, line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(row) != len(file.columns) {
			err = atLine(line, "has %d columns, but the first line has %d", len(row), len(file.columns))
		}
		if err == nil {
			err = file.add(row, line)
		}
		if err != nil {
			return file, nil, err
		}
		if state := file.cities[len(file.cities)-1].State; !had[state] {
			had[state] = true
			stated = append(stated, yp.State{Code: state, Name: state})
		}
	}
	if len(file.cities) == 0 {
		return file, nil, errors.New("the file names no city")
	}
	return file, stated, nil
}

// add reads a row.
func (c *cityFile) add(row []string, line int) error {
	value := func(name string) string {
		if i := slices.Index(c.columns, name); i >= 0 {
			return row[i]
		}
		return ""
	}
	city := yp.City{State: yp.Clean(value("state")), Name: yp.Clean(value("city"))}
	if city.Name == "" || len(city.Name) > yp.MaxName || utf8.RuneCountInString(city.State) > yp.MaxState {
		return atLine(line, "want a city name of up to %d bytes, and a state of up to %d characters", yp.MaxName, yp.MaxState)
	}
	if city.Slug = cmp.Or(value("slug"), yp.Slug(city.Name)); city.Slug == "" || len(city.Slug) > maxSlug {
		return atLine(line, "want a slug of up to %d bytes: none can be made from the name", maxSlug)
	}
	if n := value("population"); n != "" {
		people, err := strconv.ParseUint(n, 10, 40)
		if err != nil {
			return atLine(line, "population: want only digits")
		}
		city.Population = int(people) // #nosec G115: 40 bits
	}
	if value("lat")+value("lon") != "" {
		var bad [2]error
		city.Lat, bad[0] = strconv.ParseFloat(value("lat"), 64)
		city.Lon, bad[1] = strconv.ParseFloat(value("lon"), 64)
		if bad[0] != nil || bad[1] != nil || !(city.Lat >= -90 && city.Lat <= 90 && city.Lon >= -180 && city.Lon <= 180) {
			return atLine(line, "lat and lon: want both, in degrees such as 48.137 and 11.575, or neither")
		}
	}
	c.cities, c.values, c.lines = append(c.cities, city), append(c.values, row), append(c.lines, line)
	return nil
}

// place gives the cities the codes of their states, and refuses two of one state and slug.
func (c *cityFile) place(states *yp.StateSet) error {
	for i := range c.cities {
		city := &c.cities[i]
		if city.State != "" {
			st, ok := states.Lookup(city.State)
			if !ok {
				return atLine(c.lines[i], "its state is not listed under states")
			}
			city.State = st.Code
		}
		key := cityKey{city.State, city.Slug}
		if first, again := c.at[key]; again {
			return atLine(c.lines[i], "the same state and slug as in line %d", c.lines[first])
		}
		c.at[key] = i
	}
	c.lines = nil
	c.setTiers()
	return nil
}

// setTiers gives the cities their tiers by population. Where the file says of none how many people it has, somebody has chosen them, and
// all are of the first.
func (c *cityFile) setTiers() {
	order := make([]int, len(c.cities))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.cities[b].Population, c.cities[a].Population) })
	for n, i := range order {
		switch city := &c.cities[i]; {
		case c.cities[order[0]].Population == 0:
			city.Tier = 1
		case city.Population == 0:
			city.Tier = 3
		default:
			city.Tier = yp.Tier(n, len(order))
		}
	}
}

// City returns the city of a place as the source's own file has it; ok is false where it has none.
func (s *Source) City(p yp.Place) (city yp.City, ok bool) {
	if s.cities == nil {
		return city, false
	}
	row, ok := s.cities.at[cityKey{p.State, p.CitySlug}]
	if !ok {
		return city, false
	}
	return s.abroad(s.cities.cities[row]), true
}

// abroad is a city with the country of the source, if that is another than the USA.
func (s *Source) abroad(city yp.City) yp.City {
	if s.country != yp.DefaultCountry {
		city.Country = s.country
	}
	return city
}

// Country returns the code of the source's country (ISO 3166).
func (s *Source) Country() string { return s.country }

// States returns the states of the source: those under states, those of its file of cities, or those of its country.
func (s *Source) States() *yp.StateSet { return s.stateSet }

// OwnPlaces reports whether the places are those that the definition or the source itself names, and not the places of the USA that the
// program knows.
func (s *Source) OwnPlaces() bool { return s.cities != nil || s.country != yp.DefaultCountry }

// Cities returns the places of the source, the largest first: those of its file, else, where it has states of its own and no
// index, these themselves. None says that they come from its index, or, in the USA, from the gazetteer.
func (s *Source) Cities() []yp.City {
	var all []yp.City
	if s.cities != nil {
		for _, city := range s.cities.cities {
			all = append(all, s.abroad(city))
		}
		slices.SortStableFunc(all, func(a, b yp.City) int { return cmp.Compare(b.Population, a.Population) })
		return all
	}
	if s.states != nil || len(s.def.States) == 0 {
		return nil
	}
	for _, st := range s.stateSet.All() {
		all = append(all, s.abroad(yp.City{Slug: cmp.Or(yp.Slug(st.Name), yp.Slug(st.Code), st.Code), Name: st.Name, State: st.Code, Tier: 1}))
	}
	return all
}

// CitiesFile returns the text of the file of cities as it was read; nil = there is none.
func (s *Source) CitiesFile() []byte {
	if s.cities == nil {
		return nil
	}
	return slices.Clone(s.cities.text)
}

// CityColumns returns the names of the columns of the file of cities that are no part of a place by themselves: all but state and city.
func (s *Source) CityColumns() []string {
	if s.cities == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.cities.columns), func(name string) bool { return name == "state" || name == "city" })
}

// CityValue returns what a column of CityColumns has for a place, by its state and slug; "" where the file has no such row or column.
func (s *Source) CityValue(p yp.Place, column string) string {
	if s.cities == nil {
		return ""
	}
	row, ok := s.cities.at[cityKey{p.State, p.CitySlug}]
	at := slices.Index(s.cities.columns, column)
	if !ok || at < 0 {
		return ""
	}
	return s.cities.values[row][at]
}

// Named is a place with the name that the source's own file has for its city: another source may write it otherwise.
func (s *Source) Named(p yp.Place) yp.Place {
	if city, ok := s.City(p); ok {
		p.City = city.Name
	}
	return p
}
