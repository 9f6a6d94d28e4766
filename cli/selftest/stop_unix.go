//go:build unix

package selftest

import (
	"cmp"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ypcrawl/store"
)

// progress is how far each target is. Only a commit changes it.
const progress = `SELECT group_concat(concat_ws(' ', id, status, page_current, raw_count, finished_at), '|') FROM targets`

// stopped stops a crawl in the middle of its pages, has its targets recovered and crawled to the end by others,
// and continues it: what it still has in hand must not count.
func (r *runner) stopped() error {
	late, err := r.run(30, r.crawl("warn")...)
	if err != nil || !late.running {
		return err
	}
	if err := r.stopOutside(late.Process); err != nil {
		return err
	}
	r.allow += Workers
	select { // longer than the silence that counts as death below
	case <-time.After(1500 * time.Millisecond):
	case <-r.ctx.Done():
	}
	var other *child
	if _, err = r.run(0, "recover", "--timeout", "1s"); err == nil {
		other, err = r.run(0, r.crawl("warn")...)
	}
	before, readErr := r.progress()
	err = errors.Join(err, readErr, late.Process.Signal(syscall.SIGCONT))
	<-late.done
	if err = cmp.Or(err, r.ended(late)); err != nil {
		return err
	}
	after, err := r.progress()
	if err != nil {
		return err
	}
	if before != after && other.ProcessState.ExitCode() == 0 { // else there was work left
		r.problem(database, 0, "a crawl that was stopped and continued has written to targets that another one had taken over: the fence of claims is lost")
	}
	r.res.Stopped = true
	return r.finish()
}

func (r *runner) progress() (text string, err error) {
	err = r.read(database, func(db *store.DB) error {
		return db.Read().QueryRowContext(r.ctx, progress).Scan(&text)
	})
	return text, err
}

// stopOutside stops a process while it holds no lock of the database: nobody could go on before it is continued.
func (r *runner) stopOutside(p *os.Process) error {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(r.dir, database))+"?_txlock=immediate&_pragma=busy_timeout(20)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing was written
	for {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // until each of its threads has stopped
		tx, err := db.BeginTx(r.ctx, nil)
		if err == nil {
			return tx.Rollback()
		}
		if err := cmp.Or(r.ctx.Err(), p.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) //nolint:gosec // a moment to stop at
	}
}
