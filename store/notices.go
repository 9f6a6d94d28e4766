package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Notice is what somebody is to be notified of: the last one of each event and source is kept.
type Notice struct {
	Event    yp.NoticeEvent
	SourceID int64     // 0 = of the whole run, or of several sources
	Mark     string    // which one of its kind
	Run      int64     // that sends it
	At       time.Time // when it stood so; zero = now
}

// sameAgain is how long after a message the very same one is reported again: a state may stand for
// weeks.
const sameAgain = 24 * time.Hour

// underWay is how long a message may be on its way, tried again as often as it is: after it one
// that no destination took is due again, also in a run of days.
const underWay = 5 * time.Minute

const (
	// A message is due again when its time is over; sooner when no destination took it, or when the
	// run that was to send it was killed; and when its time is in the future, because the clock was
	// set back.
	takeNotice = `
	INSERT INTO notices (event, source_id, mark, at, run_id) VALUES (?1, ?2, ?3, ?4, ?5)
	ON CONFLICT DO UPDATE SET mark = excluded.mark, at = excluded.at, run_id = excluded.run_id
	WHERE notices.at > ?4 OR notices.at <= ?6 AND (notices.mark <> ?3 OR notices.at <= ?7 OR notices.at <= ?8 AND ifnull(notices.delivered_at, '') < notices.at)
		OR ifnull(notices.delivered_at, '') < notices.at AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = notices.run_id AND r.outcome = 'running')`
	noticeDelivered = `UPDATE notices SET delivered_at = at WHERE event = ? AND source_id = ? AND run_id = ?`
	beginNotices    = `
	INSERT INTO notices (event, source_id, mark, at, delivered_at) VALUES (?1, 0, '', '', ?2) ON CONFLICT DO NOTHING`
	lastNotice = `SELECT ifnull(delivered_at, '') FROM notices WHERE event = ? AND source_id = 0`
)

// TakeNotice reports whether the caller is to send a message now: of all runs on the file one
// sends it, at most once within every, and the very same once a day. NoticeEnded must follow.
func (db *DB) TakeNotice(ctx context.Context, n Notice, every time.Duration) (mine bool, err error) {
	err = db.Write(ctx, func(tx *Tx) error {
		at := tx.At
		if !n.At.IsZero() {
			at = n.At
		}
		ago := func(span time.Duration) string { return yp.FormatTime(at.Add(-span)) }
		changed, err := tx.Changed(takeNotice, string(n.Event), n.SourceID, n.Mark, yp.FormatTime(at), n.Run, ago(every), ago(max(every, sameAgain)), ago(underWay))
		mine = changed > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look whether a notice of %s is due: %w", n.Event, err)
	}
	return mine, nil
}

// NoticeEnded keeps whether a destination took the message. One that none took is due again
// when its run has ended, or after the time within which an event is reported once.
func (db *DB) NoticeEnded(ctx context.Context, n Notice, delivered bool) error {
	if !delivered {
		return nil
	}
	err := db.Write(ctx, func(tx *Tx) error {
		return tx.Run(noticeDelivered, string(n.Event), n.SourceID, n.Run)
	})
	if err != nil {
		return fmt.Errorf("record that a notice of %s was reported: %w", n.Event, err)
	}
	return nil
}

// ReportedUntil returns until when an event of the whole run was reported. When it never was, that is
// from first on, which is remembered: what comes after is to be reported, whoever is killed in
// between.
func (db *DB) ReportedUntil(ctx context.Context, event yp.NoticeEvent, first time.Time) (at time.Time, err error) {
	var text string
	err = db.read.QueryRowContext(ctx, lastNotice, string(event)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		err = db.Write(ctx, func(tx *Tx) error {
			text = yp.FormatTime(first)
			return tx.Run(beginNotices, string(event), text)
		})
	}
	if err == nil && text != "" {
		at, err = yp.ParseTime(text)
	}
	if err != nil {
		return at, fmt.Errorf("look until when %s was reported: %w", event, err)
	}
	return at, nil
}
