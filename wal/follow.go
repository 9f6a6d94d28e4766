package wal

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// DefaultPoll is how often Follow looks for new events.
const DefaultPoll = 250 * time.Millisecond

// FollowOptions say what Follow gives and when it looks.
type FollowOptions struct {
	Options
	Last  int              // events already there that come first: 0 = none, < 0 = all
	Every time.Duration    // how often to look; 0 = DefaultPoll
	Ticks <-chan time.Time // when to look; nil = a ticker of Every
}

// Follow calls fn for every event that is appended to the logs of path, a
// folder with all its workers or one worker's file, until ctx is done (then it
// returns nil) or fn returns an error (then that error). Workers that appear
// later and parts that a rotation begins are followed too, and nothing is lost
// or doubled when files are rotated and compressed meanwhile. fn gets an event
// or a *CorruptError. Events come in time order within one look.
func Follow(ctx context.Context, path string, opts FollowOptions, fn func(*Event, error) error) error {
	f := &follower{path: path, opts: opts, fn: fn, seen: map[string]*followed{}}
	if err := f.start(); err != nil {
		return err
	}
	ticks := opts.Ticks
	if ticks == nil {
		ticker := time.NewTicker(cmp.Or(max(opts.Every, 0), DefaultPoll))
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		if err := f.poll(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

type follower struct {
	path string
	opts FollowOptions
	fn   func(*Event, error) error
	seen map[string]*followed
}

// followed is how far a worker's log has been given.
type followed struct {
	cur  cursor
	size int64 // of the last part when it was last read: no news while it stays
}

// start sets the cursors to the end of the logs and gives the last events.
func (f *follower) start() error {
	logs, err := selectLogs(f.path, true)
	if err != nil || f.opts.Last < 0 {
		return err
	}
	var events []*Event
	for _, log := range logs {
		last, end := tailLog(log, f.opts.Last, f.opts.Options)
		f.seen[log.worker] = &followed{cur: end}
		events = lastOf(append(events, last...), f.opts.Last)
	}
	for _, e := range events {
		if err := f.fn(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// poll gives what is new. The folder is listed before anything is read: a part
// whose successor is in the list is complete, so once read to its end it can
// be left behind.
func (f *follower) poll(ctx context.Context) error {
	logs, err := selectLogs(f.path, true)
	if err != nil {
		return err
	}
	m := &Reader{}
	defer func() { _ = m.Close() }()
	news := map[*followed]*stream{}
	for _, log := range logs {
		w := f.seen[log.worker]
		if w == nil {
			w = &followed{cur: cursor{part: log.parts[0].number}}
			f.seen[log.worker] = w
		}
		if ok, err := f.hasNews(w, log); err != nil {
			return err
		} else if ok {
			news[w] = newStream(log, w.cur, f.opts.Options)
			m.add(news[w])
		}
	}
	for ctx.Err() == nil {
		it, ok := m.next()
		if !ok {
			break
		}
		if err := f.fn(it.event, it.err); err != nil {
			return err
		}
	}
	for w, s := range news {
		w.cur = s.cur
	}
	return nil
}

// hasNews reports whether the log has grown since the last look, and starts
// over with a file that shrank.
func (f *follower) hasNews(w *followed, log workerLog) (bool, error) {
	last := log.last()
	if last.number > w.cur.part {
		return true, nil
	}
	if w.cur.done || last.number < w.cur.part {
		return false, nil
	}
	if !last.plain {
		return true, nil
	}
	info, err := os.Stat(last.plainPath())
	if err != nil { // compressed since the list was made: the next look finds it
		return false, ignoreMissing(err)
	}
	if info.Size() < w.cur.offset {
		pos := Position{File: last.plainPath(), Offset: w.cur.offset, Line: w.cur.lines + 1}
		w.cur = cursor{part: last.number}
		if err := f.fn(nil, &CorruptError{Position: pos, Err: ErrShrunk}); err != nil {
			return false, err
		}
		w.size = 0
	}
	changed := info.Size() != w.size
	w.size = info.Size()
	return changed, nil
}

// Tail returns the last n events that pass the filter, of a folder or a file,
// in the order of Reader. Damage is passed over: Reader and ReadStats tell of
// it. Of each worker only as many files are read, from the last one back, as
// hold n events.
func Tail(path string, n int, opts Options) ([]*Event, error) {
	logs, err := selectLogs(path, false)
	if err != nil {
		return nil, err
	}
	var events []*Event
	for _, log := range logs {
		last, _ := tailLog(log, n, opts)
		events = lastOf(append(events, last...), n)
	}
	return events, nil
}

// lastOf sorts events by time and keeps the last n. The sort is stable: a
// worker's events of one instant stay in order.
func lastOf(events []*Event, n int) []*Event {
	slices.SortStableFunc(events, func(a, b *Event) int { return a.Timestamp.Compare(b.Timestamp) })
	return events[max(0, len(events)-n):]
}

// tailLog returns the last n events of a worker and the cursor at the end of
// its log. For n = 0 it only looks for the end.
func tailLog(log workerLog, n int, opts Options) ([]*Event, cursor) {
	if n <= 0 {
		return nil, endOf(log.last(), opts)
	}
	var (
		events []*Event
		end    cursor
	)
	for i := len(log.parts) - 1; i >= 0 && len(events) < n; i-- {
		s := log.parts[i].stream(opts)
		found := ring(s, n-len(events))
		events = append(found, events...)
		if i == len(log.parts)-1 {
			end = s.cur
		}
	}
	return events, end
}

// ring reads a stream to its end and keeps the last n events.
func ring(s *stream, n int) []*Event {
	var kept []*Event
	for it := range s.items() {
		if it.event == nil {
			continue
		}
		if kept = append(kept, it.event); len(kept) >= 2*n {
			kept = slices.Delete(kept, 0, len(kept)-n)
		}
	}
	return kept[max(0, len(kept)-n):]
}

// endOf counts the lines of a part without decoding them.
func endOf(p part, opts Options) cursor {
	end := cursor{part: p.number}
	seg, err := openSegment(p, 0, 0, opts.maxLine())
	if err != nil {
		return end
	}
	for err == nil || errors.Is(err, ErrLineTooLong) {
		_, err = seg.next()
	}
	end.offset, end.lines, end.done = seg.offset, seg.lines, seg.zstd != nil
	_ = seg.close() // opened for reading: nothing can be lost
	return end
}
