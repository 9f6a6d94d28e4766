package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// Config says what is measured; zero values have the defaults named.
type Config struct {
	Reader   *report.Reader // nil = there is no crawl yet
	Database string         // name of the file, without its folder
	Logs     string         // folder of its write-ahead logs; none = their size is not known
	Run      bool           // this process crawls: its heartbeat is looked at, too
	Follows  bool           // whoever asks gets the measures of the next file of this name by itself

	Hindrance func() error // why there is no Reader although there is a file; default nil: there is none yet

	Every   time.Duration    // at least between two reads; default 1 s
	Slow    time.Duration    // at least between two reads of coverage and passes; default 1 minute
	Timeout time.Duration    // of one read; default 5 s
	Now     func() time.Time // default time.Now
}

// Meter measures a database, at most so often however many ask. It is safe for use by several
// goroutines: who comes while it reads waits for what is read.
type Meter struct {
	cfg      Config
	measures kept[*report.Measures]
	slow     kept[report.SlowMeasures]
	runs     kept[[]report.RunHolder]
}

// New returns a meter.
func New(cfg Config) *Meter {
	cfg.Every, cfg.Slow, cfg.Timeout = cmp.Or(cfg.Every, time.Second), cmp.Or(cfg.Slow, time.Minute), cmp.Or(cfg.Timeout, 5*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Meter{cfg: cfg}
}

// restOf bounds what reading may cost: it may take one part in so many of the time.
const restOf = 20

// kept is what was read last, or why it could not be.
type kept[T any] struct {
	mu  sync.Mutex
	v   T
	err error
	due time.Time // when it may be read again
}

func (k *kept[T]) get(m *Meter, every time.Duration, read func(ctx context.Context) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	began := m.cfg.Now()
	if began.Before(k.due) {
		return k.v, k.err
	}
	// Not in the time of whoever asked first: others wait for it, too.
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.Timeout)
	defer cancel()
	k.v, k.err = read(ctx)
	end := m.cfg.Now()
	k.due = end.Add(max(every, restOf*end.Sub(began)))
	return k.v, k.err
}

// forget has the next one who asks read anew.
func (k *kept[T]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due = time.Time{}
}

// Measures reads the measures, or returns those that were read last.
func (m *Meter) Measures() (*report.Measures, error) {
	if m.cfg.Reader == nil {
		return m.none()
	}
	all, err := m.measures.get(m, m.cfg.Every, func(ctx context.Context) (*report.Measures, error) {
		all, err := m.cfg.Reader.Measure(ctx, m.cfg.Logs)
		if err != nil {
			return nil, err
		}
		slow, err := m.slow.get(m, m.cfg.Slow, m.cfg.Reader.MeasureSlowly)
		all.SlowAt.Time, all.Metrics = slow.At, append(all.Metrics, slow.Metrics...)
		return all, err
	})
	return all, m.next(err)
}

// next is an error that says what comes next where that is not what every other program would say.
func (m *Meter) next(err error) error {
	if m.cfg.Follows && errors.Is(err, store.ErrReplaced) {
		return fmt.Errorf("%s was removed, moved or replaced; the dashboard goes on as soon as there is a database of this name", m.cfg.Database)
	}
	return err
}

// none are the measures where there is no crawl yet: when that was seen.
func (m *Meter) none() (*report.Measures, error) {
	if err := m.hindrance(); err != nil {
		return nil, err
	}
	now := m.cfg.Now()
	seconds := float64(now.UnixMilli()) / 1000
	return &report.Measures{Now: yp.Stamp{Time: now}, Metrics: []report.Metric{
		{Name: "measured_timestamp_seconds", Labels: json.RawMessage(`{}`), Value: &seconds, Help: "When these figures were read."},
	}}, nil
}

// hindrance is why a crawl that is there can't be read; nil = there is none yet.
func (m *Meter) hindrance() error {
	if m.cfg.Hindrance == nil {
		return nil
	}
	if err := m.cfg.Hindrance(); err != nil {
		return fmt.Errorf("the database can't be read: %w", err)
	}
	return nil
}

// well tells why this process, or its database, is not well; nil = it is.
func (m *Meter) well() error {
	if m.cfg.Reader == nil {
		return m.hindrance()
	}
	runs, err := m.runs.get(m, m.cfg.Every, m.cfg.Reader.RunHolders)
	if err != nil {
		return fmt.Errorf("the database can't be read: %w", m.next(err))
	}
	for _, r := range runs {
		if age := m.cfg.Now().Sub(r.Heartbeat); m.cfg.Run && r.Alive && r.PID == os.Getpid() && age > store.SilentElsewhere {
			return fmt.Errorf("the run of this process has sent no heartbeat for %s", yp.Lasting(age))
		}
	}
	return nil
}

// Health is the path that tells whether this process is well, and nothing else.
const Health = "/healthz"

// Handlers are what a server may mount, by path: Health, "/status.json" and "/metrics".
func (m *Meter) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		Health: http.HandlerFunc(m.serveHealth), "/status.json": http.HandlerFunc(m.serveJSON), "/metrics": http.HandlerFunc(m.serveText),
	}
}

func (m *Meter) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if err := m.well(); err != nil {
		answer(w, http.StatusServiceUnavailable, "text/plain; charset=utf-8", []byte(yp.Printable(err.Error())+"\n"))
		return
	}
	text := "ok\n"
	if m.cfg.Reader == nil {
		text = "no crawl yet\n"
	}
	answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}

func (m *Meter) serveText(w http.ResponseWriter, _ *http.Request) {
	if all := m.read(w); all != nil {
		answer(w, http.StatusOK, ContentType, Text(all, m.cfg.Database))
	}
}

func (m *Meter) serveJSON(w http.ResponseWriter, _ *http.Request) {
	if all := m.read(w); all != nil {
		answer(w, http.StatusOK, "application/json", JSON(all))
	}
}

// JSON writes measures as JSON, indented.
func JSON(all *report.Measures) []byte {
	text, err := yp.JSON(all, "  ")
	if err != nil {
		panic(err) // of figures and texts, it can always be written
	}
	return text
}

// read returns the measures; where it can't, it has said so.
func (m *Meter) read(w http.ResponseWriter) *report.Measures {
	all, err := m.Measures()
	if err != nil {
		answer(w, http.StatusServiceUnavailable, "text/plain; charset=utf-8", []byte(yp.Printable(err.Error())+"\n"))
		return nil
	}
	return all
}

func answer(w http.ResponseWriter, status int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that nobody waits for it any more
}
