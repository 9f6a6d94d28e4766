package web

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// mapPath is the page of the map of listings.
const mapPath = "/map"

// mapTime bounds how long listings are read for a map.
const mapTime = 2 * time.Second

// The map, in its own units: at 1280 px one is about a pixel, at 390 px half of one.
const (
	mapWidth   = 720
	mapMost    = 520 // of its height
	mapLeast   = 300
	mapLeft    = 66 // for the labels of the grid
	mapBottom  = 34
	mapEdge    = 16
	binSize    = 12 // dots nearer than that are one
	dotMost    = 9  // radius
	dotLeast   = 2
	mapTowns   = 20 // in the table
	mapNames   = 12 // on the map
	gridLines  = 8
	narrowest  = 0.02  // degrees that a map shows at least
	flattest   = 80.0  // degrees north from which a map is not stretched more
	wideLetter = 15    // of a name at 390 px
	wideLine   = 26    //
	letter     = 10    // of a name at 1280 px
	line       = 18    //
	world      = 360.0 // degrees
)

// dotMap is the map of listings.
type dotMap struct {
	List                 string // the same choice as a list
	Width, Height        int
	Left, Right, Top, At int // the frame; At is its bottom
	Lines                []gridLine
	Dots                 []mapDot
	Names                []mapName
	Towns                []townRow
	Listings, Placed     int64
	Nowhere              int64
	Others               int // towns that the table has not
	Most                 int64
	Partial              bool
}

// gridLine is a line of the grid, with its label.
type gridLine struct {
	X1, Y1, X2, Y2, TX, TY float64
	Anchor, Label          string
	Minor                  bool // no label on a narrow screen
}

type mapDot struct{ X, Y, R float64 }

type mapName struct {
	X, Y   float64
	Anchor string
	Text   string
	Minor  bool
}

type townRow struct {
	Name, State, Link string
	Listings          int64
	Share             float64
	Placed            bool
}

// mapOf is the page that shows where the listings of a choice are.
func (s *Server) mapOf(l report.List) View {
	return s.view(mapPath, "Map", "Map", s.filters(mapPath, l), s.suggestions(mapPath, l), s.dots(l))
}

// mapLink leads from a list to the map of the same choice.
func (s *Server) mapLink(l report.List) Part {
	return Part{Name: "maplink", Asks: asks(l), Read: func(_ context.Context, _ *report.Reader, q url.Values) (any, error) {
		return withQuery(mapPath, q), nil
	}}
}

func (s *Server) dots(l report.List) Part {
	return Part{Name: "dots", Asks: asks(l), Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		choice, err := s.choose(ctx, k, mapPath, l, q)
		if err != nil {
			return nil, err
		}
		places, err := k.Locations(ctx, choice, mapTime)
		if err != nil {
			return nil, err
		}
		m := drawMap(places)
		m.List = withQuery("/listings", q)
		return m, nil
	}}
}

// projection brings degrees onto the map: lengths are right in its middle, both ways.
type projection struct {
	west, north float64 // of the frame, in degrees; west may be below -180
	unit, wide  float64 // units a degree, of latitude and of longitude
	height      float64 // of the frame
}

func (p projection) x(lon float64) float64 {
	if lon < p.west {
		lon += world
	}
	return mapLeft + (lon-p.west)*p.wide
}

func (p projection) y(lat float64) float64 { return mapEdge + (p.north-lat)*p.unit }

// westOf is where a map of these longitudes begins, and how many degrees it spans: behind the widest gap, so that islands on both
// sides of 180° are beside each other.
func westOf(lons []float64) (west, span float64) {
	lons = slices.Sorted(slices.Values(lons))
	west, gap := lons[0], lons[0]+world-lons[len(lons)-1]
	for i, lon := range lons[1:] {
		if d := lon - lons[i]; d > gap {
			west, gap = lon, d
		}
	}
	return west, world - gap
}

