package wal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/yp"
)

// lineAt is an event of a claim, so many seconds after noon: committed is the number of the last commit of its target before it.
func lineAt(second int, typ EventType, target, token, committed int64) *Event {
	e := &Event{Type: typ, Timestamp: noon.Add(time.Duration(second) * time.Second), Target: samplePage(0).Target, Committed: committed}
	e.Target.ID, e.Target.ClaimToken, e.Target.CitySlug = target, token, fmt.Sprintf("city-%d", target)
	switch typ {
	case PageComplete:
		e.Page = samplePage(1).Page
	case TargetError:
		e.Ended = committed + 1
	}
	return e
}

// TestByCommit: the log has pages as they were read, and the lines behind them tell in which order they were
// committed, whatever clocks said; where a kill came before that line, the next claim of the target tells it.
func TestByCommit(t *testing.T) {
	t.Parallel()
	start, page, failed, done := TargetStart, PageComplete, TargetError, TargetComplete
	begun := lineAt(1, start, 1, 1, 0)
	begun.Behind = 10
	type log struct {
		worker, database string
		events           []*Event
	}
	for name, c := range map[string]struct {
		logs []log
		want string // type, target and number of each
	}{
		"the lines behind the pages decide": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, page, 1, 1, 0), lineAt(9, page, 1, 1, 5), lineAt(2, done, 1, 1, 6)}},
			{"worker_1_pid_1", "", []*Event{lineAt(50, page, 2, 1, 3), lineAt(51, done, 2, 1, 4)}},
		}, "page 2 4, complete 2 0, page 1 5, page 1 6, complete 1 0"},
		"an end has a number of its own": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, page, 1, 1, 0), lineAt(2, failed, 1, 1, 2)}},
			{"worker_1_pid_1", "", []*Event{lineAt(1, page, 2, 1, 0), lineAt(2, done, 2, 1, 1)}},
		}, "page 2 1, complete 2 0, page 1 2, error 1 3"},
		"a page that was not committed": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, start, 1, 1, 4), lineAt(2, page, 1, 1, 4), lineAt(3, ClaimLost, 1, 1, 4)}},
		}, "start 1 0, page 1 0, claim_lost 1 0"},
		"killed behind the commit": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, page, 1, 1, 0)}},
			{"worker_0_pid_2", "", []*Event{lineAt(8, start, 1, 2, 6), lineAt(8, page, 1, 2, 6), lineAt(9, done, 1, 2, 7)}},
			{"worker_1_pid_1", "", []*Event{lineAt(1, page, 2, 1, 0), lineAt(2, page, 2, 1, 5), lineAt(2, done, 2, 1, 9)}},
		}, "start 1 0, page 2 5, page 1 6, page 1 7, complete 1 0, page 2 9, complete 2 0"},
		"killed before the commit": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, page, 1, 1, 3)}},
			{"worker_0_pid_2", "", []*Event{lineAt(8, start, 1, 2, 3), lineAt(8, failed, 1, 2, 3)}},
			{"worker_0_pid_3", "", []*Event{lineAt(8, start, 1, 3, 4)}},
		}, "page 1 0, start 1 0, start 1 0, error 1 4"},
		"killed, and nobody has taken the target since": {[]log{
			{"worker_0_pid_1", "", []*Event{lineAt(1, page, 1, 1, 0), lineAt(1, page, 1, 1, 8)}},
			{"worker_1_pid_1", "", []*Event{lineAt(2, page, 2, 1, 0), lineAt(2, done, 2, 1, 10)}},
		}, "page 1 8, page 1 9, page 2 10, complete 2 0"},
		"killed in its first page, behind what was there": {[]log{
			{"worker_0_pid_1", "", []*Event{begun, lineAt(1, page, 1, 1, 0)}},
			{"worker_1_pid_1", "", []*Event{lineAt(2, page, 2, 1, 0), lineAt(2, page, 2, 1, 10), lineAt(2, done, 2, 1, 11)}},
		}, "page 2 10, start 1 0, page 1 1, page 2 11, complete 2 0"},
		"one database after the other": {[]log{
			{"worker_0_pid_1", "b", []*Event{lineAt(1, page, 1, 1, 0), lineAt(2, done, 1, 1, 1)}},
			{"worker_1_pid_1", "a", []*Event{lineAt(3, page, 2, 1, 0), lineAt(4, done, 2, 1, 9)}},
		}, "page 2 9, complete 2 0, page 1 1, complete 1 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, log := range c.logs {
				l := create(t, Config{Dir: dir, WorkerID: log.worker, Database: log.database})
				for _, e := range log.events {
					for _, e := range []*Event{e, {Type: Heartbeat, Target: e.Target, Timestamp: noon.Add(time.Hour)}} {
						noErr(t, l.Append(e))
					}
				}
				noErr(t, l.Close())
			}
			events, damage, _ := readAll(t, dir, Options{ByCommit: true})
			var got []string
			for _, e := range events {
				if e.Nth > 0 && !e.Started.IsZero() && e.Started.After(e.Timestamp) {
					t.Errorf("%s of a claim that began at %s", e.Timestamp, e.Started)
				}
				word := strings.TrimSuffix(strings.TrimPrefix(string(e.Type), "target_"), "_complete")
				got = append(got, fmt.Sprintf("%s %d %d", word, e.Target.ID, e.Nth))
			}
			if all := strings.Join(got, ", "); all != c.want || len(damage) > 0 {
				t.Errorf("got  %s\nwant %s (%v)", all, c.want, damage)
			}
		})
	}
}

// TestTimeOfCommit: a page has the time of its commit, which the line behind it tells.
func TestTimeOfCommit(t *testing.T) {
	t.Parallel()
	log := create(t, Config{Dir: t.TempDir()})
	told := lineAt(9, PageComplete, 1, 1, 1)
	told.CommittedAt = yp.Stamp{Time: noon.Add(5 * time.Second)}
	for _, e := range []*Event{lineAt(1, PageComplete, 1, 1, 0), told} {
		noErr(t, log.Append(e))
	}
	noErr(t, log.Close())
	events, _, _ := readAll(t, log.Path(), Options{ByCommit: true})
	if len(events) != 2 || !events[0].Timestamp.Equal(told.CommittedAt.Time) || !events[1].Timestamp.Equal(told.Timestamp) {
		t.Error(events)
	}
}
