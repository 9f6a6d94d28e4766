package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ypcrawl/yp/folder"
)

const (
	plainExt  = ".jsonl"
	packedExt = ".jsonl.zst"
	tempExt   = ".jsonl.zst.tmp"
	partWidth = 6 // digits of a part's number: worker_0_pid_12345.000001.jsonl
)

// part is one file of a worker's log. Names never change once given, except
// that a closed part's ".jsonl" becomes ".jsonl.zst"; so a listing of a living
// folder is never wrong about what a name holds.
type part struct {
	dir    string
	worker string
	number int  // 0 for worker.jsonl, 1 for worker.000001.jsonl
	plain  bool // the .jsonl is there
	packed bool // the .jsonl.zst is there
	temp   bool // a compression was cut short
}

func (p part) base() string {
	if p.number == 0 {
		return filepath.Join(p.dir, p.worker)
	}
	return filepath.Join(p.dir, fmt.Sprintf("%s.%0*d", p.worker, partWidth, p.number))
}

func (p part) plainPath() string  { return p.base() + plainExt }
func (p part) packedPath() string { return p.base() + packedExt }
func (p part) tempPath() string   { return p.base() + tempExt }

// path is the file to read. The plain one comes first: it is removed only
// after the compressed one is complete, so as long as it is there it is whole.
func (p part) path() string {
	if p.plain || !p.packed {
		return p.plainPath()
	}
	return p.packedPath()
}

// stream reads the part alone.
func (p part) stream(opts Options) *stream {
	return newStream(workerLog{parts: []part{p}}, opts)
}

// parseName splits a file name; ok is false when it is no log file.
func parseName(name string) (p part, ok bool) {
	switch {
	case strings.HasSuffix(name, tempExt):
		p.temp, name = true, strings.TrimSuffix(name, tempExt)
	case strings.HasSuffix(name, packedExt):
		p.packed, name = true, strings.TrimSuffix(name, packedExt)
	case strings.HasSuffix(name, plainExt):
		p.plain, name = true, strings.TrimSuffix(name, plainExt)
	default:
		return part{}, false
	}
	p.worker = name
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i-1 >= partWidth {
		if n, err := strconv.ParseUint(name[i+1:], 10, 31); err == nil && n > 0 {
			p.worker, p.number = name[:i], int(n)
		}
	}
	return p, p.worker != ""
}

// workerLog is the files of one worker, in the order they were written.
type workerLog struct {
	worker string
	parts  []part
}

// listLogs lists the logs of a folder by worker. Parts that are nothing but a leftover temp are left out
// unless withTemps is set.
func listLogs(dir string, withTemps bool) ([]workerLog, error) {
	names, err := settledNames(dir)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, name := range names {
		if p, ok := parseName(name); ok && (!p.temp || withTemps) {
			p.dir = dir
			parts = append(parts, p)
		}
	}
	sort.Slice(parts, func(i, j int) bool {
		return cmp.Or(strings.Compare(parts[i].worker, parts[j].worker), cmp.Compare(parts[i].number, parts[j].number)) < 0
	})
	var logs []workerLog
	for _, p := range parts {
		if len(logs) == 0 || logs[len(logs)-1].worker != p.worker {
			logs = append(logs, workerLog{worker: p.worker})
		}
		log := &logs[len(logs)-1]
		if n := len(log.parts); n > 0 && log.parts[n-1].number == p.number {
			same := &log.parts[n-1]
			same.plain, same.packed, same.temp = same.plain || p.plain, same.packed || p.packed, same.temp || p.temp
		} else {
			log.parts = append(log.parts, p)
		}
	}
	return logs, nil
}

// settledNames lists a folder's log files, sorted, until two listings agree. A file that is
// being compressed has one of its two names at any time, but a listing that comes past
// in between can miss both: the one before it is there, the other behind it is
// gone. The next listing has it.
func settledNames(dir string) (names []string, err error) {
	for range 100 { // a folder that never rests is taken as it is
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no log folder %s: %w", dir, fs.ErrNotExist)
		}
		if err != nil {
			return nil, fmt.Errorf("list log folder: %w", folder.Denied(dir, err))
		}
		before := names
		names = make([]string, 0, len(entries))
		for _, entry := range entries {
			if _, ok := parseName(entry.Name()); ok && !entry.IsDir() {
				names = append(names, entry.Name())
			}
		}
		if before != nil && slices.Equal(names, before) {
			break
		}
	}
	return names, nil
}

// selectLogs lists what path means: a folder with all its workers, or one file.
func selectLogs(path string) ([]workerLog, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no log folder or file %s: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look for logs: %w", folder.Denied(path, err))
	}
	if info.IsDir() {
		return listLogs(path, false)
	}
	dir, name := filepath.Split(path)
	p, ok := parseName(name)
	if !ok || p.temp {
		return nil, fmt.Errorf("%s is not a log file; name a folder, a .jsonl or a .jsonl.zst", path)
	}
	if !info.Mode().IsRegular() { // reading a pipe would wait for a writer for ever
		return nil, fmt.Errorf("%s: %w: name a folder, a .jsonl or a .jsonl.zst", path, errNoFile)
	}
	p.dir = dir
	return []workerLog{{worker: p.worker, parts: []part{p}}}, nil
}

// Writers returns the ids of the databases that have written a folder's logs, sorted. A folder that is not there has none.
func Writers(dir string) (ids []string, err error) {
	all, err := Databases(dir)
	for _, w := range all {
		if w.ID != "" {
			ids = append(ids, w.ID)
		}
	}
	return ids, ignoreMissing(err)
}

// Files lists the files of runs' logs in a folder. One that is not there has none.
func Files(dir string) (files []string, err error) {
	logs, err := listLogs(dir, false)
	for _, log := range logs {
		if !ownName.MatchString(log.worker) {
			continue
		}
		for _, p := range log.parts {
			for _, path := range []string{p.plainPath(), p.packedPath()} {
				info, err := os.Lstat(path)
				if err == nil && info.Mode().IsRegular() {
					files = append(files, path)
				}
				if ignoreMissing(err) != nil {
					return files, folder.Denied(path, err)
				}
			}
		}
	}
	return files, ignoreMissing(err)
}

// Readable returns an error where this user may not read a file of runs' logs in a folder: a *folder.DeniedError says
// whose the first one is. A folder that is not there has none.
func Readable(dir string) error {
	files, err := Files(dir)
	var d denials
	for _, file := range files {
		d.note(file, folder.Readable(file))
	}
	return cmp.Or(err, d.err())
}

// denials are the files that this user may not read.
type denials struct{ first *folder.DeniedError }

// note notes an error of opening a file, if rights are missing.
func (d *denials) note(file string, err error) {
	if !errors.Is(err, fs.ErrPermission) {
		return
	}
	if d.first != nil {
		d.first.More++
		return
	}
	errors.As(folder.DeniedIn(file, withoutExplanation(err)), &d.first)
}

func (d *denials) err() error {
	if d.first == nil {
		return nil
	}
	return d.first
}

// withoutExplanation is what the system said.
func withoutExplanation(err error) error {
	if d, ok := errors.AsType[*folder.DeniedError](err); ok {
		return d.Err
	}
	return err
}

// MakeDir makes a folder with its parents, and their names durable: a log is only as safe
// as the way to it.
func MakeDir(dir string) error { return folder.Make(dir) }
