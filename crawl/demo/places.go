package demo

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// defaultPlaces is how many of a state's places the directory has.
const defaultPlaces = 40

// place is a city of the directory. Slug is the site's own; what a gazetteer
// would make of the name is known.
type place struct {
	gazetteer.Place
	known  string   // the gazetteer's slug
	listed string   // the name as the indexes write it
	index  int      // in the gazetteer's order: part of every id, whatever Config.Places says
	near   []*place // the nearest others of its state in epoch 0, nearest first
	zone   zone
}

// maxNear is how many neighbours lend businesses to a city's results.
const maxNear = 5

// takePlaces returns the n largest places of every state (all when n < 0).
// Where two have one slug only the larger can be reached, so the other is left out.
func takePlaces(all []gazetteer.Place, n int) []*place {
	byState, zones := make(map[string]int), zones()
	seen := make(map[string]bool)
	var places []*place
	for i, g := range all {
		if n >= 0 && byState[g.State] >= n || seen[g.Slug] {
			continue
		}
		byState[g.State]++
		seen[g.Slug] = true
		places = append(places, newPlace(g, i, zones))
	}
	return places
}

func newPlace(g gazetteer.Place, index int, zones map[string]zone) *place {
	p := &place{Place: g, known: g.Slug, index: index, zone: zones[g.State]}
	p.listed = p.indexName()
	return p
}

// nearest returns the nearest others of a place, nearest first.
func nearest(p *place, among []*place) []*place {
	near, far := make([]*place, 0, maxNear+1), make([]float64, 0, maxNear+1)
	for _, q := range among {
		d := distance(p, q)
		i := len(near)
		for i > 0 && far[i-1] > d {
			i--
		}
		if q != p && i < maxNear {
			near, far = slices.Insert(near, i, q), slices.Insert(far, i, d)
			near, far = near[:min(len(near), maxNear)], far[:min(len(far), maxNear)]
		}
	}
	return slices.Clip(near)
}

// distance orders places by how far apart they are; its unit means nothing.
func distance(p, q *place) float64 {
	x := (p.Lon - q.Lon) * math.Cos(p.Lat*math.Pi/180)
	y := p.Lat - q.Lat
	return float64(x*x) + float64(y*y) // not fused: the same on every machine
}

// atlas holds the places of an epoch.
type atlas struct {
	places  []*place
	bySlug  map[string]*place
	byKnown map[string]*place // by the gazetteer's slug, as a search finds them
	byIndex map[int]*place
	byState map[string][]*place
}

func newAtlas(places []*place) *atlas {
	a := &atlas{places: places, bySlug: make(map[string]*place), byKnown: make(map[string]*place), byIndex: make(map[int]*place), byState: make(map[string][]*place)}
	for _, p := range places {
		a.bySlug[p.Slug], a.byKnown[p.known], a.byIndex[p.index] = p, p, p
		a.byState[p.State] = append(a.byState[p.State], p)
	}
	return a
}

// The questions asked of a place's dice, one for every epoch.
const (
	tagLeaves = 1_000 // + epoch
	tagEnters = 2_000 // + epoch
)

const (
	leavePct  = 4       // of the smaller cities leave the directory in an epoch
	enterPct  = 8       // of the spare ones enter it
	leaveSize = 250_000 // larger cities stay
	numSpares = 15      // per state
)

// after returns the places of an epoch: those of a that have not left since,
// then the spare ones that have come. A city that left never comes back.
func (a *atlas) after(seed int64, epoch int, spares map[string]*place) *atlas {
	if epoch == 0 {
		return a
	}
	var places []*place
	for _, p := range a.places {
		if !a.leaves(p, seed, epoch) {
			places = append(places, p)
		}
	}
	var come []*place
	for _, p := range spares {
		if happened(placeDice(seed, p), tagEnters, enterPct, epoch) {
			come = append(come, p)
		}
	}
	slices.SortFunc(come, func(p, q *place) int { return p.index - q.index })
	return newAtlas(append(places, come...))
}

func (a *atlas) leaves(p *place, seed int64, epoch int) bool {
	return p.Population < leaveSize && p != a.byState[p.State][0] && happened(placeDice(seed, p), tagLeaves, leavePct, epoch)
}

func placeDice(seed int64, p *place) dice { return newDice(seed, 0xc17, uint64(p.index)) }

// happened reports whether what happens in pct of a hundred epochs has
// happened by an epoch.
func happened(d dice, tag, pct, epoch int) bool {
	for e := 1; e <= epoch; e++ {
		if d.pct(tag+e) < pct {
			return true
		}
	}
	return false
}

