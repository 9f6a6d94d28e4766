package web

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

var (
	nextRows = regexp.MustCompile(`id="next-rows" href="([^"]*)"`)
	rowIDs   = regexp.MustCompile(`<a id="target-(\d+)"`)
)

// rowsOf are the targets that a page of the queue shows, and the address of the next one.
func (b *served) rowsOf(t *testing.T, path string) (ids []string, next, text string) {
	t.Helper()
	_, text = b.ask(t, http.MethodGet, path, nil, "")
	for _, m := range rowIDs.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	if m := nextRows.FindStringSubmatch(text); m != nil {
		next = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	return ids, next, text
}

// TestRowBounds: no address has more rows than there may be, and each leads to the next ones: with the filters, each row once.
func TestRowBounds(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	for path, want := range map[string]int{"/queue": 100, "/queue?rows=5": 5, "/queue?rows=-3": 1, "/queue?rows=99999": 120, "/queue?rows=x": 100} {
		if ids, next, text := b.rowsOf(t, path); len(ids) != want || (next == "") != (want == 120) || strings.Contains(text, "More of them") {
			t.Errorf("%s: %d rows, want %d; next: %s", path, len(ids), want, next)
		}
	}
	for _, begin := range []string{"/queue?rows=13", "/queue?rows=17&sort=-target", "/queue?rows=50&sort=error", "/queue?rows=29&sort=id"} {
		had, pages := map[string]bool{}, 0
		for path := begin + "&states=CA"; path != ""; pages++ {
			ids, next, text := b.rowsOf(t, path)
			for _, id := range ids {
				if had[id] {
					t.Errorf("%s shows %s again", path, id)
				}
				had[id] = true
			}
			if path = next; path != "" && !strings.Contains(path, "states=CA") || pages > 0 != strings.Contains(text, `id="first-rows"`) {
				t.Fatalf("page %d: next %q\n%s", pages, path, text)
			}
			if next == "" && !strings.Contains(text, fmt.Sprintf("to %d of %d", len(had), len(had))) {
				t.Errorf("the last page doesn't say how many there are:\n%s", text)
			}
		}
		if len(had) != 60 {
			t.Errorf("%s: %d targets on %d pages", begin, len(had), pages)
		}
	}
}

// TestSort: the head of each column sorts by it, the next click the other way round; an address that asks for another is refused.
func TestSort(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.troubled(t)
	b.answers(t, "/queue?states=TX", page{200, []string{`<th scope="col"><a id="sort-status" href="/queue?sort=status&amp;states=TX">status</a></th>`}})
	b.answers(t, "/queue?sort=status", page{200, []string{`aria-sort="ascending"><a id="sort-status" href="/queue?sort=-status">`, `id="usual-order" href="/queue"`, `name="sort" value="status"`}})
	text := b.answers(t, "/queue?sort=-failures", page{200, []string{`aria-sort="descending"><a id="sort-failures" href="/queue?sort=failures">`}})
	if m := rowIDs.FindStringSubmatch(text); m == nil || m[1] != "9" {
		t.Errorf("the target that failed most often isn't first: %v", m)
	}
	b.answers(t, "/attempts", page{200, []string{` aria-sort="descending"><a id="sort-id" href="/attempts?sort=id">`}})
	for path, want := range map[string]string{
		"/queue?sort=population": "no column", "/queue?sort=%3Cscript%3E": "&lt;script", "/queue?sort=id%3BDROP": "no column", "/queue?sort=--id": "no column", "/queue?sort=key": "no column",
		"/queue?after=x": "no place", "/queue?after=[0]": "no place", "/queue?after=[99,1]": "no place", "/queue?after=[0,1,2,3]": "no place", "/queue?after=[0,[]]": "no place",
		"/listings?sort=email": "no column",
	} {
		b.answers(t, path, page{404, []string{want}})
	}
	ids, _, _ := b.rowsOf(t, "/queue")
	if want := []string{"9", "10", "11"}; !slices.Equal(ids[1:4], want) || ids[99] == "12" {
		t.Errorf("the queue begins with %v, want what is in hand, then %v", ids[:4], want)
	}
}

// TestMoving: the queue says that a target can leave its place between two pages, and where it can't; narrowed by more than states it is
// in order of its ids.
func TestMoving(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	for path, link := range map[string]string{
		"/queue?rows=5": "/queue?rows=5&amp;sort=id", "/queue?rows=5&states=TX&after=[2,4294967396,100]": "/queue?rows=5&amp;sort=id&amp;states=TX",
		"/queue?rows=500": "", "/queue?rows=5&sort=id": "", "/queue?rows=5&status=PLANNED": "", "/listings?rows=1": "",
	} {
		text := b.answers(t, path, page{http.StatusOK, nil})
		if got := strings.Contains(text, `A target whose status changes in the meantime can be on two of these pages, or on none. <a id="by-id" href="`+link+`">`); got != (link != "") {
			t.Errorf("%s: it says so: %v\n%s", path, got, text)
		}
		if sorted := strings.Contains(text, `aria-sort="ascending"><a id="sort-id"`); sorted != (strings.Contains(path, "sort=id") || strings.Contains(path, "status")) {
			t.Errorf("%s: sorted by id: %v", path, sorted)
		}
	}
	b.answers(t, "/queue?rows=5&sort=id&after=[0,500]", page{http.StatusOK, []string{"No more rows.", `id="first-rows"`}})
	b.answers(t, "/runs", page{http.StatusOK, []string{"<span>1 row</span>"}})
}

// TestSlowSort: an order that takes too long is given up, and the page says how to narrow it.
func TestSlowSort(t *testing.T) {
	t.Parallel()
	b, patient := serve(t, Config{}, func(s *Server) { s.sortTime = time.Millisecond }), serve(t, Config{}, func(s *Server) { s.sortTime = time.Minute })
	many := []string{
		`WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO cities (id, slug, name, state, population, tier) SELECT i, 'x-' || i, 'X', 'CA', 1, 3 FROM n`,
		`INSERT INTO targets (source_id, state, city_id, category_id, population, priority, max_pages, created_at)
		SELECT 1, 'CA', id, 1, 1, 3, 1, 'x' FROM cities WHERE id >= 1000`,
	}
	storetest.Execute(t, b.DB(), many...)
	storetest.Execute(t, patient.DB(), many...)
	text := b.answers(t, "/queue?sort=target&rows=10", page{200, []string{`id="slow"`, "Sorting by target took longer", "usual order"}})
	if n := len(rowIDs.FindAllString(text, -1)); n != 10 || strings.Contains(text, "aria-sort") {
		t.Errorf("%d rows are shown, want 10 as the list has them", n)
	}
	patient.answers(t, "/queue?sort=target&states=TX", page{200, []string{`aria-sort="ascending"`}})
}

// records reads a download.
func records(t *testing.T, text string) [][]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff"))).ReadAll()
	storetest.NoError(t, err)
	return all
}

