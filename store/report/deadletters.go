package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// DeadLetter is a row of v_dead_letters: a target that no crawl takes again by
// itself.
type DeadLetter struct {
	ID           int64     `json:"id"`
	Kind         yp.Kind   `json:"kind"`
	Source       string    `json:"source"`
	City         string    `json:"city"`
	State        string    `json:"state"`
	Category     string    `json:"category"`
	Code         string    `json:"last_error_code"`
	ByProxy      bool      `json:"last_error_by_proxy,omitempty"` // of BLOCKED_PROXY: that attempt used a proxy
	Error        string    `json:"last_error"`
	Parked       time.Time `json:"parked_at,omitzero"`
	Failures     int       `json:"consecutive_failures"`
	Attempts     int       `json:"total_attempts"`
	Page         int       `json:"page_current"`
	AutoDisabled bool      `json:"auto_disabled"` // it failed too often; else the cause is permanent
}

// DeadLetterFilter selects dead letters. Empty fields select all.
type DeadLetterFilter struct {
	Scope     store.Scope // source, kinds and states count
	Error     yp.ErrorCode
	OlderThan time.Duration // since they were parked
}

const deadLetters = `
	SELECT v.id, v.kind, v.source, ifnull(v.city, ''), v.state, coalesce(v.listing, v.category, ''), ifnull(v.last_error_code, ''), ` + byProxy + `, ifnull(v.last_error, ''), v.parked_at,
		v.consecutive_failures, v.total_attempts, v.page_current, v.auto_disabled
	FROM v_dead_letters v
	WHERE v.kind IN (SELECT value FROM json_each(?6)) AND (?1 = 0 OR v.source = (SELECT name FROM sources WHERE id = ?1)) AND (?2 = '[]' OR v.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '' OR v.last_error_code = ?3) AND (?4 = '' OR v.parked_at < ?4)
	ORDER BY v.parked_at DESC, v.id LIMIT ?5`

// DeadLetters lists the dead letters of the filter, the newest first, at most
// limit of them (0 = all).
func (k *Reader) DeadLetters(ctx context.Context, f DeadLetterFilter, limit int) ([]DeadLetter, error) {
	if limit <= 0 {
		limit = -1
	}
	before := ""
	if f.OlderThan > 0 {
		before = yp.FormatTime(k.db.Now().Add(-f.OlderThan))
	}
	all := []DeadLetter{}
	args := []any{f.Scope.SourceID, store.JSONTexts(f.Scope.States), string(f.Error), before, limit, f.Scope.KindList()}
	err := k.db.Each(ctx, deadLetters, args, func(rows *sql.Rows) error {
		var d DeadLetter
		err := rows.Scan(&d.ID, &d.Kind, &d.Source, &d.City, &d.State, &d.Category, &d.Code, &d.ByProxy, &d.Error, at(&d.Parked),
			&d.Failures, &d.Attempts, &d.Page, &d.AutoDisabled)
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return all, nil
}