// projected is a map on which all dots are.
func projected(dots []report.Dot) projection {
	lons := make([]float64, len(dots))
	south, north := dots[0].Lat, dots[0].Lat
	for i, d := range dots {
		lons[i], south, north = d.Lon, min(south, d.Lat), max(north, d.Lat)
	}
	west, span := westOf(lons)
	middle := (south + north) / 2
	narrow := math.Cos(min(math.Abs(middle), flattest) * math.Pi / 180) // a degree of longitude, in those of latitude
	high, wide := max(north-south, narrowest)*1.08, max(span*narrow, narrowest)*1.08
	const width = mapWidth - mapLeft - mapEdge
	height := min(max(width*high/wide, mapLeast), mapMost) - mapEdge - mapBottom
	unit := min(width/wide, height/high)
	return projection{
		west: west + span/2 - width/unit/narrow/2, north: middle + height/unit/2,
		unit: unit, wide: unit * narrow, height: height,
	}
}

// drawMap draws where listings are.
func drawMap(p *report.Locations) *dotMap {
	m := &dotMap{Width: mapWidth, Listings: p.Listings, Placed: p.Listings - p.Nowhere, Nowhere: p.Nowhere, Partial: p.Partial}
	m.addTowns(p.Towns)
	if len(p.Dots) == 0 {
		return m
	}
	on := projected(p.Dots)
	m.Left, m.Right, m.Top, m.At = mapLeft, mapWidth-mapEdge, mapEdge, mapEdge+int(on.height)
	m.Height = m.At + mapBottom
	m.addGrid(on)
	m.addDots(on, p.Dots)
	m.addNames(on, p.Towns)
	return m
}

func (m *dotMap) addTowns(towns []report.Town) {
	for _, t := range towns[:min(len(towns), mapTowns)] {
		row := townRow{Name: yp.Printable(t.Name), State: yp.Printable(t.State), Listings: t.Listings, Share: share(t.Listings, m.Listings), Placed: t.Placed}
		if !strings.Contains(t.Name, ",") { // it separates several
			row.Link = withQuery("/listings", url.Values{"cities": {t.Name}})
		}
		m.Towns = append(m.Towns, row)
	}
	m.Others = len(towns) - len(m.Towns)
}

// gridStep is the distance of lines, in degrees, of which there are some in so many.
func gridStep(degrees float64) float64 {
	for _, step := range []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30} {
		if degrees/step <= gridLines {
			return step
		}
	}
	return 60
}

// addGrid adds meridians and parallels with their degrees.
func (m *dotMap) addGrid(on projection) {
	left, right, top, bottom := float64(m.Left), float64(m.Right), float64(m.Top), float64(m.At)
	east, south := on.west+(right-left)/on.wide, on.north-(bottom-top)/on.unit
	step := gridStep(east - on.west)
	for i, n := math.Ceil(on.west/step), 0; i*step <= east; i, n = i+1, n+1 {
		x := tenth(left + (i*step-on.west)*on.wide)
		m.Lines = append(m.Lines, gridLine{x, top, x, bottom, x, bottom + 22, "middle", degrees(i*step, step, "E", "W"), n%2 == 1})
	}
	step = gridStep(on.north - south)
	for i, n := math.Ceil(max(south, -90)/step), 0; i*step <= min(on.north, 90); i, n = i+1, n+1 {
		y := tenth(on.y(i * step))
		m.Lines = append(m.Lines, gridLine{left, y, right, y, left - 6, y + 5, "end", degrees(i*step, step, "N", "S"), n%2 == 1})
	}
}

// degrees writes a latitude or longitude: "35° N", "97.5° W", "0°".
func degrees(v, step float64, positive, negative string) string {
	if v < -world/2 {
		v += world
	}
	if v > world/2 {
		v -= world
	}
	decimals := 0
	for ; step < 1 && decimals < 2 && math.Abs(step-math.Round(step)) > 1e-9; step *= 10 {
		decimals++
	}
	text, word := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)+"°", positive
	switch {
	case math.Abs(v) < 1e-9, positive == "E" && math.Abs(v) > world/2-1e-9:
		return text
	case v < 0:
		word = negative
	}
	return text + " " + word
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// addDots adds a circle for each bin of the map; its area says how many listings are there, against the bin that has most.
func (m *dotMap) addDots(on projection, dots []report.Dot) {
	type bin struct {
		x, y float64
		n    int64
	}
	bins, order := map[[2]int]*bin{}, []*bin(nil)
	for _, d := range dots {
		x, y := on.x(d.Lon), on.y(d.Lat)
		key := [2]int{int(x / binSize), int(y / binSize)}
		b := bins[key]
		if b == nil {
			b = &bin{}
			bins[key], order = b, append(order, b)
		}
		b.x, b.y, b.n = b.x+x*float64(d.Listings), b.y+y*float64(d.Listings), b.n+d.Listings
		m.Most = max(m.Most, b.n)
	}
	slices.SortStableFunc(order, func(a, b *bin) int { return int(min(1, max(-1, b.n-a.n))) }) // small ones on top
	for _, b := range order {
		r := max(dotLeast, dotMost*math.Sqrt(float64(b.n)/float64(m.Most)))
		m.Dots = append(m.Dots, mapDot{tenth(b.x / float64(b.n)), tenth(b.y / float64(b.n)), tenth(r)})
	}
}

