package wal

import (
	"errors"
	"slices"
)

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
		s := newStream(workerLog{parts: log.parts[i : i+1]}, cursor{part: log.parts[i].number}, opts)
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
	for it, ok := s.next(); ok; it, ok = s.next() {
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