// TestDownload: a list has a file of all that its filters choose, in which no text is a formula.
func TestDownload(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{}, func(s *Server) { s.now = new(storetest.Clock).Now })
	b.troubled(t)
	storetest.Execute(t, b.DB(), `UPDATE listings SET name = '=HYPERLINK("http://evil")' WHERE listing_id = 'b'`)
	answer, text := b.ask(t, http.MethodGet, "/queue.csv?rows=5&sort=-id", nil, "")
	all := records(t, text)
	h := answer.Header
	if len(all) != 121 || strings.Join(all[0][:3], ",") != "id,target,status" || all[1][0] != "1" || all[120][0] != "120" {
		t.Errorf("%d records: %v ... %v", len(all), all[0], all[len(all)-1])
	}
	if want := `attachment; filename="queue-` + storetest.Noon.Format(time.DateOnly) + `.csv"`; h.Get("Content-Disposition") != want || h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v, want %s", h, want)
	}
	_, text = b.ask(t, http.MethodGet, "/queue.csv?status=PARKED", nil, "")
	if all := records(t, text); len(all) != 3 {
		t.Errorf("%v", all)
	}
	_, text = b.ask(t, http.MethodGet, "/listings.csv", nil, "")
	compare(t, "/listings.csv", text, []string{`'=HYPERLINK`, `\u202e`, "\ufefflisting,name,phone"}, []string{"\u202e", ",=", ",\"="})
	for path, want := range map[string]int{"/queue.csv?status=x": 404, "/queue.csv?states=nowhere": 404, "/queue.csv?status=PARKED&error=TIMEOUT": 200, "/nothing.csv": 404, "/workers.csv": 200} {
		if answer, _ := b.ask(t, http.MethodGet, path, nil, ""); answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
	if answer, text := b.ask(t, http.MethodHead, "/queue.csv", nil, ""); answer.StatusCode != 200 || text != "" {
		t.Errorf("head: %d, %q", answer.StatusCode, text)
	}
	for _, l := range b.views {
		if slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Name == "rows" }) {
			if answer, _ := b.ask(t, http.MethodGet, l.Path+".csv", nil, ""); answer.StatusCode != http.StatusOK {
				t.Errorf("%s.csv: %d", l.Path, answer.StatusCode)
			}
		}
	}
}

// begun is a download whose client takes its first bytes and then nothing for a while.
func (b *served) begun(t *testing.T, path string) io.ReadCloser {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
	storetest.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true, ReadBufferSize: 1 << 10}
	answer, err := transport.RoundTrip(r)
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	return answer.Body
}

