package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Metric is one figure that monitoring asks for: a row of v_metrics, or what only locks, files and passes tell.
type Metric struct {
	Name   string          `json:"name"`
	Labels json.RawMessage `json:"labels"` // an object of texts
	Value  *float64        `json:"value"`  // null = not known
	Help   string          `json:"help"`
}

// label is the value of a label; "" = there is none of that name.
func (m *Metric) label(name string) string {
	pairs := m.Pairs()
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == name {
			return pairs[i+1]
		}
	}
	return ""
}

// Pairs are the names and values of the labels in turn.
func (m *Metric) Pairs() (pairs []string) {
	dec := json.NewDecoder(bytes.NewReader(m.Labels))
	for token, err := dec.Token(); err == nil; token, err = dec.Token() {
		if text, ok := token.(string); ok {
			pairs = append(pairs, text)
		}
	}
	return pairs
}

// Measures are all metrics, of the whole file.
type Measures struct {
	Now     yp.Stamp `json:"measured_at"`
	SlowAt  yp.Stamp `json:"slow_measured_at"` // coverage and passes
	Metrics []Metric `json:"metrics"`

	Sources []SourceStatus `json:"-"`
	Runs    []RunHolder    `json:"-"`
}

// Value is that of a metric with labels, name and value in turn; nil = it is not known, or not there.
func (m *Measures) Value(name string, labels ...string) *float64 {
	for i := range m.Metrics {
		if x := &m.Metrics[i]; x.Name == name && slices.Equal(x.Pairs(), labels) {
			return x.Value
		}
	}
	return nil
}

// Sum adds up what is known of a metric where a label has a value; "" = everywhere.
func (m *Measures) Sum(name, label, value string) (sum float64) {
	for i := range m.Metrics {
		if x := &m.Metrics[i]; x.Name == name && x.Value != nil && (label == "" || x.label(label) == value) {
			sum += *x.Value
		}
	}
	return sum
}

const metrics = `SELECT name, labels, value, help FROM v_metrics`

// known is a figure that is known if ok.
func known[T ~int | ~int64 | ~float64](v T, ok bool) *float64 {
	if !ok {
		return nil
	}
	return new(float64(v))
}

