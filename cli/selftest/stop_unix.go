//go:build unix

package selftest

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// progress is how far each target is. Only a commit changes it.
	progress = `SELECT group_concat(concat_ws(' ', id, status, page_current, raw_count, finished_at), '|') FROM targets`
	inHand   = `SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS'`
)

// errNothingShown says that a crawl that was stopped had nothing in hand, or that others could not do all of its work.
var errNothingShown = errors.New("nothing shown")

// stopped stops a crawl in the middle of its pages, has its targets recovered and crawled to the end by others,
// and continues it: what it still has in hand must not count.
func (r *runner) stopped() (err error) {
	for range 5 { // on a busy machine a crawl may end, or be between two targets, before it can be stopped
		if err = r.stopOne(); !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, errNothingShown) {
			return err
		}
		if r.dir, err = os.MkdirTemp(filepath.Dir(r.dir), "crawl-"); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) stopOne() error {
	late, err := r.crawl(30)
	if err == nil && !late.running { // its work was done before
		err = os.ErrProcessDone
	}
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", fileURL(r.database(), "_txlock=immediate&_pragma=busy_timeout(5000)"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is written
	if err = r.suspend(late, db); err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond) // longer than the silence that counts as death below
	var before, after string
	other, err := r.run(0, "recover", "--timeout", "1s")
	if err == nil {
		other, err = r.crawl(0)
	}
	err = errors.Join(err, db.QueryRowContext(r.ctx, progress).Scan(&before), late.Process.Signal(syscall.SIGCONT))
	<-late.done
	err = errors.Join(err, r.ended(late), db.QueryRowContext(r.ctx, progress).Scan(&after))
	switch {
	case err != nil:
		return err
	case other.ProcessState.ExitCode() != 0: // work was left, which the one continued may have done
		if err = r.finish(); err != nil || len(r.res.Problems) > 0 {
			return err
		}
		return errNothingShown
	case before != after:
		r.problem("a crawl that was stopped and continued has written to targets that another one had taken over: the fence of claims is lost")
	}
	r.res.Stopped = true
	return r.finish()
}

// suspend stops a crawl while it can't write: nobody could go on before it is continued. One without a target in hand has
// nothing to write when it is, and is killed: errNothingShown.
func (r *runner) suspend(late *child, db *sql.DB) error {
	tx, err := db.BeginTx(r.ctx, nil)
	if err != nil {
		return err
	}
	err = late.Process.Signal(syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // until each of its threads has stopped
	targets := 0
	if err = errors.Join(err, tx.QueryRowContext(r.ctx, inHand).Scan(&targets), tx.Rollback()); err != nil || targets > 0 {
		return err
	}
	_ = late.Process.Kill() // it may have ended just now
	<-late.done
	return errNothingShown
}
