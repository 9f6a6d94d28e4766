package wal

import (
	"context"
	"os"
	"slices"
	"sort"
	"time"
)

// LastCommitted returns the last pages of the files of a folder that were written last: of each of so
// many files at most so many pages of the database, those of which a later line of the
// file says that they were committed. Damage is passed over.
func LastCommitted(ctx context.Context, dir, database string, files, pages int) (found []*Event, err error) {
	logs, err := listLogs(dir, false)
	if err != nil {
		return nil, err
	}
	type dated struct {
		part part
		at   time.Time
	}
	var newest []dated
	for _, log := range logs {
		for _, p := range log.parts {
			if info, err := os.Stat(p.path()); err == nil { // else it was compressed or removed since
				newest = append(newest, dated{p, info.ModTime()})
			}
		}
	}
	sort.Slice(newest, func(i, j int) bool { return newest[i].at.After(newest[j].at) })
	for _, d := range newest[:min(len(newest), files)] {
		var last []*Event
		var open *Event // a page that no line has confirmed yet
		for it := range d.part.stream(Options{}).items() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e := it.event
			if e == nil || e.Database != database {
				continue
			}
			if open != nil && e.Before != nil && e.Before.Seq == open.Seq {
				if last = append(last, open); len(last) > pages {
					last = slices.Delete(last, 0, 1)
				}
			}
			if open = nil; e.Type == PageComplete && e.Page != nil {
				open = e
			}
		}
		found = append(found, last...)
	}
	return found, nil
}
