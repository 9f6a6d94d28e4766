package wal

import (
	"errors"
	"io/fs"
	"os"
)

// File is a file of a run's logs.
type File struct {
	Path     string
	Database string // that its first event names, "" = none
}

// Files lists the files of runs' logs in a folder. One that is not there has none.
func Files(dir string) (files []File, err error) {
	logs, err := listLogs(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		for _, p := range log.parts {
			id, _ := p.firstDatabase()
			for _, path := range []string{p.plainPath(), p.packedPath()} {
				if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
					files = append(files, File{path, id})
				}
			}
		}
	}
	return files, err
}

// firstDatabase is the database that the first event of the file names; ok is false when it has no event.
func (p part) firstDatabase() (id string, ok bool) {
	for it := range p.stream(Options{SkipListings: true}).items() {
		if it.event != nil {
			return it.event.Database, true
		}
	}
	return "", false
}
