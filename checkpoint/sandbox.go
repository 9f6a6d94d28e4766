package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"ypcrawl/store"
)

const (
	// sandboxLeast is with how many crawled targets a sandbox can be judged when its
	// source has no more.
	sandboxLeast = 3
	// sandboxShare is the percentage of targets that must have been read, and of
	// listings that must have a phone or an address.
	sandboxShare = 80
)

// Sandbox is how a source in the sandbox fares.
type Sandbox struct {
	Targets  int    `json:"targets"`  // planned
	Settled  int    `json:"settled"`  // of them with an outcome
	Done     int    `json:"done"`     // with listings, or with the site's word that there are none
	Empty    int    `json:"empty"`    // of those, the latter
	Broken   int    `json:"broken"`   // whose pages could not be read
	Listings int    `json:"listings"` // stored
	Reached  int    `json:"reached"`  // of them with a phone or an address
	Bad      int    `json:"bad"`      // cards that are no listing: without a name or an id, or against a rule
	Errors   string `json:"errors,omitempty"`
	Alarm    string `json:"alarm,omitempty"` // of the layout
}

const (
	sandboxTargets = `
	SELECT count(*), ifnull(sum(t.status IN ('DONE', 'FAILED', 'STUCK', 'PARKED')), 0), ifnull(sum(t.status = 'DONE'), 0),
		ifnull(sum(t.status = 'DONE' AND t.raw_count = 0), 0), ifnull(sum(t.status <> 'DONE' AND t.last_error_code IN ('HTML_CHANGED', 'PARSE_ERROR')), 0),
		ifnull(sum(t.bad_count), 0) + (SELECT count(*) FROM staged_listings g WHERE g.source_id = ?1),
		ifnull(group_concat(DISTINCT iif(t.status <> 'DONE', t.last_error_code, NULL)), '')
	FROM targets t WHERE t.kind = 'search' AND t.source_id = ?1 AND t.retired_at IS NULL`
	sandboxListings = `
	SELECT count(*), ifnull(sum(l.phone IS NOT NULL OR l.street IS NOT NULL OR l.postal_code IS NOT NULL), 0) FROM listings l WHERE l.source_id = ?1`
	sandboxAlarm = `SELECT iif(s.paused_code = 'HTML_CHANGED', ifnull(s.paused_reason, 'layout alarm'), '') FROM sources s WHERE s.id = ?1`
	sandboxFares = `SELECT * FROM (` + sandboxTargets + `), (` + sandboxListings + `), (` + sandboxAlarm + `)`
)

func (s *Sandbox) columns() []any {
	return []any{&s.Targets, &s.Settled, &s.Done, &s.Empty, &s.Broken, &s.Bad, &s.Errors, &s.Listings, &s.Reached, &s.Alarm}
}

// Sandbox returns how a source fares in the sandbox.
func (k *Keeper) Sandbox(ctx context.Context, sourceID int64) (s Sandbox, err error) {
	if err := k.row(ctx, sandboxFares, []any{sourceID}, s.columns()...); err != nil {
		return s, fmt.Errorf("read the sandbox of source %d: %w", sourceID, err)
	}
	return s, nil
}

