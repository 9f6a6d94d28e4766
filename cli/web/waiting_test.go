package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// opening is a source of databases that the test hands over, one after the other.
type opening struct {
	next   chan *store.DB
	closed chan string // the paths of those that were
}

func (o *opening) open(context.Context) *Opened {
	select {
	case db := <-o.next:
		return &Opened{
			Reader: report.New(db), About: "demo", Close: func() { o.closed <- db.Path() },
			Plain: map[string]http.Handler{"/metrics": says("later")},
		}
	default:
		return nil
	}
}

// says answers with a text.
func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

// serveMissing serves a page that has no database yet.
func serveMissing(t *testing.T, cfg Config) *served {
	t.Helper()
	b := &served{done: make(chan error, 1)}
	cfg.Database, cfg.Every, cfg.Command = "a.db", 10*time.Millisecond, "ypcrawl --db a.db"
	b.Server = New(cfg)
	b.listen(t)
	return b
}

// TestBeforeTheFirstCrawl: each view says what the page waits for; once there is a database, it is shown, and who looks on is told to load
// the page again. Another file in its place is shown, too, and the first one is closed.
func TestBeforeTheFirstCrawl(t *testing.T) {
	t.Parallel()
	var hindered atomic.Bool
	var logged bytes.Buffer
	o := &opening{make(chan *store.DB), make(chan string, 2)}
	b := serveMissing(t, Config{
		Logger: zerolog.New(zerolog.SyncWriter(&logged)), Open: o.open, Plain: map[string]http.Handler{"/metrics": says("before")},
		Missing: Missing{Path: "/crawls/<a>.db", Begin: "run --source demo", Of: "<b>", Why: func() error {
			if hindered.Load() {
				return errors.New("it is <no> database")
			}
			return nil
		}},
	})
	for _, path := range []string{"/", "/queue?status=x", "/states/ZZ", "/targets/9"} {
		text := b.answers(t, path, page{http.StatusOK, []string{
			"<title>No crawl yet · a.db · ypcrawl</title>", "/crawls/&lt;a&gt;.db", "<strong>&lt;b&gt;</strong>", "<code>ypcrawl --db a.db run --source demo</code>", `src="/static/page.js"`,
		}})
		if strings.Contains(text, "<nav") || strings.Contains(text, "can't be shown") {
			t.Errorf("%s: %s", path, text)
		}
	}
	b.answers(t, "/nothing", page{http.StatusNotFound, []string{"There is no page"}})
	b.answers(t, "/listings.csv", page{http.StatusNotFound, []string{"There is no crawl yet."}})
	lines, _ := b.stream(t, "/queue")
	next(t, lines, "part")
	hindered.Store(true)
	for data := ""; !strings.Contains(data, `can't be shown: it is \u0026lt;no\u0026gt; database`); {
		data = next(t, lines, "part")
	}
	b.answers(t, "/metrics", page{http.StatusOK, []string{"before"}})

	first := storetest.Open(t)
	o.next <- first
	next(t, lines, "reload")
	b.answers(t, "/", page{http.StatusOK, []string{"Nothing is planned", `<nav aria-label="Views">`}})
	b.answers(t, "/states/ZZ", page{http.StatusNotFound, nil})
	b.answers(t, "/metrics", page{http.StatusOK, []string{"later"}})

	lines, _ = b.stream(t, "/")
	second := storetest.Open(t)
	storetest.World{}.Plant(t, second)
	storetest.NoError(t, os.Rename(first.Path(), first.Path()+".away"))
	for data := ""; !strings.Contains(data, "was removed, moved or replaced; what is there next is shown"); {
		data = next(t, lines, "part")
	}
	if answer, text := b.ask(t, http.MethodGet, "/listings.csv", nil, ""); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "was removed, moved or replaced") {
		t.Errorf("a download of what is gone: %d, %s", answer.StatusCode, text)
	}
	o.next <- second
	next(t, lines, "reload")
	b.answers(t, "/", page{http.StatusOK, []string{"planned"}})
	storetest.Equal(t, <-o.closed, first.Path(), "closed")
	lines, _ = b.stream(t, "/")
	b.stop(Ended("it is over"))
	if data := next(t, lines, "end"); data != `{"text":"it is over"}` {
		t.Errorf("at the end: %s", data)
	}
	storetest.NoError(t, <-b.done)
	b.done <- nil
	storetest.Equal(t, strings.Count(logged.String(), "\n"), 1, "lines in the log, of "+logged.String())
	storetest.Equal(t, <-o.closed, second.Path(), "closed")
}
