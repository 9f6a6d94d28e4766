package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ypcrawl/store"
)

// SandboxTargets is how many targets a source has while it is in the sandbox (or in
// review, from which it goes there).
const SandboxTargets = 10

const (
	// sandboxLeast is with how many crawled targets a sandbox can be judged when its
	// source has no more.
	sandboxLeast = 3
	// sandboxShare is the percentage of targets that must have been read, and of
	// listings that must have a phone or an address.
	sandboxShare = 80
)

const stageRoom = `
	SELECT s.stage, (SELECT count(*) FROM (SELECT 1 FROM targets t WHERE t.kind = 'search' AND t.source_id = s.id LIMIT ?2)) FROM sources s WHERE s.id = ?1`

// PlanLimit returns how many targets may still be planned for a source: what its
// sandbox has room for, or -1 = any number.
func (k *Keeper) PlanLimit(ctx context.Context, sourceID int64) (int, error) {
	var stage Stage
	var planned int
	if err := k.db.Read().QueryRowContext(ctx, stageRoom, sourceID, SandboxTargets).Scan(&stage, &planned); err != nil {
		return 0, fmt.Errorf("look at the stage of source %d: %w", sourceID, err)
	}
	if stage == StageActive {
		return -1, nil
	}
	return SandboxTargets - planned, nil
}

// errSandboxFull means that somebody else has planned targets of the sandbox since the
// room in it was looked at. Nothing was written.
var errSandboxFull = errors.New("the sandbox has less room than it had")

// fits tells whether what was added to a sandbox has room in it.
func (p Plan) fits(tx *store.Tx, added int64) error {
	if !p.sandbox || added == 0 {
		return nil
	}
	var stage Stage
	var planned int
	if err := tx.Get(stageRoom, []any{p.SourceID, SandboxTargets + 1}, &stage, &planned); err != nil {
		return err
	}
	if stage != StageActive && planned > SandboxTargets {
		return errSandboxFull
	}
	return nil
}

// PlanStaged is Plan, but for a source in the sandbox, of which it plans no more than
// PlanLimit allows.
func (k *Keeper) PlanStaged(ctx context.Context, p Plan) (Planned, error) {
	room, err := k.PlanLimit(ctx, p.SourceID)
	if err != nil || room < 0 {
		if err != nil {
			return Planned{}, err
		}
		return k.Plan(ctx, p)
	}
	all := len(p.Cities) * len(p.Categories)
	if p.MaxTargets > 0 {
		all = min(all, p.MaxTargets)
	}
	p.sandbox = true
	given, out := p, Planned{}
	// What is planned already stands in the way of as many new ones: one more is looked
	// at each time, so that never one too many is planned.
	for n := min(room, all); room > 0 && n > 0 && n <= min(all, SandboxTargets); n++ {
		p.MaxTargets = n
		got, err := k.Plan(ctx, p)
		if errors.Is(err, errSandboxFull) {
			got, err = k.PlanStaged(ctx, given)
			return Planned{Selected: got.Selected, Added: out.Added + got.Added, Deepened: out.Deepened + got.Deepened}, err
		}
		if err != nil {
			return out, err
		}
		room -= got.Added
		out = Planned{Selected: got.Selected, Added: out.Added + got.Added, Deepened: out.Deepened + got.Deepened}
	}
	return out, nil
}

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
)

// getter is one statement's row, read by a transaction or by the readers.
type getter func(query string, args []any, into ...any) error

func readSandbox(get getter, id int64) (s Sandbox, err error) {
	args := []any{id}
	if err = get(sandboxTargets, args, &s.Targets, &s.Settled, &s.Done, &s.Empty, &s.Broken, &s.Bad, &s.Errors); err != nil {
		return s, err
	}
	if err = get(sandboxListings, args, &s.Listings, &s.Reached); err != nil {
		return s, err
	}
	return s, get(sandboxAlarm, args, &s.Alarm)
}

// Sandbox returns how a source fares in the sandbox.
func (k *Keeper) Sandbox(ctx context.Context, sourceID int64) (Sandbox, error) {
	s, err := readSandbox(func(query string, args []any, into ...any) error {
		return k.db.Read().QueryRowContext(ctx, query, args...).Scan(into...)
	}, sourceID)
	if err != nil {
		return s, fmt.Errorf("look at the sandbox of source %d: %w", sourceID, err)
	}
	return s, nil
}

// verdict decides on a sandbox: the stage that follows, and why. A page that could not
// be read is a verdict at once, all else waits until every target has an outcome.
func (s Sandbox) verdict() (Stage, []string) {
	if wrong := s.broken(); len(wrong) > 0 {
		return StageReview, wrong
	}
	switch {
	case s.Settled < s.Targets || s.Targets == 0:
		return StageSandbox, []string{fmt.Sprintf("%d of %d targets have an outcome", s.Settled, max(s.Targets, SandboxTargets))}
	case s.Targets < sandboxLeast:
		return StageSandbox, []string{fmt.Sprintf("%d of %d targets were crawled: too few to judge it by; name more places or categories", s.Settled, SandboxTargets)}
	}
	if wrong := s.thin(); len(wrong) > 0 {
		return StageReview, wrong
	}
	return StageActive, []string{fmt.Sprintf("%d of %d targets were read, with %d listings, %d of them with a phone or an address", s.Done, s.Settled, s.Listings, s.Reached)}
}

