package web

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// TestMap: listings are where their own page says, else in their city, and what has no place is counted; the filters are those of the list.
func TestMap(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.answers(t, "/map", page{http.StatusOK, []string{"0 of 2 listings", "2 listings have no known location.", "No listing has a known location."}})
	b.known(t, "own", "city", "nowhere", "searched", "evil")
	storetest.Execute(t, b.DB(),
		`UPDATE cities SET lat = 30.27, lon = -97.74 WHERE name = 'City 0' AND state = 'TX'`,
		`UPDATE listings SET lat = 32.78, lon = -96.8, city = 'Dallas', state = 'TX', rating = 5, own_page_at = 'x' WHERE listing_id = 'own'`,
		`UPDATE listings SET city = 'City 0', state = 'TX' WHERE listing_id = 'city'`,
		`UPDATE listings SET city = 'Nowhere, not Texas', state = 'TX' WHERE listing_id = 'nowhere'`,
		`UPDATE listings SET lat = 29.42, lon = -98.49, city = '`+hostile+`', state = 'TX', own_page_at = 'x' WHERE listing_id = 'evil'`,
		`INSERT INTO sightings (target_id, listing, page, rank, seen_at) SELECT g.target_id, l.id, 1, 0, 'x' FROM listings l, (SELECT target_id FROM sightings LIMIT 1) g WHERE l.listing_id = 'searched'`)
	text := b.answers(t, "/map", page{http.StatusOK, []string{
		"6 of 7 listings", "1 listing has no known location.", `role="img" aria-label="Map of 6 listings. The table has the largest places."`, "30.0° N", "98° W",
		`<text class="town`, ">Dallas</text>", `<a href="/listings?cities=Dallas">Dallas</a>`, "<td>Nowhere, not Texas <span class=\"dim\">not on the map</span></td>", "&lt;script&gt;",
		`<td class="n">4</td>`, `<a href="/listings">Show as a list</a>`, `aria-current="page">Map</a>`, `<datalist id="values-states"><option value="CA">California</option>`,
	}})
	if n := strings.Count(text, "<circle"); n != 3 {
		t.Errorf("%d dots, want 3", n)
	}
	b.answers(t, "/map?min-rating=5", page{http.StatusOK, []string{"1 of 1 listing, each", `href="/listings?min-rating=5"`, `value="5"`}})
	b.answers(t, "/map?states=CA", page{http.StatusOK, []string{"No listing matches."}})
	b.answers(t, "/map?states=nowhere", page{http.StatusNotFound, []string{"This filter can&#39;t be used", "Open /map without filters"}})
	b.answers(t, "/listings?min-rating=5", page{http.StatusOK, []string{`<a href="/map?min-rating=5">Show these on a map</a>`}})
}

var circles = regexp.MustCompile(`<circle cx="([-0-9.]+)" cy="([-0-9.]+)" r="([-0-9.]+)"`)

