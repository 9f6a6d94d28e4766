package store

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Message is one that --notify is told: a row that stays until it was delivered.
type Message struct {
	ID       int64
	Event    string
	SourceID int64  // 0 = of the whole run
	Mark     string // which one of its kind
	Run      int64  // that noticed it
	Body     []byte // JSON, as it is sent
}

const (
	// The very same is told once a day at most: a state may stand for weeks.
	addMessage = `
	INSERT INTO messages (at, event, source_id, mark, run_id, body)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (
		SELECT 1 FROM messages m WHERE m.event = ?2 AND m.source_id IS ?3 AND m.mark = ?4 AND m.at > ?7 AND m.at <= ?1)`
	forgetMessages = `DELETE FROM messages WHERE at <= ?`
	// Those of other runs that live are theirs.
	unsentMessages = `
	SELECT m.id, m.body FROM messages m WHERE m.sent_at IS NULL
		AND (m.run_id = ?1 OR NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = m.run_id AND r.outcome = 'running')) ORDER BY m.id LIMIT 100`
	messageSent = `UPDATE messages SET sent_at = ? WHERE id = ?`

	sameAgain    = 24 * time.Hour
	keepMessages = 7 * 24 * time.Hour // also of those that nobody took
)

// AddMessage keeps a message to be sent, unless the very same was kept within a day.
func (db *DB) AddMessage(ctx context.Context, m Message) error {
	err := db.Write(ctx, func(tx *Tx) error {
		if err := tx.Run(forgetMessages, yp.FormatTime(tx.At.Add(-keepMessages))); err != nil {
			return err
		}
		return tx.Run(addMessage, tx.Now, m.Event, Number(m.SourceID), m.Mark, m.Run, string(m.Body), yp.FormatTime(tx.At.Add(-sameAgain)))
	})
	if err != nil {
		return fmt.Errorf("keep a message of %s: %w", m.Event, err)
	}
	return nil
}

// UnsentMessages lists the messages that a run is to send: its own, and those that runs which have
// ended could not deliver.
func (db *DB) UnsentMessages(ctx context.Context, run int64) ([]Message, error) {
	all, err := All(db.Reader(ctx), unsentMessages, []any{run}, func(m *Message) []any { return []any{&m.ID, &m.Body} })
	if err != nil {
		return nil, fmt.Errorf("look for messages to send: %w", err)
	}
	return all, nil
}

// MessageSent keeps that a message was delivered. After a kill before that it is sent again.
func (db *DB) MessageSent(ctx context.Context, id int64) error {
	err := db.Write(ctx, func(tx *Tx) error { return tx.Run(messageSent, tx.Now, id) })
	if err != nil {
		return fmt.Errorf("record that a message was sent: %w", err)
	}
	return nil
}
