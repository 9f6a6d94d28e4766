package wal

import (
	"cmp"
	"context"
	"os"
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
	m := &merge{}
	defer m.close()
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
	if err := f.give(ctx, m); err != nil {
		return err
	}
	for w, s := range news {
		w.cur = s.cur
	}
	return nil
}

func (f *follower) give(ctx context.Context, m *merge) error {
	for ctx.Err() == nil {
		it, ok := m.next()
		if !ok {
			return nil
		}
		if err := f.fn(it.event, it.err); err != nil {
			return err
		}
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
