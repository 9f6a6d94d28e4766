package wal

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"iter"
	"slices"
	"sort"
	"time"
)

// Reader reads the events of one file, or of all workers of a folder merged by
// timestamp; events of the same instant come by worker, those of one worker in
// the order they were written. It is for one goroutine.
//
// It holds one line of each worker that was alive at the point it has reached,
// and no more: logs of dead workers are opened when their time comes.
type Reader struct {
	streams []*stream  // all, for torn tails and cursors
	heads   []headItem // by run, time, number of the commit, worker
	ready   bool
	order   *order // nil = by time alone
}

// OpenReader opens path: a log folder, or one .jsonl or .jsonl.zst file. A
// folder or file that is not there is an error; a folder without logs has no
// events.
func OpenReader(path string, opts Options) (*Reader, error) {
	logs, err := selectAll(path, opts.Also)
	if err != nil {
		return nil, err
	}
	r := &Reader{}
	for _, log := range logs {
		r.add(newStream(log, cursor{}, opts))
	}
	return r, nil
}

// Events iterates the events; every error is a *CorruptError for a place that can't be read,
// and the loop may go on behind it.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for it, ok := r.next(); ok && yield(it.event, it.err); it, ok = r.next() {
		}
	}
}

// Torn lists the torn last lines met so far; behind the last event, all of them.
func (r *Reader) Torn() (tails []TornTail) {
	for _, s := range r.streams {
		if s.torn != nil {
			tails = append(tails, *s.torn)
		}
	}
	return tails
}

// Close closes the files. The reader is at its end afterwards.
func (r *Reader) Close() error {
	for _, s := range r.streams {
		s.close()
	}
	r.heads, r.ready, r.order = nil, true, nil
	return nil
}

// FollowEvery is how often a follower looks for new events.
const FollowEvery = 250 * time.Millisecond

