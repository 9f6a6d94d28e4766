package wal

import "errors"

// rotateIfFull begins the next part when n more bytes would make this one too
// large. A new file that can't be made is no reason to lose an event: the log
// goes on in the old one and tries again a little later.
func (l *Log) rotateIfFull(n int64) {
	if l.size == 0 || l.size+n <= l.limit {
		return
	}
	if err := l.rotate(); err != nil {
		l.limit = l.size + n + l.cfg.MaxBytes/16
		l.cfg.Logger.Warn().Err(err).Str("component", "wal").Str("worker", l.cfg.WorkerID).
			Msg("the log goes on in the old file")
	}
}

// rotate syncs the part before the next one appears, so that a reader who sees
// the next knows that this one is whole, even after a power loss.
func (l *Log) rotate() error {
	if err := l.sync(); err != nil {
		return err
	}
	next := part{dir: l.part.dir, worker: l.part.worker, number: l.part.number + 1}
	file, err := l.cfg.open(next.plainPath(), true)
	if err != nil {
		return &WriteError{File: next.plainPath(), Op: "rotate", Err: withoutPath(err)}
	}
	err = errors.Join(syncDir(l.cfg.Dir), l.file.Close())
	if err != nil { // both files are good: nothing that matters was lost
		l.cfg.Logger.Warn().Err(err).Str("component", "wal").Str("file", l.part.plainPath()).Msg("close a full log")
	}
	old := l.part
	l.file, l.part, l.size, l.limit = file, next, 0, l.cfg.MaxBytes
	l.packer.add(old)
	return nil
}
