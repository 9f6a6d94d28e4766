package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"ypcrawl/store"
	"ypcrawl/wal"
)

// sweep removes what killed backups left in the folder. What can't be removed is no reason to
// make no copy.
func (b *backup) sweep(ctx context.Context) {
	entries, _ := os.ReadDir(b.dir) // a folder that can't be listed can't be written to either, which is an error further on
	for _, e := range entries {
		work, ok := strings.CutSuffix(e.Name(), lockEnding)
		if !ok || !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), workPrefix) {
			continue
		}
		if err := sweepOne(ctx, b.dir, filepath.Join(b.dir, work)); err != nil {
			b.out.Left = append(b.out.Left, err.Error())
		}
	}
}

func sweepOne(ctx context.Context, dir, work string) error {
	lock, err := store.LockFile(work + lockEnding)
	if err != nil {
		return ignore(err, store.ErrLocked) // its maker lives
	}
	if err := sweepWork(ctx, dir, work); err != nil {
		return errors.Join(err, lock.Release())
	}
	return lock.Remove()
}

func sweepWork(ctx context.Context, dir, work string) error {
	var notes []note
	if text, err := os.ReadFile(filepath.Join(work, notesName)); err == nil && json.Unmarshal(text, &notes) == nil {
		for _, n := range notes {
			if err := n.settle(ctx, dir); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(work)
}

// settle removes the logs of a copy that is not there.
func (n *note) settle(ctx context.Context, dir string) error {
	if n.Logs == "" || n.Logs != filepath.Base(n.Logs) || n.File != filepath.Base(n.File) {
		return nil
	}
	path := filepath.Join(dir, n.File)
	if _, err := os.Lstat(path); err == nil {
		s, err := store.TakeSnapshot(ctx, path, nil)
		if err != nil {
			return err
		}
		s.Close()
		if ownLogs(s) == n.Logs {
			return nil
		}
	}
	return wal.RemoveCopy(filepath.Join(dir, n.Logs), n.Database)
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// removeOld removes the logs of the copy that was replaced, and the oldest copies beyond Keep.
func (b *backup) removeOld(ctx context.Context) error {
	if b.old != "" && b.old != filepath.Base(b.out.Logs) {
		b.leave(b.remove("", b.old, filepath.Base(b.out.File)))
	}
	if b.Folder == "" || b.Keep <= 0 {
		return nil
	}
	all, err := b.copies(ctx)
	if err != nil {
		return err
	}
	for _, c := range all[min(len(all), b.Keep-1):] {
		b.leave(b.remove(c.file, c.logs, c.file))
	}
	return nil
}

func (b *backup) leave(err error) {
	if err != nil {
		b.out.Left = append(b.out.Left, err.Error())
	}
}

// remove removes a copy, "" = none, and then its logs, if no file named owner names them.
func (b *backup) remove(file, logs, owner string) error {
	if logs != "" {
		if err := b.note(owner, logs); err != nil {
			return err
		}
	}
	if file != "" {
		if err := os.Remove(filepath.Join(b.dir, file)); err != nil {
			return err
		}
		b.out.Removed = append(b.out.Removed, filepath.Join(b.dir, file))
	}
	b.Reached(StepRemoving)
	if logs == "" {
		return nil
	}
	if err := b.removeLogs(filepath.Join(b.dir, logs)); err != nil {
		return fmt.Errorf("remove the logs of an old copy: %w", err)
	}
	return nil
}

type oldCopy struct {
	file, logs string
	at         string
}

// copies lists the copies of this database in the folder but the new one, the newest first: those
// that are named as a backup names them, say of themselves that they are one, are not open, and were
// never written to: one that was crawled into where it lies may hold what is nowhere else.
func (b *backup) copies(ctx context.Context) (all []oldCopy, err error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".db"), b.stem)
		path := filepath.Join(b.dir, e.Name())
		if !ok || !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".db") || !stamp.MatchString(rest) || path == b.out.File {
			continue
		}
		if _, err := os.Lstat(path + "-wal"); err == nil || wasUsed(path) {
			continue
		}
		s, err := store.TakeSnapshot(ctx, path, nil)
		if err != nil {
			continue // whatever it is, nothing says that it is ours
		}
		s.Close()
		if s.Mark != nil && s.ID == b.id {
			c := oldCopy{file: e.Name(), at: s.Mark.At}
			if logs := ownLogs(s); logs == strings.TrimSuffix(c.file, ".db")+logsEnding { // else the file has another's name: its logs may be that one's
				c.logs = logs
			}
			all = append(all, c)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].at > all[j].at })
	return all, nil
}

// wasUsed reports whether a copy was opened for writing since it was made: whoever does brings the
// write-ahead journal back, and the header says so.
func wasUsed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true // nothing is known of it
	}
	defer func() { _ = f.Close() }() // only read
	var version [1]byte              // of the format, as writers need to know it: 2 = write-ahead
	_, err = f.ReadAt(version[:], 18)
	return err != nil || version[0] != 1
}

// enough refuses what would fill the disk: a tenth more than is needed must be free.
func enough(free func(string) (int64, error), dir string, need int64) error {
	if free == nil {
		return nil
	}
	left, err := free(dir)
	if err != nil {
		return nil //nolint:nilerr // not known on this system: a full disk ends it, and leaves nothing
	}
	if need += need / 10; left < need {
		return &SpaceError{Dir: dir, Need: need, Left: left}
	}
	return nil
}

// SpaceError says how much space a copy needs.
type SpaceError struct {
	Dir        string
	Need, Left int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of free space and has %d", e.Dir, e.Need, e.Left)
}

// Is makes it an ErrNoSpace.
func (e *SpaceError) Is(target error) bool { return target == ErrNoSpace }

// syncFolder makes a rename last. Some systems can't: the file itself is synced by then.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
