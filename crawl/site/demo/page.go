package demo

// window is how far back a deflate match may reach (RFC 1951).
const window = 32 << 10

// A piece is text that never changes: markup between the values of a card, or
// the scripts and the frame of the site. Long ones are deflated once.
type piece struct {
	text   string
	packed []byte // nil when short
}

// packedFrom is the length from which a piece is worth deflating beforehand.
const packedFrom = 4 << 10

// A run is a stretch of a page that the gzip writer need not look at: it is
// either a repetition of what stood dist bytes before, or a packed piece.
type run struct {
	off, n, dist int32 // dist is 0 for a packed piece
	piece        int32 // no pointer, so that the garbage collector need not look
}

// page is a page being built, with notes of where it repeats itself. The notes
// are what makes compression cheap: nothing is searched for.
type page struct {
	set  *templates
	buf  []byte
	runs []run
	last []int32 // per piece of the set, 1 + its last offset
}

func newPage(set *templates) *page {
	return &page{set: set, buf: make([]byte, 0, 288<<10), last: make([]int32, len(set.pieces))}
}

func (p *page) reset() {
	p.buf, p.runs = p.buf[:0], p.runs[:0]
	clear(p.last)
}

// raw appends text of which nothing is known.
func (p *page) raw(s string) { p.buf = append(p.buf, s...) }

// again appends s, which also stands at offset at.
func (p *page) again(s string, at int32) {
	off := int32(len(p.buf))
	if len(s) >= 4 && off-at <= window {
		p.runs = append(p.runs, run{off: off, n: int32(len(s)), dist: off - at})
	}
	p.buf = append(p.buf, s...)
}

func (p *page) piece(id int) {
	pc := &p.set.pieces[id]
	off := int32(len(p.buf))
	switch {
	case pc.packed != nil:
		p.runs = append(p.runs, run{off: off, n: int32(len(pc.text)), piece: int32(id)})
		p.buf = append(p.buf, pc.text...)
	case p.last[id] > 0:
		p.again(pc.text, p.last[id]-1)
	default:
		p.raw(pc.text)
	}
	p.last[id] = off + 1
}
