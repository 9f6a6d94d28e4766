package wal

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"io"
	"slices"
)

// Index is what a first reading of logs says of them: which databases wrote them, and
// which claims of each target they hold.
type Index struct {
	Databases []DatabaseEvents // by id; lines of older logs name none and stand under ""
	Unnamed   map[string]int64 // events that name no database, by the run that they name
	claims    map[targetKey][]claimEvents
}

// DatabaseEvents counts what one database has written.
type DatabaseEvents struct {
	ID     string
	Events int64
	First  Stamp
	Last   Stamp
}

// targetKey names a target as its database does; claim tokens are the target's own there.
// A hash of its name serves, of which millions fit into memory: two targets that had the
// same one would wait for each other's claims, and no event would be lost.
type targetKey struct {
	database string
	target   uint64
}

// claimEvents is how many events of a claim are still to come.
type claimEvents struct {
	token  int64
	events int
}

// ReadIndex reads a folder or a file once, for OpenOrdered.
func ReadIndex(path string, opts Options) (*Index, error) {
	logs, err := selectAll(path, opts.Also)
	if err != nil {
		return nil, err
	}
	opts.SkipListings = true
	x := &Index{Unnamed: map[string]int64{}, claims: map[targetKey][]claimEvents{}}
	for _, log := range logs {
		s := newStream(log, cursor{part: log.parts[0].number}, opts)
		for it, ok := s.next(); ok; it, ok = s.next() {
			if it.event != nil { // damage is told by the second reading
				x.add(it.event)
			}
		}
		s.close()
	}
	slices.SortFunc(x.Databases, func(a, b DatabaseEvents) int { return cmp.Compare(a.ID, b.ID) })
	return x, nil
}

func (x *Index) add(e *Event) {
	i := slices.IndexFunc(x.Databases, func(d DatabaseEvents) bool { return d.ID == e.Database })
	if i < 0 {
		i = len(x.Databases)
		x.Databases = append(x.Databases, DatabaseEvents{ID: e.Database, First: Stamp{e.Timestamp}})
	}
	d := &x.Databases[i]
	d.Events++
	if e.Database == "" {
		x.Unnamed[e.Run]++
	}
	if e.Timestamp.Before(d.First.Time) {
		d.First = Stamp{e.Timestamp}
	}
	if e.Timestamp.After(d.Last.Time) {
		d.Last = Stamp{e.Timestamp}
	}
	key, ok := ofClaim(e)
	if !ok {
		return
	}
	claims := x.claims[key]
	for i := range claims {
		if claims[i].token == e.Target.ClaimToken {
			claims[i].events++
			return
		}
	}
	x.claims[key] = append(claims, claimEvents{e.Target.ClaimToken, 1})
}

// ofClaim returns the target of an event that has its place within a claim. A heartbeat
// or the loss of a claim may be written when another worker has the next one already.
func ofClaim(e *Event) (key targetKey, ok bool) {
	if e.Target == nil || e.Type == Heartbeat || e.Type == ClaimLost {
		return key, false
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, e.Target.Key())
	return targetKey{e.Database, h.Sum64()}, true
}

// OpenOrdered opens what ReadIndex has read, with the same options but for the listings, in
// the order in which it came about: the events of each target by claim token, those of a
// claim as its worker wrote them. Time decides only between events that have nothing to do
// with each other, so no clock can put a page before the one it follows; and where all that is
// read is of one database, a run's number comes before the time. The index is used up.
func (x *Index) OpenOrdered(path string, opts Options) (*Reader, error) {
	opts.byRun = x.oneDatabase(opts.Filter.Databases)
	r, err := OpenReader(path, opts)
	if err != nil {
		return nil, err
	}
	o := &order{unnamed: x.soleDatabase(opts.Filter.Databases), claims: map[targetKey][]claimEvents{}, waiting: map[targetKey][]headItem{}}
	for key, claims := range x.claims {
		key = o.key(key)
		o.claims[key] = addClaims(o.claims[key], claims)
	}
	r.merge.order = o
	return r, nil
}