// TestDrawMap: whatever the places are, dots and names are within the frame, dots are bounded, and the grid has lines both ways.
func TestDrawMap(t *testing.T) {
	t.Parallel()
	grid := func(south, north, west, east float64, n int) (dots []report.Dot) {
		for i := range n {
			for j := range n {
				dots = append(dots, report.Dot{
					Lat: south + (north-south)*float64(i)/float64(max(1, n-1)), Lon: west + (east-west)*float64(j)/float64(max(1, n-1)), Listings: int64(1 + i*j),
				})
			}
		}
		return dots
	}
	for name, c := range map[string]struct {
		dots  []report.Dot
		label string
	}{
		"one":       {[]report.Dot{{Lat: 30.27, Lon: -97.74, Listings: 3}}, "30.27° N"},
		"a city":    {grid(30.1, 30.5, -97.9, -97.5, 20), "° N"},
		"a country": {grid(25, 49, -124, -67, 80), "40° N"},
		"the world": {grid(-55, 70, -170, 179, 90), "0°"},
		"over 180°": {[]report.Dot{{Lat: -17, Lon: 178, Listings: 1}, {Lat: -18, Lon: -179, Listings: 1}, {Lat: -16, Lon: 179.5, Listings: 1}}, "180.0°; "},
		"poles":     {[]report.Dot{{Lat: 90, Lon: 0, Listings: 1}, {Lat: -90, Lon: 180, Listings: 1}, {Lat: 0, Lon: -180, Listings: 1}}, "° S"},
		"one line":  {grid(40, 40, -100, 100, 30), "° N"},
		"one pole":  {grid(89, 90, -180, 180, 20), "° N"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &report.Locations{Dots: c.dots}
			for i, d := range c.dots {
				p.Listings += d.Listings
				p.Towns = append(p.Towns, report.Town{Name: fmt.Sprintf("Town %d", i), Dot: d, Placed: true})
			}
			m := drawMap(p)
			if m.Height > mapMost || len(m.Dots) == 0 || len(m.Dots) > 3000 || len(m.Names) > mapNames || len(m.Towns) > mapTowns || len(m.Lines) > 24 {
				t.Errorf("height %d, %d dots, %d names, %d towns, %d lines", m.Height, len(m.Dots), len(m.Names), len(m.Towns), len(m.Lines))
			}
			for _, d := range m.Dots {
				if !(d.X >= float64(m.Left)-1 && d.X <= float64(m.Right)+1 && d.Y >= float64(m.Top)-1 && d.Y <= float64(m.At)+1 && d.R >= dotLeast && d.R <= dotMost) {
					t.Errorf("a dot at %+v is outside", d)
				}
			}
			for _, n := range m.Names {
				if math.IsNaN(n.X) || n.X < float64(m.Left) || n.X > float64(m.Right) || n.Y < float64(m.Top) || n.Y > float64(m.At)+6 {
					t.Errorf("%q at %v, %v is outside", n.Text, n.X, n.Y)
				}
				if i := slices.IndexFunc(m.Dots, n.covers); i >= 0 {
					t.Errorf("%q at %v, %v covers the dot %+v", n.Text, n.X, n.Y, m.Dots[i])
				}
			}
			var across, along, labels int
			said := ""
			for _, l := range m.Lines {
				if l.X1 == l.X2 {
					along++
				} else {
					across++
				}
				if said += l.Label + "; "; !l.Minor {
					labels++
				}
			}
			if across == 0 || along == 0 || labels < 2 || !strings.Contains(said, c.label) {
				t.Errorf("%d lines across, %d along, labels %s", across, along, said)
			}
		})
	}
}

// TestSuburbs: a small town beside a large one has no name on the map: it would seem to be that of the large dot.
func TestSuburbs(t *testing.T) {
	t.Parallel()
	p := &report.Locations{}
	for _, town := range []report.Town{
		{Name: "Houston", Dot: report.Dot{Lat: 29.76, Lon: -95.37, Listings: 400}},
		{Name: "Alief", Dot: report.Dot{Lat: 29.71, Lon: -95.59, Listings: 14}},
		{Name: "Midland", Dot: report.Dot{Lat: 32, Lon: -102.1, Listings: 9}},
		{Name: "El Paso", Dot: report.Dot{Lat: 31.77, Lon: -106.49, Listings: 300}},
	} {
		town.Placed = true
		p.Towns, p.Dots, p.Listings = append(p.Towns, town), append(p.Dots, town.Dot), p.Listings+town.Listings
	}
	var names []string
	for _, n := range drawMap(p).Names {
		names = append(names, n.Text)
	}
	slices.Sort(names)
	storetest.Diff(t, names, []string{"El Paso", "Houston", "Midland"}, "names")
}

// covers reports whether the line of a name, as it is at 1280 px, crosses a dot.
func (n mapName) covers(d mapDot) bool {
	width := letter * float64(len(n.Text))
	left := n.X - width*map[string]float64{"start": 0, "middle": 0.5, "end": 1}[n.Anchor]
	return d.X+d.R > left && d.X-d.R < left+width && d.Y+d.R > n.Y-10 && d.Y-d.R < n.Y
}

// TestMapInFrame: what a browser gets is within the picture.
func TestMapInFrame(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	ids := make([]string, 60)
	for i := range ids {
		ids[i] = fmt.Sprint("m", i)
	}
	b.known(t, ids...)
	storetest.Execute(t, b.DB(), `UPDATE listings SET lat = 25 + id * 0.4, lon = -124 + (id * 37 % 57), city = 'Town ' || (id % 9), state = 'TX', own_page_at = 'x'`)
	text := b.answers(t, "/map", page{http.StatusOK, []string{"62 of 62 listings"}})
	size := regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`).FindStringSubmatch(text)
	all := circles.FindAllStringSubmatch(text, -1)
	if len(size) != 3 || len(all) < 30 {
		t.Fatalf("%v, %d dots", size, len(all))
	}
	num := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	for _, c := range all {
		if x, y, r := num(c[1]), num(c[2]), num(c[3]); x-r < 0 || y-r < 0 || x+r > num(size[1]) || y+r > num(size[2]) {
			t.Errorf("%s is cut off", c[0])
		}
	}
}