// verdict decides on a sandbox: the stage that follows, and why. A page that could not
// be read is a verdict at once, all else waits until every target has an outcome.
func (s Sandbox) verdict() (Stage, []string) {
	var wrong []string
	if s.Alarm != "" {
		wrong = append(wrong, "layout alarm: "+s.Alarm)
	}
	if s.Broken > 0 {
		wrong = append(wrong, fmt.Sprintf("the pages of %d of %d targets could not be read", s.Broken, s.Targets))
	}
	switch {
	case len(wrong) > 0:
		return StageReview, wrong
	case s.Settled < s.Targets || s.Targets == 0:
		return StageSandbox, []string{fmt.Sprintf("%d of %d targets have an outcome", s.Settled, max(s.Targets, SandboxTargets))}
	case s.Targets < sandboxLeast:
		return StageSandbox, []string{fmt.Sprintf("only %d of the %d targets of the sandbox were crawled: crawl more places or categories", s.Settled, SandboxTargets)}
	}
	if 100*s.Done < sandboxShare*s.Settled {
		wrong = append(wrong, fmt.Sprintf("%d of %d targets were read, at least %d %% must be (%s)", s.Done, s.Settled, sandboxShare, strings.ReplaceAll(s.Errors, ",", ", ")))
	}
	switch cards := s.Listings + s.Bad; {
	case s.Done > 0 && cards == 0:
		wrong = append(wrong, "no target has a listing")
	case 100*s.Reached < sandboxShare*cards:
		wrong = append(wrong, fmt.Sprintf("%d of %d listings have a name and a phone or an address, at least %d %% must", s.Reached, cards, sandboxShare))
	}
	if len(wrong) > 0 {
		return StageReview, wrong
	}
	return StageActive, []string{fmt.Sprintf("%d of %d targets were read, with %d listings, %d of them with a phone or an address", s.Done, s.Settled, s.Listings, s.Reached)}
}

// JudgeSandbox decides whether a source leaves the sandbox: when every target has an
// outcome and its layout holds it becomes active, when it does not it goes back to
// review, disabled, with the reasons in its notes. It returns the stage in which the
// source is then, and why, for people; no text when it is not in the sandbox.
func (k *Keeper) JudgeSandbox(ctx context.Context, sourceID int64) (stage Stage, text string, err error) {
	what := fmt.Sprintf("judge the sandbox of source %d", sourceID)
	var s StoredSource
	if err := k.row(ctx, storedByID, []any{sourceID}, store.Fields(&s)...); err != nil {
		return "", "", fmt.Errorf("%s: %w", what, err)
	}
	if s.Stage != StageSandbox { // most sources: that costs no transaction
		return s.Stage, "", nil
	}
	err = k.write(ctx, what, func(tx *store.Tx) error {
		if err := tx.Get(storedByID, []any{sourceID}, store.Fields(&s)...); err != nil {
			return err
		}
		if stage = s.Stage; stage != StageSandbox {
			return nil
		}
		var box Sandbox
		if err := tx.Get(sandboxFares, []any{s.ID}, box.columns()...); err != nil {
			return err
		}
		next, why := box.verdict()
		reasons := strings.Join(why, "; ")
		if next == StageSandbox {
			text = fmt.Sprintf("%s stays in the sandbox: %s", s.Name, reasons)
			return nil
		}
		if err := s.move(tx, next, s.Enabled && next == StageActive); err != nil {
			return err
		}
		stage, text = next, fmt.Sprintf("%s is disabled until you have reviewed it: %s", s.Name, reasons)
		if next == StageActive {
			text = fmt.Sprintf("%s leaves the sandbox and is active: %s", s.Name, reasons)
		}
		return s.addNotes(tx, why)
	})
	return stage, text, err
}

const (
	// sandboxNote begins the notes that a verdict leaves; the next one takes their place.
	sandboxNote = "sandbox: "
	writeNotes  = `
	UPDATE sources SET notes = (
		SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(ifnull(notes, '[]')) WHERE value NOT LIKE ?1 || '%' UNION ALL SELECT ?1 || value FROM json_each(?2)))
	WHERE id = ?3`
	restartTargets = `
	UPDATE targets AS t SET ` + resetSet + `last_error_code = NULL, last_error = NULL, ` + anew + `
	WHERE t.status IN ('DONE', 'FAILED', 'STUCK', 'PARKED', 'PLANNED') AND t.id IN (
		SELECT x.id FROM targets x WHERE x.kind = 'search' AND x.source_id = ?1 AND x.retired_at IS NULL ORDER BY x.id LIMIT ?2)`
	forgetStaged = `DELETE FROM staged_listings WHERE source_id = ?`
)

func (s *StoredSource) addNotes(tx *store.Tx, notes []string) error {
	return tx.Run(writeNotes, sandboxNote, store.JSONTexts(notes), s.ID)
}
