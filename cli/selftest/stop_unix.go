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

// progress is how far each target is. Only a commit changes it.
const progress = `SELECT group_concat(concat_ws(' ', id, status, page_current, raw_count, finished_at), '|') FROM targets`

// stopped stops a crawl in the middle of its pages, has its targets recovered and crawled to the end by others,
// and continues it: what it still has in hand must not count.
func (r *runner) stopped() (err error) {
	for range 5 { // on a busy machine a crawl may end before it can be stopped
		if err = r.stopOne(); !errors.Is(err, os.ErrProcessDone) {
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
	if err != nil || !late.running { // its work was done before
		return err
	}
	db, err := sql.Open("sqlite", fileURL(r.database(), "_txlock=immediate&_pragma=busy_timeout(5000)"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is written
	tx, err := db.BeginTx(r.ctx, nil) // so that it stops while it can't write: nobody could go on before it is continued
	if err != nil {
		return err
	}
	err = late.Process.Signal(syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // until each of its threads has stopped
	if err = errors.Join(err, tx.Rollback()); err != nil {
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
	if err != nil {
		return err
	}
	if before != after && other.ProcessState.ExitCode() == 0 { // else there was work left
		r.problem("a crawl that was stopped and continued has written to targets that another one had taken over: the fence of claims is lost")
	}
	r.res.Stopped = true
	return r.finish()
}
