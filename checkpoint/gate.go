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

// sourceGate is v_source_gates for one source at one time.
const sourceGate = `
	SELECT s.enabled, s.auto_disabled, ifnull(s.paused_until, ''), ifnull(s.paused_code, ''), ifnull(s.paused_reason, ''),
		ifnull(p.status, '') = 'quarantined', ifnull(p.quarantine_until, ''), ifnull(p.error_class, ''),
		ifnull(h.held_until, ''), ifnull(h.held_for, ''), max(ifnull(h.held_until, ''))
	FROM sources s LEFT JOIN connectivity_profiles p ON p.source_id = s.id LEFT JOIN hosts h ON h.source_id = s.id
	WHERE s.id = ? GROUP BY s.id`

// Gate returns the gate of a source at the database's time.
func (k *Keeper) Gate(ctx context.Context, sourceID int64) (Gate, error) {
	var enabled, alarmed, quarantined bool
	var pausedUntil, code, reason, freeAt, class, heldUntil, heldFor string
	var latest any // max() makes SQLite take the other columns from the row that has it
	err := k.db.Read().QueryRowContext(ctx, sourceGate, sourceID).Scan(&enabled, &alarmed, &pausedUntil, &code, &reason,
		&quarantined, &freeAt, &class, &heldUntil, &heldFor, &latest)
	if errors.Is(err, sql.ErrNoRows) {
		return Gate{}, fmt.Errorf("look at source %d: there is none", sourceID)
	}
	if err != nil {
		return Gate{}, fmt.Errorf("look at source %d: %w", sourceID, err)
	}
	now := yp.FormatTime(k.db.Now())
	g, until := Gate{State: GateOpen}, ""
	switch {
	case !enabled:
		g = Gate{State: GateDisabled, Reason: "disabled by an operator"}
	case alarmed:
		g = Gate{State: GatePaused, Code: yp.ErrorCode(code), Reason: reason}
	case pausedUntil > now:
		g, until = Gate{State: GatePaused, Code: yp.ErrorCode(code), Reason: reason}, pausedUntil
	case quarantined:
		g, until = Gate{State: GateQuarantined, Reason: class}, freeAt
	case heldUntil > now:
		g, until = Gate{State: GateHeld, Reason: heldFor}, heldUntil
	}
	if until != "" {
		g.Until, err = yp.ParseTime(until)
	}
	return g, err
}
