package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// plot is a picture of figures, as the template "plot" draws it. All places are in percent of the field between the axes, so
// that the picture is as wide as its box and its letters are never smaller than those of the page.
type plot struct {
	Name    string // of its element; its patterns begin with it
	Title   string
	Caption string // which time or how many things it shows
	Label   string // what it shows in a sentence, for those who can't see it
	Unit    string // of the axis on the left
	Across  string // what the axis at the bottom is
	None    string // said in place of a picture where there is nothing to draw
	Note    string // below it
	Gap     string // what a gap means

	Up, Along []tick
	Gaps      []span // where nothing is known
	Grounds   []span // where something is: the line at zero is drawn there
	Timed     bool   // what is along the bottom is time
	Zero      string // where zero is, from the top
	Keys      []key  // what is drawn, in the order of the values
	Bars      []rect
	Steps     []stepLine
	Spots     []spot // places with a text for who points at them
	Figures   *figures
}

// key is what a mark means.
type key struct {
	Words  string
	Colour string // a class of the style sheet
	Motif  string // a pattern of the template, by which it differs without colour; of steps a dash
	Down   bool   // it hangs below zero
}

// The looks of keys in a stack, one after the other. The last is for what is left over.
var looks = []key{
	{Colour: "red", Motif: "solid"},
	{Colour: "amber", Motif: "rising"},
	{Colour: "violet", Motif: "dots"},
	{Colour: "blue", Motif: "level"},
	{Colour: "teal", Motif: "falling"},
	{Colour: "grey", Motif: "upright"},
}

// What became of listings: new and changed ones are above zero, closed ones below.
var changeKeys = []key{
	{Words: "new", Colour: "blue", Motif: "solid"},
	{Words: "changed", Colour: "teal", Motif: "rising"},
	{Words: "closed", Colour: "red", Motif: "dots", Down: true},
}

type (
	// rect is a part of a bar. Key counts from 0.
	rect struct {
		X, Y, W, H string
		Key        int
	}
	// stepLine is a line of level pieces; it has a gap where nothing is known.
	stepLine struct {
		Key  int
		Path string // in a field of 1000 by 100
	}
	// spot is a column of the field that says what is drawn in it. Cut is where its bar is broken off that goes on beyond the
	// field; empty = it is whole.
	spot struct{ X, W, Tip, Cut string }
	// span is a part of the field's width.
	span struct{ X, W, To string }
	// figures is the table with what a plot shows.
	figures struct {
		Columns []string
		Rows    [][]string
	}
)

// column is a bar: its values by key.
type column struct {
	At, Width float64 // in percent of the field
	Name      string  // which one it is
	Values    []float64
}

// motif is the pattern of a key of a plot.
type motif struct{ ID, Colour, Motif string }

// Motifs are the patterns with which bars are filled. Each plot has its own: ids are unique in a page.
func (p *plot) Motifs() (all []motif) {
	if len(p.Bars) == 0 {
		return nil
	}
	for i, k := range p.Keys {
		all = append(all, motif{p.Name + "-" + strconv.Itoa(i), k.Colour, k.Motif})
	}
	return all
}

// least is the height of the smallest part that is no zero, in percent of the field: it would not be seen otherwise.
const least = 1.2

// heights are how far a bar reaches above and below zero.
func (p *plot) heights(c column) (below, above float64) {
	for i, v := range c.Values {
		if p.Keys[i].Down {
			below += v
		} else {
			above += v
		}
	}
	return below, above
}

// drawBars draws columns, the values of each one upon another. A bar that is higher than most is cut; 0 = none is.
func (p *plot) drawBars(columns []column, most float64, whole bool) {
	var below, above float64
	for _, c := range columns {
		down, up := p.heights(c)
		below, above = max(below, down), max(above, up)
	}
	if most > 0 {
		below, above = min(below, most), min(above, most)
	}
	s := scaleOf(below, above, whole)
	p.Up, p.Zero = s.ticks(short), share2(s.top(0))
	for _, c := range columns {
		p.drawBar(s, c)
		down, up := p.heights(c)
		at := spot{X: share2(c.At), W: share2(c.Width), Tip: p.tip(c)}
		switch {
		case most == 0:
		case up > most:
			at.Cut = "7%"
		case down > most:
			at.Cut = "89%"
		}
		p.Spots = append(p.Spots, at)
	}
}

// drawBar draws the parts of a bar from zero on.
func (p *plot) drawBar(s scale, c column) {
	gap := c.Width * 0.12
	up, down := s.top(0), s.top(0)
	for i, v := range c.Values {
		if v <= 0 {
			continue
		}
		part := rect{X: share2(c.At + gap), W: share2(c.Width - 2*gap), Key: i}
		height := max(100*v/(s.High-s.Low), least)
		if p.Keys[i].Down {
			part.Y, height = share2(down), min(height, 100-down)
			down += height
		} else {
			height = min(height, up)
			up -= height
			part.Y = share2(up)
		}
		if part.H = share2(height); height > 0 {
			p.Bars = append(p.Bars, part)
		}
	}
}

// tip says the values of a column.
func (p *plot) tip(c column) string {
	var said []string
	for i, v := range c.Values {
		if v != 0 || len(c.Values) == 1 {
			said = append(said, figure(v)+" "+p.Keys[i].Words)
		}
	}
	return c.Name + ": " + cmp.Or(strings.Join(said, ", "), "nothing")
}

// cutAt is the height at which bars are cut, so that the others can be seen beside some that are much higher, as the first pass
// of a source is. It is the highest that is not above six times the middle one; 0 = none is cut.
func (p *plot) cutAt(columns []column) float64 {
	var all []float64
	for _, c := range columns {
		if down, up := p.heights(c); max(down, up) > 0 {
			all = append(all, max(down, up))
		}
	}
	slices.Sort(all)
	if len(all) < 3 || all[len(all)-1] <= 6*all[(len(all)-1)/2] {
		return 0
	}
	i, _ := slices.BinarySearch(all, 6*all[(len(all)-1)/2]+1)
	return all[i-1]
}

// drawSteps draws lines over columns of equal width, one for each key. A NaN is a gap: no line leads over it.
func (p *plot) drawSteps(s scale, lines [][]float64, text func(float64) string) {
	p.Up, p.Zero = s.ticks(text), share2(s.top(0))
	for i, line := range lines {
		if path := stepsPath(s, line); path != "" {
			p.Steps = append(p.Steps, stepLine{i, path})
		}
	}
}

// stepsPath is the path of a line in a field of 1000 by 100.
func stepsPath(s scale, line []float64) string {
	var path strings.Builder
	width, drawn := 1000/float64(len(line)), false
	for i, v := range line {
		if math.IsNaN(v) {
			drawn = false
			continue
		}
		x, y := float64(i)*width, coordinate(s.top(v))
		if drawn {
			fmt.Fprintf(&path, "V%s", y)
		} else {
			fmt.Fprintf(&path, "M%s %s", coordinate(x), y)
		}
		fmt.Fprintf(&path, "H%s", coordinate(x+width))
		drawn = true
	}
	return path.String()
}

// tell marks which columns of equal width are known, of the first n. Zero is drawn where it is known alone: a gap is no zero.
func (p *plot) tell(known []bool, n int) {
	width := 100 / float64(len(known))
	for i := 0; i < n; {
		end := i
		for end < n && known[end] == known[i] {
			end++
		}
		part := span{share2(float64(i) * width), share2(float64(end-i) * width), share2(float64(end) * width)}
		if known[i] {
			p.Grounds = append(p.Grounds, part)
		} else {
			p.Gaps = append(p.Gaps, part)
		}
		i = end
	}
}
