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
	First            Stamp                  `json:"first"`
	Last             Stamp                  `json:"last"`
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
	stats := &Stats{Path: path, Total: newSummary(), Workers: make([]WorkerStats, len(logs))}
	var failed []error
	for i, log := range logs {
		w := &stats.Workers[i]
		*w = WorkerStats{WorkerID: log.worker, Summary: newSummary()}
		both := []*Summary{&w.Summary, &stats.Total}
		for _, p := range log.parts {
			countFile(p, both)
		}
		s := newStream(log, cursor{}, opts)
		for it := range s.items() {
			if it.err != nil && errors.Is(it.err, errUnopened) {
				failed = append(failed, it.err)
			}
			for _, sum := range both {
				sum.count(it)
			}
		}
		if s.torn != nil {
			w.TornTails++
			stats.Total.TornTails++
		}
	}
	return stats, errors.Join(failed...)
}

func newSummary() Summary {
	return Summary{ByType: map[EventType]int64{}, ErrorsByCode: map[yp.ErrorCode]int64{}}
}

// countFile counts a part by the file that is read of it. One that can't be had is told
// of when it is opened.
func countFile(p part, sums []*Summary) {
	info, err := os.Stat(p.path())
	if errors.Is(err, fs.ErrNotExist) && p.plain { // compressed since it was listed
		p.plain, p.packed = false, true
		info, err = os.Stat(p.path())
	}
	for _, s := range sums {
		s.Files++
		if err == nil {
			s.Bytes += info.Size()
		}
		if !p.plain {
			s.Compressed++
		}
	}
}

func (s *Summary) count(it item) {
	e := it.event
	if e == nil {
		s.CorruptLines++
		return
	}
	s.Events++
	s.ByType[e.Type]++
	if s.First.IsZero() || e.Timestamp.Before(s.First.Time) { // a clock may jump
		s.First = Stamp{e.Timestamp}
	}
	if e.Timestamp.After(s.Last.Time) {
		s.Last = Stamp{e.Timestamp}
	}
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