// Measure reads all metrics but the slow ones (see MeasureSlowly). logs is the folder of the
// write-ahead logs. What it costs does not depend on how many listings there are, and little
// on how many targets.
func (k *Reader) Measure(ctx context.Context, logs string) (m *Measures, err error) {
	if err = k.db.InPlace(); err == nil {
		err = k.at(ctx, func(k *Reader) error {
			m, err = k.measure(ctx)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	path := k.db.Path()
	database, journal := fileSize(path), fileSize(path+"-wal")
	if journal == nil && database != nil {
		journal = new(0.0) // the last one who closed the file has folded it in
	}
	m.Metrics = append(m.Metrics, Metric{"database_bytes", none, database, "Size of the database."},
		Metric{"database_journal_bytes", none, journal, "Size of the database's journal (-wal)."},
		Metric{"log_bytes", none, folderSize(logs), "Size of the write-ahead logs."})
	return m, nil
}

var none = json.RawMessage("{}")

func (k *Reader) measure(ctx context.Context) (*Measures, error) {
	m := &Measures{Now: yp.Stamp{Time: k.db.Now()}}
	var err error
	if m.Metrics, err = list(ctx, k, "metrics", metrics, nil,
		func(x *Metric) []any { return []any{&x.Name, (*[]byte)(&x.Labels), &x.Value, &x.Help} }); err != nil {
		return nil, err
	}
	if m.Sources, err = k.Sources(ctx); err != nil {
		return nil, err
	}
	if m.Runs, err = k.RunHolders(ctx); err != nil {
		return nil, err
	}
	var alive, dead, unknown int
	var orphaned int64
	var oldest time.Duration
	for _, r := range m.Runs {
		switch {
		case r.Alive:
			alive, oldest = alive+1, max(oldest, m.Now.Sub(r.Heartbeat))
		case r.Dead:
			dead, orphaned = dead+1, orphaned+r.Held
		case r.Unseen != nil:
			unknown++
		}
	}
	left, err := k.leftNow(ctx, store.Scope{})
	if err != nil {
		return nil, err
	}
	const runs = "Active runs, including those that died and are not recovered yet."
	m.Metrics = append(m.Metrics,
		Metric{"runs", json.RawMessage(`{"state":"alive"}`), known(alive, true), runs},
		Metric{"runs", json.RawMessage(`{"state":"dead"}`), known(dead, true), runs},
		Metric{"runs", json.RawMessage(`{"state":"unknown"}`), known(unknown, true), runs},
		Metric{
			"run_heartbeat_age_seconds", none, known(oldest.Seconds(), alive > 0 && unknown == 0),
			"Age of the oldest heartbeat of active runs.",
		},
		Metric{"targets_orphaned", none, known(orphaned, unknown == 0), "Targets held by dead runs; the next run releases them."})
	var l Left
	if left != nil {
		l = *left
	}
	m.Metrics = append(m.Metrics,
		Metric{
			"time_left_seconds", none, known(l.Seconds, left != nil && l.Seconds >= 0),
			"Time until everything due is read, at the speed of the last minutes; absent = unknown.",
		})
	return m, nil
}

// SlowMeasures read every search, and what became of listings: they are asked less often than the rest.
type SlowMeasures struct {
	At      time.Time
	Metrics []Metric
}

// MeasureSlowly reads the metrics that Measure leaves out.
func (k *Reader) MeasureSlowly(ctx context.Context) (s SlowMeasures, err error) {
	s.At = k.db.Now()
	t, err := k.CoverageTotals(ctx, store.Scope{})
	var passes []Pass
	if err == nil {
		passes, err = k.Passes(ctx, store.Scope{})
	}
	if err != nil {
		return s, fmt.Errorf("read metrics: %w", err)
	}
	for _, p := range passes {
		of := json.RawMessage(`{"source":` + store.JSON(p.Source) + `}`)
		running := 0
		if p.State == PassRunning {
			running = 1
		}
		s.Metrics = append(s.Metrics, Metric{
			"pass_began_timestamp_seconds", of,
			known(float64(p.Began.UnixMilli())/1000, true), "When the last pass of a source began.",
		},
			Metric{"pass_running", of, known(running, p.State != PassUnknown), "1 while a run of the source's last pass is active."})
		for _, c := range []struct {
			change string
			n      int64
		}{{"new", p.New}, {"changed", p.Changed}, {"dropped", p.Dropped}, {"restored", p.Restored}, {"rejected", p.Rejected}} {
			s.Metrics = append(s.Metrics, Metric{
				"pass_listings", json.RawMessage(`{"source":` + store.JSON(p.Source) + `,"change":"` + c.change + `"}`), known(c.n, true),
				"Listings of the last pass of a source so far, by kind of change.",
			})
		}
	}
	s.Metrics = append(s.Metrics,
		Metric{
			"site_listings", none, known(t.SiteTotal, t.Known > 0),
			"Listings that the sites say they have, for the searches where they say so.",
		},
		Metric{"site_listings_seen", none, known(t.SeenOfKnown, t.Known > 0), "Listings seen, in the same searches."},
		Metric{"site_pages_left", none, known(t.PagesLeft, true), "Pages not read because of --max-pages."})
	return s, nil
}

// fileSize is nil where it is not known.
func fileSize(path string) *float64 {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return known(info.Size(), true)
}

// folderSize adds up the files of a folder, which has no folders of its own; one that is not
// there has none.
func folderSize(dir string) *float64 {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil
	}
	var sum int64
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err == nil && info.Mode().IsRegular() { // else it was packed or removed meanwhile
			sum += info.Size()
		}
	}
	return new(float64(sum))
}
