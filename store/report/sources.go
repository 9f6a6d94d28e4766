package report

import (
	"context"
	"encoding/json"
	"fmt"
)

const sourceNotes = `SELECT score, notes FROM sources WHERE id = ?`

// SourceNotes returns what a source was found worth when it was added, nil = nobody
// scored it, and why.
func (k *Reader) SourceNotes(ctx context.Context, id int64) (score *int, notes []string, err error) {
	var text []byte
	err = k.db.Read().QueryRowContext(ctx, sourceNotes, id).Scan(&score, &text)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &notes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read notes of source %d: %w", id, err)
	}
	return score, notes, nil
}
