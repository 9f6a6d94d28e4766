package wal

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"ypcrawl/yp"
)

// Stats says what a log folder, or one file, holds.
type Stats struct {
	Path    string        `json:"path"`
	Total   Summary       `json:"total"`
	Workers []WorkerStats `json:"workers"` // by worker number and pid
}

// WorkerStats is the part of one worker.
type WorkerStats struct {
	WorkerID string `json:"worker_id"`
	Summary
}

// Summary counts events. Pages and listings are those of page_complete lines:
// a page that was read, logged, and read again after a kill counts twice.
type Summary struct {
	Files            int                    `json:"files"`
	Compressed       int                    `json:"compressed_files"` // of Files
	Bytes            int64                  `json:"bytes"`            // on disk
	Events           int64                  `json:"events"`
	ByType           map[EventType]int64    `json:"events_by_type"`
	Pages            int64                  `json:"pages"`
	ListingsRaw      int64                  `json:"listings_raw"`
	ListingsAccepted int64                  `json:"listings_accepted"`
	ListingsBad      int64                  `json:"listings_bad"`
	ErrorsByCode     map[yp.ErrorCode]int64 `json:"errors_by_code"` // of target_error lines
	First            Stamp                  `json:"first,omitzero"`
	Last             Stamp                  `json:"last,omitzero"`
	CorruptLines     int64                  `json:"corrupt_lines"` // and places that could not be read
	TornTails        int64                  `json:"torn_tails"`
}

// ReadStats reads every event of a folder or a file and counts. Files that can't be
// opened stop nothing: the error names them, and the counts of the others are given.
func ReadStats(path string, opts Options) (*Stats, error) {
	logs, err := selectLogs(path, false)
	if err != nil {
		return nil, err
	}
	opts.SkipListings = true
	stats := &Stats{Path: path, Total: newSummary(), Workers: make([]WorkerStats, 0, len(logs))}
	var failed []error
	for _, log := range logs {
		w := WorkerStats{WorkerID: log.worker, Summary: newSummary()}
		failed = append(failed, w.read(log, opts))
		stats.Total.add(&w.Summary)
		stats.Workers = append(stats.Workers, w)
	}
	return stats, errors.Join(failed...)
}

func newSummary() Summary {
	return Summary{ByType: map[EventType]int64{}, ErrorsByCode: map[yp.ErrorCode]int64{}}
}

func (s *Summary) read(log workerLog, opts Options) error {
	var failed []error
	for _, p := range log.parts {
		s.countFile(p)
	}
	stream := newStream(log, cursor{}, opts)
	for it := range stream.items() {
		if it.err != nil {
			s.CorruptLines++
			if errors.Is(it.err, errUnopened) {
				failed = append(failed, it.err)
			}
			continue
		}
		s.count(it.event)
	}
	if stream.torn != nil {
		s.TornTails++
	}
	return errors.Join(failed...)
}

// countFile counts a part by the file that is read of it. One that can't be had is told
// of when it is opened.
func (s *Summary) countFile(p part) {
	info, err := os.Stat(p.path())
	if errors.Is(err, fs.ErrNotExist) && p.plain { // compressed since it was listed
		p.plain, p.packed = false, true
		info, err = os.Stat(p.path())
	}
	s.Files++
	if err == nil {
		s.Bytes += info.Size()
	}
	if !p.plain {
		s.Compressed++
	}
}

func (s *Summary) count(e *Event) {
	s.Events++
	s.ByType[e.Type]++
	s.span(Stamp{e.Timestamp}, Stamp{e.Timestamp})
	switch {
	case e.Type == PageComplete && e.Page != nil:
		s.Pages++
		if e.Target != nil && e.Target.Kind != yp.KindSearch {
			break // it has no listings
		}
		s.ListingsRaw += int64(e.Page.Raw)
		s.ListingsAccepted += int64(e.Page.Accepted)
		s.ListingsBad += int64(e.Page.Bad)
	case e.Type == TargetError:
		s.ErrorsByCode[cmp.Or(e.ErrorCode, yp.CodeUnknown)]++
	}
}

// span widens First and Last: a clock may jump, so neither is the first or the
// last line's.
func (s *Summary) span(first, last Stamp) {
	if !first.IsZero() && (s.First.IsZero() || first.Before(s.First.Time)) {
		s.First = first
	}
	if last.After(s.Last.Time) {
		s.Last = last
	}
}

func (s *Summary) add(o *Summary) {
	s.Files += o.Files
	s.Compressed += o.Compressed
	s.Bytes += o.Bytes
	s.Events += o.Events
	s.Pages += o.Pages
	s.ListingsRaw += o.ListingsRaw
	s.ListingsAccepted += o.ListingsAccepted
	s.ListingsBad += o.ListingsBad
	s.CorruptLines += o.CorruptLines
	s.TornTails += o.TornTails
	s.span(o.First, o.Last)
	for t, n := range o.ByType {
		s.ByType[t] += n
	}
	for c, n := range o.ErrorsByCode {
		s.ErrorsByCode[c] += n
	}
}