func (s Sandbox) broken() (wrong []string) {
	if s.Alarm != "" {
		wrong = append(wrong, "layout alarm: "+s.Alarm)
	}
	if s.Broken > 0 {
		wrong = append(wrong, fmt.Sprintf("the pages of %d of %d targets could not be read", s.Broken, s.Targets))
	}
	return wrong
}

func (s Sandbox) thin() (wrong []string) {
	if 100*s.Done < sandboxShare*s.Settled {
		wrong = append(wrong, fmt.Sprintf("%d of %d targets were read, want %d %% (%s)", s.Done, s.Settled, sandboxShare, strings.ReplaceAll(s.Errors, ",", ", ")))
	}
	cards := s.Listings + s.Bad
	switch {
	case s.Done > 0 && cards == 0:
		wrong = append(wrong, "no target has a single listing")
	case 100*s.Reached < sandboxShare*cards:
		wrong = append(wrong, fmt.Sprintf("%d of %d listings have a name and a phone or an address, want %d %%", s.Reached, cards, sandboxShare))
	}
	return wrong
}

// JudgeSandbox decides whether a source leaves the sandbox: when every target has an
// outcome and its layout holds it becomes active, when it does not it goes back to
// review, disabled, with the reasons in its notes. It returns the stage in which the
// source is then, and why, for people; no text when it is not in the sandbox.
func (k *Keeper) JudgeSandbox(ctx context.Context, sourceID int64) (stage Stage, text string, err error) {
	var name string
	var enabled bool
	err = k.db.Read().QueryRowContext(ctx, sandboxSource, sourceID).Scan(&name, &stage, &enabled)
	if err == nil && stage == StageSandbox { // of most sources it isn't: that costs no transaction
		err = k.write(ctx, func(tx *store.Tx) error {
			stage, text, err = judge(tx, sourceID)
			return err
		})
	}
	if err != nil {
		return stage, "", fmt.Errorf("judge the sandbox of source %d: %w", sourceID, err)
	}
	return stage, text, nil
}

const sandboxSource = `SELECT s.name, s.stage, s.enabled FROM sources s WHERE s.id = ?`

func judge(tx *store.Tx, id int64) (Stage, string, error) {
	var name string
	var stage Stage
	var enabled bool
	if err := tx.Get(sandboxSource, []any{id}, &name, &stage, &enabled); err != nil || stage != StageSandbox {
		return stage, "", err
	}
	s, err := readSandbox(func(query string, args []any, into ...any) error { return tx.Get(query, args, into...) }, id)
	if err != nil {
		return stage, "", err
	}
	next, why := s.verdict()
	reasons := strings.Join(why, "; ")
	if next == StageSandbox {
		return next, fmt.Sprintf("%s stays in the sandbox: %s", name, reasons), nil
	}
	if err := moveStage(tx, id, next, enabled && next == StageActive, enabled); err != nil {
		return stage, "", err
	}
	if err := addNotes(tx, id, why); err != nil {
		return stage, "", err
	}
	if next == StageActive {
		return next, fmt.Sprintf("%s leaves the sandbox and is active: %s", name, reasons), nil
	}
	return next, fmt.Sprintf("%s goes back to review and is disabled: %s", name, reasons), nil
}

// sandboxNote begins the notes that a verdict leaves; the next one takes their place.
const sandboxNote = "sandbox: "

const writeNotes = `
	UPDATE sources SET notes = (
		SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(ifnull(notes, '[]')) WHERE value NOT LIKE ?1 || '%' UNION ALL SELECT ?1 || value FROM json_each(?2)))
	WHERE id = ?3`

func addNotes(tx *store.Tx, id int64, notes []string) error {
	_, err := tx.Exec(writeNotes, sandboxNote, jsonList(notes), id)
	return err
}

// A sandbox that begins again crawls its first targets anew, whatever became of them.
const restartTargets = `
	UPDATE targets AS t SET ` + resetSet + `last_error_code = NULL, last_error = NULL, ` + anew + `
	WHERE t.status IN ('DONE', 'FAILED', 'STUCK', 'PARKED', 'PLANNED') AND t.id IN (
		SELECT x.id FROM targets x WHERE x.kind = 'search' AND x.source_id = ?1 AND x.retired_at IS NULL ORDER BY x.id LIMIT ?2)`

const forgetStaged = `DELETE FROM staged_listings WHERE source_id = ?`

func restartSandbox(tx *store.Tx, id int64) error {
	if _, err := tx.Exec(restartTargets, id, SandboxTargets); err != nil {
		return err
	}
	_, err := tx.Exec(forgetStaged, id)
	return err
}
