package wal

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
)

// Options say what a reader gives.
type Options struct {
	Databases    []string // only events of these; none = of all. Damage is always reported
	SkipListings bool     // leave Page.Listings empty: faster, and hardly any memory

	// ByCommit gives the events of each database in the order of its commits, whatever clocks said,
	// with Event.Nth and pages at the time of their commit. Heartbeats and what was lost are left out.
	ByCommit bool

	Also    []string // OpenReader: further folders and files to read with it
	MaxLine int      // longest line in bytes; 0 = DefaultMaxLine
}

// Reader reads the events of one file, or of all workers of a folder, merged: by
// timestamp, or by commit. Those that are equal in this come by worker, those of one worker in
// the order they were written. It is for one goroutine.
//
// It holds one line of each worker that was alive at the point it has reached,
// and no more: logs of dead workers are opened when their time comes.
type Reader struct {
	streams []*stream  // all, for torn tails
	heads   []headItem // those with events left, by place
	ready   bool
}

// OpenReader opens path: a log folder, or one .jsonl or .jsonl.zst file. A
// folder or file that is not there is an error; a folder without logs has no
// events.
func OpenReader(path string, opts Options) (*Reader, error) {
	r := &Reader{}
	for _, path := range append([]string{path}, opts.Also...) {
		logs, err := selectLogs(path)
		if err != nil {
			return nil, err
		}
		for _, log := range logs {
			r.add(newStream(log, opts))
		}
	}
	if opts.ByCommit {
		r.resolveEnds()
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
	r.heads, r.ready = nil, true
	return nil
}

// headItem is a stream with its next item. A dormant one is closed, in the place of its first event:
// thousands of logs of dead workers must not be open at once.
type headItem struct {
	stream  *stream
	rank    int // order of the workers
	place   place
	item    item
	dormant bool
}

func (h headItem) compare(o headItem) int {
	return cmp.Or(h.place.compare(o.place), cmp.Compare(h.rank, o.rank))
}

func (r *Reader) add(s *stream) {
	r.heads = append(r.heads, headItem{stream: s, rank: len(r.streams), dormant: true})
	r.streams = append(r.streams, s)
}

func (r *Reader) next() (item, bool) {
	if !r.ready {
		r.start()
	}
	for len(r.heads) > 0 {
		top := r.heads[0]
		r.advance()
		if !top.dormant {
			return top.item, true
		}
	}
	return item{}, false
}

// start puts every stream in the place of its first event, without moving it. A lone one needs no
// order. Damage at the start has no place: the stream is then opened at once.
func (r *Reader) start() {
	r.ready = true
	if len(r.heads) == 1 {
		return
	}
	for i := range r.heads {
		ahead := r.heads[i].stream.copy()
		ahead.opts.Databases = nil // its first event that passes may be far behind
		_, r.heads[i].place, _ = ahead.give()
		ahead.close()
	}
	slices.SortFunc(r.heads, headItem.compare)
}

// advance moves the top stream to its next item, or away.
func (r *Reader) advance() {
	top := r.heads[0]
	r.heads[0] = headItem{} // let go of the event
	r.heads = r.heads[1:]
	var ok bool
	if top.item, top.place, ok = top.stream.give(); !ok {
		return
	}
	top.dormant = false
	i, _ := slices.BinarySearchFunc(r.heads, top, headItem.compare)
	r.heads = slices.Insert(r.heads, i, top)
}

// resolveEnds finds out what became of the pages behind which logs end because their process was
// killed: the next claim of such a target began with the page's commit, or with the one before.
func (r *Reader) resolveEnds() {
	type doubt struct {
		stream *stream
		token  int64 // of the page's claim
	}
	doubts := map[string][]doubt{}
	key := func(e *Event) string { return e.Database + "\x00" + e.Target.Key() }
	for _, s := range r.streams {
		if last := s.copy().last(); last != nil && last.Type == PageComplete && last.Target != nil {
			doubts[key(last)] = append(doubts[key(last)], doubt{s, last.Target.ClaimToken})
		}
	}
	if len(doubts) == 0 {
		return
	}
	for _, s := range r.streams {
		for e := range s.copy().events() {
			if e.Type != TargetStart || e.Target == nil {
				continue
			}
			for _, d := range doubts[key(e)] {
				if t := e.Target.ClaimToken; t > d.token && (d.stream.next == nil || t < d.stream.next.Target.ClaimToken) {
					d.stream.next = e
				}
			}
		}
	}
}

// Writer is a database that has written logs.
type Writer struct {
	ID    string // "" = of a development version
	Files int
	First time.Time // of its events
}

// Databases returns the databases that files name, by id. A file is written by one process, for one database, so each
// is read until a line tells of a commit, and so which version wrote it. The error is a *folder.DeniedError where this
// user may not read one of them: it may name another database.
func Databases(paths ...string) (all []Writer, err error) {
	var d denials
	for _, path := range paths {
		logs, err := selectLogs(path)
		if err != nil {
			return nil, err
		}
		for _, log := range logs {
			for _, p := range log.parts {
				w, err := p.writer()
				d.note(p.path(), err)
				if w.Files > 0 {
					all = append(all, w)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Writer) int { return cmp.Or(strings.Compare(a.ID, b.ID), a.First.Compare(b.First)) })
	merged := all[:0]
	for _, w := range all {
		if n := len(merged); n > 0 && merged[n-1].ID == w.ID {
			merged[n-1].Files++
			continue
		}
		merged = append(merged, w)
	}
	return merged, d.err()
}

// writer is who wrote a file; of one that nobody can read, Files is 0. The error is that of a file that can't be opened.
func (p part) writer() (w Writer, err error) {
	s := p.stream(Options{SkipListings: true})
	defer s.close()
	for it, ok := s.read(); ok; it, ok = s.read() {
		e := it.event
		if it.err != nil && errors.Is(it.err, fs.ErrPermission) {
			err = it.err
		}
		if e != nil && w.Files == 0 {
			w = Writer{e.Database, 1, e.Timestamp}
		}
		switch {
		case errors.Is(it.err, ErrDevelopment), e != nil && e.Type == TargetComplete && e.Committed+e.Ended == 0:
			return Writer{Files: 1}, nil
		case e != nil && e.Committed+e.Ended > 0:
			return w, nil
		}
	}
	return w, err
}