// box is what a name covers.
type box struct{ left, right, top, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// addNames names the largest towns: those that a narrow screen has room for, too, then others that fit between. No name covers a dot
// or another name.
func (m *dotMap) addNames(on projection, towns []report.Town) {
	taken := make([]box, len(m.Dots))
	for i, d := range m.Dots {
		taken[i] = box{d.X - d.R, d.X + d.R, d.Y - d.R, d.Y + d.R}
	}
	all, named := m.largestTowns(on, towns), map[mapDot]bool{}
	for _, minor := range []bool{false, true} {
		wide, high, tried := float64(wideLetter), float64(wideLine), mapNames
		if minor {
			wide, high, tried = letter, line, 10*mapNames
		}
		for _, t := range all[:min(len(all), tried)] {
			if named[t.dot] || len(m.Names) == mapNames || len(t.text) > 30 {
				continue
			}
			for _, at := range placesOf(t.dot, wide*float64(len([]rune(t.text))), high) {
				if c := at.covers; c.left < float64(m.Left) || c.right > float64(m.Right) || c.top < float64(m.Top) || c.bottom > float64(m.At) ||
					slices.ContainsFunc(taken, c.meets) {
					continue
				}
				at.Text, at.Minor = t.text, minor
				named[t.dot], taken, m.Names = true, append(taken, at.covers), append(m.Names, at.mapName)
				break
			}
		}
	}
}

// townDot is a town and the dot that has its name.
type townDot struct {
	text string
	dot  mapDot
}

// largestTowns are the towns that are largest at their dot: a smaller one must not give its name to it, and seems to if it is beside it.
func (m *dotMap) largestTowns(on projection, towns []report.Town) (all []townDot) {
	owned := map[mapDot]bool{}
	for _, t := range towns[:min(len(towns), 10*mapNames)] {
		if !t.Placed {
			continue
		}
		x, y := on.x(t.Lon), on.y(t.Lat)
		dot := slices.MinFunc(m.Dots, func(a, b mapDot) int { return cmp.Compare(math.Hypot(a.X-x, a.Y-y), math.Hypot(b.X-x, b.Y-y)) })
		if !owned[dot] && !slices.ContainsFunc(all, func(o townDot) bool { return o.dot.touches(dot) }) {
			all = append(all, townDot{yp.Printable(t.Name), dot})
		}
		owned[dot] = true
	}
	return all
}

func (d mapDot) touches(o mapDot) bool { return math.Hypot(o.X-d.X, o.Y-d.Y) < o.R+d.R+binSize/2 }

// placed is where a name could be, and what it covers there.
type placed struct {
	mapName
	covers box
}

// placesOf are the places beside, above and below a dot in which its name could be.
func placesOf(d mapDot, width, high float64) []placed {
	off := d.R + 4
	place := func(anchor string, left, middle float64) placed {
		at := map[string]float64{"start": left, "middle": left + width/2, "end": left + width}[anchor]
		return placed{mapName{X: tenth(at), Y: tenth(middle + 5), Anchor: anchor}, box{left, left + width, middle - high/2, middle + high/2}}
	}
	above, below := d.Y-off-high/2, d.Y+off+high/2
	return []placed{
		place("start", d.X+off, d.Y), place("end", d.X-off-width, d.Y), place("middle", d.X-width/2, above), place("middle", d.X-width/2, below),
		place("end", d.X+d.R-width, above), place("start", d.X-d.R, above), place("end", d.X+d.R-width, below), place("start", d.X-d.R, below), // at an edge of the map
	}
}