// takeSpares returns the places of every state that come next in size after
// those of the first atlas. The slugs of some are the site's own.
func takeSpares(all []gazetteer.Place, first *atlas) map[string]*place {
	spares, byState, zones := make(map[string]*place), make(map[string]int), zones()
	taken := make(map[string]bool, len(all))
	for i := range all {
		taken[all[i].Slug] = true
	}
	for i, g := range all {
		if first.bySlug[g.Slug] != nil || byState[g.State] >= numSpares || spares[g.Slug] != nil {
			continue
		}
		byState[g.State]++
		p := newPlace(g, i, zones)
		if own := ownSlug(p); !taken[own] && yp.CitySlug(p.listed, p.State) == p.known { // by one of both it can be told
			p.Slug = own
		}
		p.near = nearest(p, first.byState[p.State])
		spares[p.Slug] = p
	}
	return spares
}

// ownSlug writes some names of several words as one: "sunlakes-az".
func ownSlug(p *place) string {
	if newDice(5, uint64(p.index)).pct(1) >= 40 {
		return p.Slug
	}
	i := strings.LastIndexByte(p.Slug, '-')
	return strings.ReplaceAll(p.Slug[:i], "-", "") + p.Slug[i:]
}

// indexName writes the name as the indexes do: some words short, now and then.
func (p *place) indexName() string {
	if newDice(5, uint64(p.index)).pct(2) >= 60 {
		return p.Name
	}
	for _, w := range [][2]string{{"Saint ", "St "}, {"St. ", "St "}, {"Fort ", "Ft "}, {"Mount ", "Mt "}} {
		if rest, ok := strings.CutPrefix(p.Name, w[0]); ok {
			return w[1] + rest
		}
	}
	for _, w := range [][2]string{{" Heights", " Hts"}, {" Junction", " Jct"}, {" Springs", " Spgs"}, {" Township", " Twp"}} {
		if rest, ok := strings.CutSuffix(p.Name, w[0]); ok {
			return rest + w[1]
		}
	}
	return p.Name
}

// postal holds, per state, the range of its ZIP prefixes and some of its area
// codes, so that made-up addresses and numbers look right and keep their
// leading zeros. Numbers use the exchange 555, which belongs to nobody.
const postal = `AK 995-999 907|AL 350-369 205 251 334|AR 716-729 479 501 870|AZ 850-865 480 520 602|CA 900-961 213 310 415 619 916|CO 800-816 303 719 970|
CT 060-069 203 860|DC 200-205 202|DE 197-199 302|FL 320-349 305 407 813 904|GA 300-319 404 706 912|HI 967-968 808|IA 500-528 319 515 641|ID 832-838 208|
IL 600-629 217 312 618 847|IN 460-479 219 317 812|KS 660-679 316 620 785|KY 400-427 270 502 606|LA 700-714 225 318 504|MA 010-027 413 508 617|
MD 206-219 301 410|ME 039-049 207|MI 480-499 231 313 517 616|MN 550-567 218 507 612|MO 630-658 314 417 816|MS 386-397 228 601 662|MT 590-599 406|
NC 270-289 252 336 704 919|ND 580-588 701|NE 680-693 308 402|NH 030-038 603|NJ 070-089 201 609 732|NM 870-884 505 575|NV 889-898 702 775|
NY 100-149 212 315 518 716|OH 430-459 216 419 513 614|OK 730-749 405 580 918|OR 970-979 503 541|PA 150-196 215 412 570 717|RI 028-029 401|
SC 290-299 803 843 864|SD 570-577 605|TN 370-385 423 615 731 901|TX 750-799 210 214 512 713 806 915|UT 840-847 435 801|VA 220-246 276 540 703 804|
VT 050-059 802|WA 980-994 206 360 509|WI 530-549 262 414 608 715|WV 247-268 304|WY 820-831 307`

type zone struct {
	zip, zips int      // first ZIP prefix and how many
	area      []string // area codes
}

func zones() map[string]zone {
	byState := make(map[string]zone)
	for entry := range strings.SplitSeq(postal, "|") {
		f := strings.Fields(entry)
		first, last := number(f[1][:3]), number(f[1][4:])
		byState[f[0]] = zone{zip: first, zips: last - first + 1, area: f[2:]}
	}
	return byState
}

// number reads a decimal number without a sign; -1 when s is none.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 40)
	if err != nil {
		return -1
	}
	return int(n)
}
