package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Gate says whether a source may be asked at all.
type Gate = store.Gate

// GateState is what closes a source.
type GateState = store.GateState

// The states of a gate.
const (
	GateOpen        = store.GateOpen
	GateDisabled    = store.GateDisabled
	GatePaused      = store.GatePaused
	GateQuarantined = store.GateQuarantined
	GateHeld        = store.GateHeld
)

const sourceGate = `
	SELECT ifnull(c.state, 'open'), c.ends, ifnull(c.code, ''), ifnull(c.reason, '')
	FROM sources s LEFT JOIN (SELECT * FROM v_source_closures WHERE source_id = ?1 AND until > ?2) c
	WHERE s.id = ?1 ORDER BY c.rank LIMIT 1`

// Gate returns the gate of a source at the database's time.
func (k *Keeper) Gate(ctx context.Context, sourceID int64) (g Gate, err error) {
	err = k.db.Read().QueryRowContext(ctx, sourceGate, sourceID, yp.FormatTime(k.db.Now())).Scan(&g.State, store.Instant(&g.Until), &g.Code, &g.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("there is none")
	}
	if err != nil {
		return g, fmt.Errorf("look at source %d: %w", sourceID, err)
	}
	return g, nil
}
