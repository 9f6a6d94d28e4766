package checkpoint

import (
	"ypcrawl/store"
	"ypcrawl/yp"
)

// What a dead process held is claimable again, with all that was read of it before; one
// that died in hand too often without bringing its page is STUCK.
var (
	recoverDetails = `
	UPDATE details SET ` + detailFree + `recoveries = recoveries + 1, due_at = iif(recoveries + 1 >= ` + giveUp + `, NULL, due_at),
		status = iif(recoveries + 1 >= ` + giveUp + `, 'STUCK', 'PLANNED')
	WHERE status = 'IN_PROGRESS' AND (?1 = 0 OR source_id = ?1)`
	recoverDetailRuns  = recoverDetails + ` AND run_id IN (SELECT value FROM json_each(?2)) RETURNING status`
	recoverDetailStale = recoverDetails + ` AND (heartbeat_at IS NULL OR heartbeat_at < ?2 OR heartbeat_at > ?3) RETURNING status`
)

const (
	releaseDetails = `UPDATE details SET ` + detailFree + `status = 'PLANNED' WHERE status = 'IN_PROGRESS' AND run_id = ?`
	beatDetails    = `UPDATE details SET heartbeat_at = ? WHERE status = 'IN_PROGRESS' AND run_id = ?`
)

// takeBackDetails recovers the details that one of the two statements selects.
func takeBackDetails(tx *store.Tx, out *Recovered, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var status yp.Status
		if err := rows.Scan(&status); err != nil {
			return err
		}
		out.Details++
		if status == yp.Stuck {
			out.DetailsStuck++
		}
	}
	return rows.Err()
}
