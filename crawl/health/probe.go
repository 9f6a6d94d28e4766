package health

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Probe is the right to ask a quarantined source once.
type Probe struct {
	SourceID int64
	Until    time.Time // then somebody else may probe
}

// A source that is disabled, paused or held is not probed: it has other reasons not
// to be asked.
const sourceOpen = `
	SELECT NOT EXISTS (SELECT 1 FROM v_source_closures WHERE source_id = ?1 AND state <> 'quarantined' AND until > ?2)`

// BeginProbe takes the one probe of a source whose cooldown is over: true for one
// caller among all workers and processes, until that probe has ended or ProbeTime
// has passed. EndProbe must follow.
func (m *Monitor) BeginProbe(ctx context.Context, sourceID int64) (Probe, bool, error) {
	var probe Probe
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		probe = Probe{}
		stored, err := loadProfile(tx, sourceID)
		if err != nil || stored.Status != Quarantined {
			return err
		}
		p := stored.sane(now(tx))
		var open bool
		if err := tx.Get(sourceOpen, []any{sourceID, tx.Now}, &open); err != nil {
			return err
		}
		if open && p.probeDue(now(tx)) {
			p.ProbeUntil = now(tx).Add(ProbeTime)
			probe = Probe{sourceID, p.ProbeUntil}
		}
		if p == stored {
			return nil
		}
		return saveProfile(tx, p)
	})
	if err != nil {
		return Probe{}, false, fmt.Errorf("begin probe: %w", err)
	}
	return probe, probe.SourceID != 0, nil
}

// EndProbe writes the outcome of a probe, and of a failed one its class. It
// returns the profile as it is afterwards, and ErrProbeLost with it when the probe
// was no longer the source's.
func (m *Monitor) EndProbe(ctx context.Context, probe Probe, ok bool, class yp.ErrorClass) (p Profile, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) (err error) {
		if p, err = loadProfile(tx, probe.SourceID); err != nil {
			return err
		}
		if p.Status != Quarantined || !p.ProbeUntil.Equal(probe.Until) {
			return ErrProbeLost
		}
		p = p.Probed(ok, class, now(tx))
		return saveProfile(tx, p)
	})
	if err != nil {
		return p, fmt.Errorf("end probe of source %d: %w", probe.SourceID, err)
	}
	return p, nil
}