// oneDatabase reports whether the lines that are read name no more than one.
func (x *Index) oneDatabase(read []string) bool {
	named := 0
	for _, d := range x.Databases {
		if d.ID != "" && (len(read) == 0 || slices.Contains(read, d.ID)) {
			named++
		}
	}
	return named <= 1
}

// soleDatabase is the one database of those that are read, where it is but one: lines that
// name none are taken for its own, and their claims come in one order with those of the
// others.
func (x *Index) soleDatabase(read []string) (id string) {
	if len(read) > 0 && !slices.Contains(read, "") {
		return "" // those are not read
	}
	for _, d := range x.Databases {
		if d.ID == "" || len(read) > 0 && !slices.Contains(read, d.ID) {
			continue
		}
		if id != "" {
			return ""
		}
		id = d.ID
	}
	return id
}

// addClaims adds the claims of one target, sorted by token.
func addClaims(to, claims []claimEvents) []claimEvents {
	for _, c := range claims {
		if i := slices.IndexFunc(to, func(have claimEvents) bool { return have.token == c.token }); i >= 0 {
			to[i].events += c.events
		} else {
			to = append(to, c)
		}
	}
	slices.SortFunc(to, func(a, b claimEvents) int { return cmp.Compare(a.token, b.token) })
	return to
}

// order holds back the streams whose next event is of a claim that another one comes before.
//
// They never wait for each other in a circle: a worker has one target at a time, so both the
// claims of a worker and those of a target follow each other as they were taken.
type order struct {
	unnamed string                      // the database of lines that name none
	claims  map[targetKey][]claimEvents // by token; those that were given are gone
	waiting map[targetKey][]headItem
}

func (o *order) key(k targetKey) targetKey {
	k.database = cmp.Or(k.database, o.unnamed)
	return k
}

// before reports whether events of an earlier claim of the target are still to come.
func (o *order) before(e *Event) (key targetKey, wait bool) {
	if e == nil {
		return key, false
	}
	key, ok := ofClaim(e)
	key = o.key(key)
	return key, ok && len(o.claims[key]) > 0 && o.claims[key][0].token < e.Target.ClaimToken
}

// given notes that an event was given, and returns the streams that need not wait any longer.
func (o *order) given(e *Event) []headItem {
	if e == nil {
		return nil
	}
	key, ok := ofClaim(e)
	if !ok {
		return nil
	}
	key = o.key(key)
	claims := o.claims[key]
	i := slices.IndexFunc(claims, func(c claimEvents) bool { return c.token == e.Target.ClaimToken })
	if i < 0 {
		return nil // written since the index was made
	}
	if claims[i].events--; claims[i].events > 0 {
		return nil
	}
	o.claims[key] = slices.Delete(claims, i, i+1)
	return o.release(key)
}

func (o *order) release(key targetKey) []headItem {
	free := o.waiting[key]
	delete(o.waiting, key)
	return free
}

// nextInOrder is next for a merge with an order.
func (m *merge) nextInOrder() (item, bool) {
	for {
		for len(m.heads) > 0 {
			top := &m.heads[0]
			if top.dormant {
				top.dormant = false
				m.advance()
				continue
			}
			if key, wait := m.order.before(top.item.event); wait {
				m.order.waiting[key] = append(m.order.waiting[key], *top)
				heap.Pop(&m.heads)
				continue
			}
			it := top.item
			m.advance()
			m.push(m.order.given(it.event))
			return it, true
		}
		key, ok := m.order.stuck()
		if !ok {
			return item{}, false
		}
		delete(m.order.claims, key)
		m.push(m.order.release(key))
	}
}

// stuck returns a target whose streams wait for what does not come: an event that could be
// read the first time and not the second.
func (o *order) stuck() (key targetKey, ok bool) {
	for key := range o.waiting {
		return key, true
	}
	return key, false
}

func (m *merge) push(items []headItem) {
	for _, h := range items {
		heap.Push(&m.heads, h)
	}
}