// long has so many targets with such long names that no buffer between server and client holds the list.
func (b *served) long(t *testing.T, targets int) {
	t.Helper()
	storetest.Execute(t, b.DB(), fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO cities (id, slug, name, state, population, tier) SELECT i, 'x-' || i, hex(zeroblob(500)), 'CA', 1, 3 FROM n`, 1000+targets),
		`INSERT INTO targets (source_id, state, city_id, category_id, population, priority, max_pages, created_at)
		SELECT 1, 'CA', id, 2, 1, 3, 1, 'x' FROM cities WHERE id > 1000`)
}

// TestSlowDownload: a client that takes nothing keeps SQLite from nothing; rows that change in the meantime are there once; and a third
// client is told to come later.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{}, func(s *Server) { s.takeTime = time.Hour })
	b.long(t, 20000)
	first := b.begun(t, "/queue.csv")
	second := b.begun(t, "/queue.csv")
	answer, text := b.ask(t, http.MethodGet, "/queue.csv", nil, "")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(text, "Two downloads are already in progress") {
		t.Errorf("a third download: %d, %v", answer.StatusCode, answer.Header)
	}
	other, err := sql.Open("sqlite", b.DB().Path())
	storetest.NoError(t, err)
	defer other.Close()
	for until, busy := time.Now().Add(time.Minute), 1; busy != 0; {
		storetest.Execute(t, b.DB(), `UPDATE targets SET total_attempts = total_attempts + 1 WHERE id % 10 = 0`)
		var pages, folded int
		storetest.NoError(t, other.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &folded))
		if time.Now().After(until) {
			t.Fatalf("the -wal has %d pages: somebody holds a snapshot", pages)
		}
	}
	if at, err := os.Stat(b.DB().Path() + "-wal"); err != nil || at.Size() != 0 {
		t.Errorf("the -wal: %v, %v", at, err)
	}
	if len(b.downloads) != 2 {
		t.Errorf("%d downloads are under way, want 2 that wait for their clients", len(b.downloads))
	}
	storetest.Execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x' WHERE id % 7 = 0 AND status = 'PLANNED'`)
	rest, err := io.ReadAll(first)
	storetest.NoError(t, err)
	had := map[string]bool{}
	for _, row := range records(t, string(rest))[1:] {
		if had[row[0]] {
			t.Errorf("target %s is there twice", row[0])
		}
		had[row[0]] = true
	}
	if len(had) != 20120 {
		t.Errorf("%d targets, want 20120", len(had))
	}
	b.stop(Ended("the run has ended"))
	if n, err := io.Copy(io.Discard, second); err == nil {
		t.Errorf("a download that was cut off after %d bytes ends as if it were whole", n)
	}
}

// TestCutDownload: whoever speaks HTTP/1.0, as proxies do, sees that a download was cut off, too: there is no length, and an end of the
// connection is the end of the answer.
func TestCutDownload(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{}, func(s *Server) { s.takeTime = time.Hour })
	b.long(t, 20000)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	storetest.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /queue.csv HTTP/1.0\r\nHost: %s\r\n\r\n", strings.TrimPrefix(b.url, "http://"))
	storetest.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1000))
	storetest.NoError(t, err)
	b.stop(nil)
	if n, err := io.Copy(io.Discard, conn); err == nil {
		t.Errorf("the download ends after %d bytes as if it were whole", n)
	}
}

// tight is a listener whose connections hold little that the client has not taken.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4096))
	}
	return conn, err
}

// TestStalledDownload: a download whose client takes nothing for too long ends the same way.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.long(t, 2000)
	s := New(b.cfg)
	s.takeTime = 200 * time.Millisecond
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	storetest.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, tight{l}) }()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	storetest.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /queue.csv HTTP/1.0\r\nHost: %s\r\n\r\n", l.Addr())
	storetest.NoError(t, err)
	_, err = conn.Read(make([]byte, 1000)) // on a slow machine it has ended by now
	if errors.Is(err, io.EOF) {
		t.Errorf("the download ends as if it were whole")
	}
	for range downloadsAtOnce { // the last place is free when the download has ended
		s.downloads <- struct{}{}
	}
	if n, err := io.Copy(io.Discard, conn); err == nil {
		t.Errorf("the download ends after %d bytes as if it were whole", n)
	}
	stop()
	storetest.NoError(t, <-done)
}

// TestLabels: each filter of a form has a name in words.
func TestLabels(t *testing.T) {
	t.Parallel()
	for _, l := range report.Lists {
		for _, f := range narrows(l) {
			if label := l.Label(f); l.Page != "" && (label == "" || !strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ", label[:1])) {
				t.Errorf("%s: the filter %s is called %q", l.Name, f.Name, label)
			}
		}
	}
}