// Follow calls fn for every event of path, a folder with all its workers or one worker's file, and
// for those that are appended, until ctx is done (then it returns nil) or fn returns an error. It
// looks for new ones at every tick. Workers that appear later and the files that a rotation begins
// are followed too, and nothing is lost or doubled by a compression.
func Follow(ctx context.Context, path string, opts Options, ticks <-chan time.Time, fn func(*Event, error) error) error {
	read := map[string]cursor{} // by worker
	for {
		logs, err := selectLogs(path, true) // listed first: a file whose successor is in the list is whole
		if err != nil {
			return err
		}
		r := &Reader{}
		for _, log := range logs {
			r.add(newStream(log, read[log.worker], opts))
		}
		for e, err := range r.Events() {
			if ctx.Err() != nil {
				break
			}
			if err := fn(e, err); err != nil {
				return errors.Join(err, r.Close())
			}
		}
		_ = r.Close() // only read
		for i, log := range logs {
			read[log.worker] = r.streams[i].cur
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// headItem is a stream with its next item. A dormant one
// is closed, its time that of its first event: thousands of logs of dead
// workers must not be open at once.
type headItem struct {
	stream  *stream
	rank    int // order of the workers
	run     int64
	key     time.Time
	nth     int64
	item    item
	dormant bool
}

// place puts a stream where its next item belongs; a damaged one stays in the run before.
func (h *headItem) place(it item) {
	if h.key, h.nth = it.at, 0; it.event == nil {
		return
	}
	if h.stream.opts.byRun {
		h.run = it.event.RunNumber
	}
	if it.event.Committed != nil {
		h.nth = it.event.Committed.Nth
	}
}

func (h headItem) compare(o headItem) int {
	return cmp.Or(cmp.Compare(h.run, o.run), h.key.Compare(o.key), cmp.Compare(h.nth, o.nth), cmp.Compare(h.rank, o.rank))
}

func (r *Reader) add(s *stream) {
	r.heads = append(r.heads, headItem{stream: s, rank: len(r.streams), dormant: true})
	r.streams = append(r.streams, s)
}

func (r *Reader) next() (item, bool) {
	if !r.ready {
		r.start()
	}
	for {
		for len(r.heads) > 0 {
			top := &r.heads[0]
			if top.dormant {
				top.dormant = false
				r.advance()
				continue
			}
			if key, wait := r.order.before(top.item.event); wait {
				r.order.waiting[key] = append(r.order.waiting[key], *top)
				r.heads = r.heads[1:]
				continue
			}
			it := top.item
			r.advance()
			r.insert(r.order.given(it.event)...)
			return it, true
		}
		key, ok := r.order.stuck()
		if !ok {
			return item{}, false
		}
		delete(r.order.claims, key)
		r.insert(r.order.release(key)...)
	}
}

func (r *Reader) insert(items ...headItem) {
	for _, h := range items {
		i, _ := slices.BinarySearchFunc(r.heads, h, headItem.compare)
		r.heads = slices.Insert(r.heads, i, h)
	}
}

// start puts every stream under the time of its first event. A
// lone stream needs no order.
func (r *Reader) start() {
	r.ready = true
	if len(r.heads) == 1 {
		return
	}
	for i := range r.heads {
		r.heads[i].place(firstItem(r.heads[i].stream))
	}
	slices.SortFunc(r.heads, headItem.compare)
}

// firstItem looks ahead without moving the stream. Damage at the start has no
// time: the stream is then opened at once.
func firstItem(s *stream) item {
	ahead := *s
	ahead.opts = Options{MaxLine: s.opts.MaxLine, SkipListings: true, ByCommit: s.opts.ByCommit, byRun: s.opts.byRun}
	if s.opts.byRun { // another database's runs have numbers of their own
		ahead.opts.Filter = s.opts.Filter
	}
	defer ahead.close()
	it, _ := ahead.next()
	return it
}

// advance moves the top stream to its next item, or away.
func (r *Reader) advance() {
	top := r.heads[0]
	it, ok := top.stream.next()
	if !ok {
		r.heads[0] = headItem{} // let go of the event
		r.heads = r.heads[1:]
		return
	}
	top.item = it
	top.place(it)
	i, _ := slices.BinarySearchFunc(r.heads[1:], top, headItem.compare)
	copy(r.heads, r.heads[1:i+1])
	r.heads[i] = top
}

// Index is what a first reading of logs says of them: which databases wrote them, and
// which claims of each target they hold.
type Index struct {
	Databases []DatabaseEvents // by id
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
	x := &Index{claims: map[targetKey][]claimEvents{}}
	for _, log := range logs {
		for it := range newStream(log, cursor{}, opts).items() {
			if it.event != nil { // damage is told by the second reading
				x.add(it.event)
			}
		}
	}
	sort.Slice(x.Databases, func(i, j int) bool { return x.Databases[i].ID < x.Databases[j].ID })
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
// claim as its worker wrote them. The time of commits decides only between events that have nothing to do
// with each other, so no clock can put a page before the one it follows; and where all that is
// read is of one database, a run's number comes before the time. The index is used up.
func (x *Index) OpenOrdered(path string, opts Options) (*Reader, error) {
	read := opts.Filter.Databases
	opts.ByCommit, opts.byRun = true, len(read) == 1 || len(x.Databases) <= 1
	r, err := OpenReader(path, opts)
	if err != nil {
		return nil, err
	}
	r.order = &order{claims: x.claims, waiting: map[targetKey][]headItem{}}
	for _, claims := range x.claims {
		slices.SortFunc(claims, func(a, b claimEvents) int { return cmp.Compare(a.token, b.token) })
	}
	return r, nil
}

// order holds back the streams whose next event is of a claim that another one comes before;
// a nil one holds back none.
//
// They never wait for each other in a circle: a worker has one target at a time, so both the
// claims of a worker and those of a target follow each other as they were taken.
type order struct {
	claims  map[targetKey][]claimEvents // by token; those that were given are gone
	waiting map[targetKey][]headItem
}

// before reports whether events of an earlier claim of the target are still to come.
func (o *order) before(e *Event) (key targetKey, wait bool) {
	if o == nil || e == nil {
		return key, false
	}
	key, ok := ofClaim(e)
	return key, ok && len(o.claims[key]) > 0 && o.claims[key][0].token < e.Target.ClaimToken
}

// given notes that an event was given, and returns the streams that need not wait any longer.
func (o *order) given(e *Event) []headItem {
	if o == nil || e == nil {
		return nil
	}
	key, ok := ofClaim(e)
	if !ok {
		return nil
	}
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

// stuck returns a target whose streams wait for what does not come: an event that could be
// read the first time and not the second.
func (o *order) stuck() (key targetKey, ok bool) {
	if o != nil {
		for key := range o.waiting {
			return key, true
		}
	}
	return key, false
}
