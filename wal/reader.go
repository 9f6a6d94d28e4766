package wal

import (
	"container/heap"
	"errors"
	"io"
	"iter"
	"time"
)

// Reader reads the events of one file, or of all workers of a folder merged by
// timestamp; events of the same instant come by worker, those of one worker in
// the order they were written. It is for one goroutine.
//
// It holds one line of each worker that was alive at the point it has reached,
// and no more: logs of dead workers are opened when their time comes.
type Reader struct {
	merge *merge
	pos   Position
}

// OpenReader opens path: a log folder, or one .jsonl or .jsonl.zst file. A
// folder or file that is not there is an error; a folder without logs has no
// events.
func OpenReader(path string, opts Options) (*Reader, error) {
	logs, err := selectAll(path, opts.Also)
	if err != nil {
		return nil, err
	}
	m := &merge{}
	for _, log := range logs {
		m.add(newStream(log, cursor{}, opts))
	}
	return &Reader{merge: m}, nil
}

// Next returns the next event. The error is io.EOF at the end, and a
// *CorruptError for a place that can't be read: call Next again to read on
// behind it.
func (r *Reader) Next() (*Event, error) {
	it, ok := r.merge.next()
	if !ok {
		return nil, io.EOF
	}
	r.pos = it.pos
	return it.event, it.err
}

// Events iterates what Next returns, without the io.EOF; every error is a
// *CorruptError and the loop may go on after it.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(e, err) {
				return
			}
		}
	}
}

// Position says where the event or the damage last returned by Next stands.
func (r *Reader) Position() Position { return r.pos }

// Torn lists the torn last lines met so far; after io.EOF, all of them.
func (r *Reader) Torn() []TornTail { return r.merge.torn() }

// Close closes the files. The reader is at its end afterwards.
func (r *Reader) Close() error {
	r.merge.close()
	return nil
}

// merge merges streams by time.
type merge struct {
	streams []*stream // all, for torn tails and cursors
	heads   heads
	ready   bool
	order   *order // nil = by time alone
}

// head is a stream in the heap with the time of its next item. A dormant one
// is closed, its time that of its first event: thousands of logs of dead
// workers must not be open at once.
type headItem struct {
	stream  *stream
	rank    int // order of the workers
	run     int64
	key     time.Time
	item    item
	dormant bool
}

func (m *merge) add(s *stream) {
	m.heads = append(m.heads, headItem{stream: s, rank: len(m.streams), dormant: true})
	m.streams = append(m.streams, s)
}

func (m *merge) next() (item, bool) {
	if !m.ready {
		m.start()
	}
	if m.order != nil {
		return m.nextInOrder()
	}
	for len(m.heads) > 0 {
		top := &m.heads[0]
		if !top.dormant {
			it := top.item
			m.advance()
			return it, true
		}
		top.dormant = false
		m.advance()
	}
	return item{}, false
}

// start puts every stream into the heap, under the time of its first event. A
// lone stream needs no order.
func (m *merge) start() {
	m.ready = true
	if len(m.heads) == 1 {
		return
	}
	for i := range m.heads {
		m.heads[i].run, m.heads[i].key = firstTime(m.heads[i].stream)
	}
	heap.Init(&m.heads)
}

// firstTime looks ahead without moving the stream. Damage at the start has no
// time: the stream is then opened at once.
func firstTime(s *stream) (run int64, at time.Time) {
	ahead := *s
	ahead.opts = Options{MaxLine: s.opts.MaxLine, SkipListings: true, byRun: s.opts.byRun}
	if s.opts.byRun { // another database's runs have numbers of their own
		ahead.opts.Filter = s.opts.Filter
	}
	defer ahead.close()
	ahead.next()
	return ahead.run, ahead.last
}

// advance moves the top stream to its next item, or out of the heap.
func (m *merge) advance() {
	top := &m.heads[0]
	it, ok := top.stream.next()
	if !ok {
		heap.Pop(&m.heads)
		return
	}
	top.item, top.run, top.key = it, top.stream.run, top.stream.last
	heap.Fix(&m.heads, 0)
}

func (m *merge) torn() []TornTail {
	var tails []TornTail
	for _, s := range m.streams {
		if s.torn != nil {
			tails = append(tails, *s.torn)
		}
	}
	return tails
}

func (m *merge) close() {
	for _, s := range m.streams {
		s.close()
	}
	m.heads, m.ready, m.order = nil, true, nil
}

type heads []headItem

// Len, Less, Swap, Push and Pop make heads a heap.
func (h heads) Len() int { return len(h) }

// Less orders by run, time, then worker.
func (h heads) Less(i, j int) bool {
	if h[i].run != h[j].run {
		return h[i].run < h[j].run
	}
	if c := h[i].key.Compare(h[j].key); c != 0 {
		return c < 0
	}
	return h[i].rank < h[j].rank
}

// Swap swaps two heads.
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a head.
func (h *heads) Push(x any) { *h = append(*h, x.(headItem)) }

// Pop removes the last head.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = headItem{} // let go of the event
	*h = (*h)[:len(*h)-1]
	return last
}
