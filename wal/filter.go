package wal

import (
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Filter chooses events. An empty field lets everything pass; a field with
// several values lets any of them pass.
type Filter struct {
	Types      []EventType
	Workers    []string  // ids: "worker_0_pid_12345", or "worker_0" for that worker of every process
	States     []string  // two letters, any case
	Categories []string  // names or slugs, any case
	Databases  []string  // ids; "" for events that have none
	Kinds      []yp.Kind // of targets
	Since      time.Time // inclusive
	Until      time.Time // exclusive
}

// Empty reports whether every event passes.
func (f *Filter) Empty() bool {
	return len(f.Types)+len(f.Workers)+len(f.States)+len(f.Categories)+len(f.Databases)+len(f.Kinds) == 0 && f.Since.IsZero() && f.Until.IsZero()
}

// Match reports whether e passes. An event without a target passes no filter
// on states, categories or kinds.
func (f *Filter) Match(e *Event) bool {
	return f.matchTime(e.Timestamp) &&
		(len(f.Databases) == 0 || slices.Contains(f.Databases, e.Database)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) &&
		(len(f.Workers) == 0 || slices.ContainsFunc(f.Workers, func(w string) bool { return matchWorker(w, e.WorkerID) })) &&
		f.matchTarget(e.Target)
}

func (f *Filter) matchTime(t time.Time) bool {
	return (f.Since.IsZero() || !t.Before(f.Since)) && (f.Until.IsZero() || t.Before(f.Until))
}

func matchWorker(want, id string) bool {
	return id == want || strings.HasPrefix(id, want+"_pid_")
}

func (f *Filter) matchTarget(t *Target) bool {
	if len(f.States)+len(f.Categories)+len(f.Kinds) == 0 {
		return true
	}
	return t != nil &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, t.Kind)) &&
		(len(f.States) == 0 || containsFold(f.States, t.State)) &&
		(len(f.Categories) == 0 || containsFold(f.Categories, t.Category) || containsFold(f.Categories, t.CategorySlug))
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(v string) bool { return strings.EqualFold(v, s) })
}
