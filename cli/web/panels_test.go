package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// troubled has the file show something in every panel: failures, dead letters, a host that is
// slowed down, and what is to be reviewed, all with hostile texts.
func (b *served) troubled(t *testing.T) {
	t.Helper()
	storetest.NoError(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{Memory: 50e6, CPU: 1500 * time.Millisecond}))
	const evil = `<script>alert(1)</script>`
	storetest.Execute(t, b.DB(),
		`UPDATE targets SET status = 'FAILED', backoff_level = 2, consecutive_failures = 4, last_error_code = 'TIMEOUT', last_error = '`+evil+`',
			finished_at = '`+storetest.Ago(time.Hour)+`', wait_reason = 'backoff', not_before = '`+storetest.Ahead(3*time.Hour)+`' WHERE id = 9`,
		`UPDATE targets SET status = 'PARKED', last_error_code = 'NO_LISTINGS', last_error = '`+evil+`', finished_at = '`+storetest.Ago(time.Hour)+`' WHERE id IN (10, 11)`,
		`UPDATE targets SET status = 'DONE', last_error_code = 'NO_LISTINGS', last_error = 'the page says "nothing found"', finished_at = '`+storetest.Ago(time.Hour)+`' WHERE id = 12`,
		`UPDATE targets SET paused = 1 WHERE id = 12`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, error_message, metadata)
			VALUES (9, 90, 1, '`+yp.WorkerID(0, 1)+`', 1, 0, '`+storetest.Ago(2*time.Hour)+`', '`+storetest.Ago(time.Hour)+`', 'failed', 'TIMEOUT', '`+evil+`', '{"steps":[{"at":"x","event":"`+evil+`"}]}')`,
		`INSERT INTO requests (source_id, target_id, claim_token, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms)
			VALUES (1, 9, 90, 'c', 'listing', 'http://h/`+evil+`', '`+storetest.Ago(time.Minute)+`', '`+storetest.Ago(time.Minute)+`', 'failure', 'http_403', 5)`,
		`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, updated_at) VALUES (1, '`+evil+`', 3000, '`+evil+`', 2, '`+storetest.Ahead(time.Hour)+`', '`+evil+`', 'x')`,
		`INSERT INTO listing_events (at, kind, source_id, listing, company_id) SELECT '`+storetest.Ago(49*time.Hour)+`', x.value, l.source_id, l.id, l.company_id
			FROM listings l, json_each('["dropped", "restored", "dropped"]') x WHERE x.key < l.id + 1`, // a came back, b was dropped again
		`INSERT INTO listing_events (at, kind, source_id, listing_id, what) VALUES ('`+storetest.Ago(24*time.Hour)+`', 'rejected', 1, 'c', '{"reasons":["`+evil+`"]}')`)
}

// TestPanels: each view shows what it is about, with hostile texts as text; words and ids that
// mean nothing are answered by what to do.
func TestPanels(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Command: "ypcrawl --db t.db"})
	b.troubled(t)
	const escaped = `&lt;script&gt;alert(1)&lt;/script&gt;`
	for path, c := range map[string]page{
		"/queue":                             {200, []string{`<a id="target-9" href="/targets/9">`, "IN_PROGRESS", "FAILED", "TIMEOUT", `<time datetime="`, `<select id="by-status" name="status">`, `href="/queue?after=`, `<label for="by-states">States</label>`, `list="values-states"`, `<option value="TX">Texas</option>`}},
		"/queue?status=PARKED":               {200, []string{`href="/targets/10"`, `href="/targets/11"`, "<option selected>PARKED</option>", "Clear filters"}},
		"/queue?status=parked&error=timeout": {200, []string{"No target matches."}},
		"/queue?error=TIMEOUT":               {200, []string{`href="/targets/9"`, "<option selected>TIMEOUT</option>"}},
		"/queue?error=no_listings":           {200, []string{`href="/targets/10"`, `href="/targets/12"`, "<option selected>NO_LISTINGS</option>"}},
		"/queue?states=texas&status=IN_PROGRESS&kind=search": {200, []string{"IN_PROGRESS", `value="texas"`}},
		"/queue?states=NV":               {200, []string{"No target matches."}},
		"/queue?kind=x":                  {404, []string{"This filter can&#39;t be used: unknown kind", "without filters"}},
		"/queue?status=x":                {404, []string{"This filter can&#39;t be used"}},
		"/queue?error=%3Cscript%3E":      {404, []string{"&lt;script", "This filter can&#39;t be used"}},
		"/queue?states=nowhere":          {404, []string{"This filter can&#39;t be used"}},
		"/targets/9":                     {200, []string{escaped, "sent GET http://h/", "Attempt 1", "it is retried then after 4 failures in a row", "by amber (", "`ypcrawl --db t.db targets enable 9`", `<details class="card attempt"`}},
		"/targets/20":                    {200, []string{"It has never been crawled."}},
		"/targets/999":                   {404, []string{"no target", "ypcrawl --db t.db targets list"}},
		"/targets/x":                     {404, []string{"There is no target", "Choose one in the queue"}},
		"/targets/99999999999999999999":  {404, []string{"There is no target"}},
		"/workers":                       {200, []string{"Run 1", "amber", `class="node running"`, "50 MB of memory, 1.5 s of processor time", `<table`, "Plumbers"}},
		"/errors":                        {200, []string{"TIMEOUT", `href="/queue?error=TIMEOUT"`}},
		"/attempts":                      {200, []string{"TIMEOUT", escaped, `href="/targets/9"`}},
		"/sources":                       {200, []string{"demo", "held", escaped}},
		"/hosts":                         {200, []string{escaped, "3.0 s"}},
		"/waits":                         {200, []string{"backoff", "paused"}},
		"/runs":                          {200, []string{"running"}},
		"/coverage":                      {200, []string{"City 0", "5.0%"}},
		"/companies":                     {200, []string{"A " + escaped}},
		"/changes":                       {200, []string{"rejected", escaped, "restored"}},
		"/changes?kind=dropped":          {200, []string{"dropped", "<option selected>dropped</option>"}},
		"/changes?kind=dropped&since=7d": {200, []string{`name="since" value="7d"`, ">B</td>", "A " + escaped}},
		"/changes?kind=dropped&since=7d&lasting=yes": {200, []string{`name="lasting" value="yes" checked`, ">B</td>"}},
		"/changes?kind=dropped&since=48h":            {200, []string{"No change matches."}},
		"/changes?since=2020-01-01":                  {200, []string{"rejected"}},
		"/changes?since=9999w":                       {200, []string{"rejected"}},
		"/changes?since=99999999999999999999d":       {404, []string{"want an age like 36h, 7d or 2w, or a date like 2026-11-20"}},
		"/changes?since=%3Cscript%3E":                {404, []string{"want an age"}},
		"/listings":                                  {200, []string{"<option selected>open</option>", "A " + escaped, `\u202e`}},
		"/listings?status=dropped":                   {200, []string{"No listing matches.", "<option selected>dropped</option>"}},
		"/listings?status=Restored":                  {200, []string{"A " + escaped, "<option selected>restored</option>"}},
		"/listings?search=nothing":                   {200, []string{"No listing matches."}},
		"/rejected":                                  {200, []string{"Nothing here yet."}},
		"/listings?status=closed":                    {404, []string{"unknown status", "without filters"}},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			text := b.answers(t, path, c)
			if c.status == http.StatusOK && !strings.Contains(text, `<p class="banner alarm"><strong>1 closed, 1 restored, 1 rejected</strong> in the last 7 days · <a id="closings" href="/changes?kind=dropped&amp;lasting=yes&amp;since=7d">`) {
				t.Error("the banner is missing")
			}
		})
	}
}

// TestEveryView: every view has what its templates need. What it says, TestPanels and the others show.
func TestEveryView(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.troubled(t)
	for _, v := range New(b.cfg).views {
		b.answers(t, strings.NewReplacer("{$}", "", "/companies/{id}", "/companies/1", "{source}/{id}", "demo/a", "{source}", "demo?id=b",
			"{id}", "9", "{state}", "CA").Replace(v.Path), page{http.StatusOK, nil})
	}
}

// shows compares what a path says now, with nothing cached, with what it must and must not say.
func (b *served) shows(t *testing.T, path string, wants, never []string) {
	t.Helper()
	answer := httptest.NewRecorder()
	New(b.cfg).mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	compare(t, path, answer.Body.String(), wants, never)
}

// TestTrouble: the page says how fast it goes, how much fails and why it waits; what is in trouble
// bears a sign.
func TestTrouble(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.shows(t, "/", []string{`class="sentence working"`, "0.00 pages/s in the last 5 minutes", "no requests in the last hour"}, []string{`troubled"`, "in trouble"})
	b.shows(t, "/queue", nil, []string{`class="failed"`})
	request := func(at time.Duration, n int, outcome, class string) string {
		return fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, result_count)
			SELECT 1, 'c', 'listing', 'http://h/', '%s', '%[2]s', '%s', %s, 5, 1 FROM n`, n, storetest.Ago(at), outcome, class)
	}
	storetest.Execute(t, b.DB(), `UPDATE runs SET started_at = '`+storetest.Ago(2*time.Hour)+`'`,
		request(30*time.Minute, 20, "success", "NULL"), request(time.Minute, 18, "success", "NULL"), request(time.Minute, 9, "failure", "'http_429'"))
	b.shows(t, "/", []string{`class="sentence troubled"`, "0.06 pages/s in the last 5 minutes", `class="bad">9 of 47 requests failed in the last hour (19.1%)`}, nil)
	b.shows(t, "/queue", []string{`class="sentence troubled"`}, nil)
	storetest.Execute(t, b.DB(), `DELETE FROM requests`)
	b.shows(t, "/", []string{`class="sentence working"`}, nil)
	for name, c := range map[string]struct {
		statement string
		wants     []string
	}{
		"slowed": {
			`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, updated_at) VALUES (1, 'h', 5700, 'slowed down: 9 of the last 20 requests failed', 'x')`,
			[]string{"<li>h is slowed down to one request every 5.7 s (9 of the last 20 requests failed)</li>"},
		},
		"failed": {
			`UPDATE targets SET status = 'FAILED', backoff_level = 2, consecutive_failures = 4, last_error_code = 'TIMEOUT', finished_at = 'x', wait_reason = 'backoff', not_before = '` + storetest.Ahead(time.Hour) + `' WHERE id = 9`,
			[]string{"<li>1 search failed; first retry at ", `<span class="label">of 60 searches done</span> <span class="label">1 in trouble</span>`, `<span class="alarm" aria-hidden="true">!</span></a>`},
		},
		"parked": {`UPDATE targets SET status = 'PARKED', last_error_code = 'NO_LISTINGS', finished_at = 'x' WHERE id IN (10, 11)`, []string{"2 given up (counted as finished)"}},
	} {
		storetest.Execute(t, b.DB(), c.statement)
		b.shows(t, "/", append(c.wants, `class="sentence troubled"`), nil)
		if name == "failed" {
			b.shows(t, "/states", []string{`<td class="n bad"><span class="alarm" aria-hidden="true">!</span> 1</td>`}, nil)
			b.shows(t, "/queue?status=FAILED", []string{`<td class="failed"><span class="sign" aria-hidden="true">✗</span>FAILED</td>`}, nil)
		}
		storetest.Execute(t, b.DB(), `DELETE FROM hosts`, `UPDATE targets SET status = 'PLANNED', backoff_level = 0, consecutive_failures = 0, last_error_code = NULL, finished_at = NULL, wait_reason = NULL, not_before = NULL WHERE id IN (9, 10, 11)`)
	}
	storetest.Execute(t, b.DB(), `UPDATE targets SET paused = 1 WHERE id IN (7, 8)`)
	b.shows(t, "/", []string{`class="sentence working"`, "<li>2 searches paused</li>"}, nil)
}

// TestPaces: the overview says how often hosts are asked that were asked a moment ago, and why not more often.
func TestPaces(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	asked := func(host string, ms int, why string, ahead time.Duration) {
		storetest.Execute(t, b.DB(), fmt.Sprintf(`INSERT INTO host_paces VALUES (1, '%s', %d, '%s')`, host, ms, why),
			fmt.Sprintf(`INSERT INTO host_turns VALUES ('%s', '%s', %d)`, host, storetest.Ahead(ahead), ms))
	}
	asked("a", 75_000, "Crawl-delay of <robots.txt>", time.Minute)
	asked("b", 1500, "delay between requests", -time.Second)
	asked("c", 9000, "delay between requests", -time.Hour) // it is not asked any more
	storetest.Execute(t, b.DB(), `INSERT INTO host_turns VALUES ('d', '`+storetest.Ahead(time.Second)+`', 2000)`,
		`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, updated_at) VALUES (1, 'b', 3000, 'slowed down', 'x')`)
	b.shows(t, "/", []string{
		`<li class="dim">a: one request every 75 s (Crawl-delay of &lt;robots.txt&gt;)</li>`, `<li class="dim">d: one request every 2 s</li>`, "<li>b is slowed down to one request every 3.0 s</li>",
	}, []string{"b: one request", "c: one request"})
	for i := range 6 {
		asked(fmt.Sprint("m", i), 1000+i, "delay between requests", time.Minute)
	}
	b.shows(t, "/", []string{`<li class="dim">m3: one request every 1.003 s (delay between requests)</li>`, "3 more hosts: see `ypcrawl hosts list`</li>"}, []string{"m2: one request"})
	storetest.Execute(t, b.DB(), `UPDATE runs SET outcome = 'done', finished_at = heartbeat_at`)
	b.shows(t, "/", nil, []string{": one request every"})
}

// TestStages: while indexes are read they have a bar, and each kind of target its row of counts; searches alone need none.
func TestStages(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.shows(t, "/", nil, []string{"State indexes", "Work by stage"})
	storetest.Execute(t, b.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, created_at) VALUES
		(1, 'index', 'CA', 0, 0, 3, 'x'), (1, 'index', 'TX', 0, 0, 3, 'x'), (1, 'index', 'NV', 0, 0, 3, 'x'), (1, 'index', 'WY', 0, 0, 3, 'x')`)
	b.shows(t, "/", []string{`State indexes</span> <span class="bar-count">0 of 4</span>`, "0 pages read", `<th scope="row">search</th><td class="n">120</td>`, `class="sentence working"`}, nil)
	storetest.Execute(t, b.DB(), `UPDATE targets SET status = 'DONE', page_current = 3, finished_at = 'x' WHERE kind = 'index' AND state = 'CA'`,
		`UPDATE targets SET status = 'FAILED', page_current = 1, backoff_level = 1, last_error_code = 'TIMEOUT', finished_at = 'x', wait_reason = 'backoff', not_before = '`+storetest.Ahead(time.Hour)+`' WHERE kind = 'index' AND state = 'TX'`,
		`UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', finished_at = 'x' WHERE kind = 'index' AND state = 'NV'`)
	b.shows(t, "/", []string{
		`<span class="bar-count">2 of 4</span>`, `4 pages read · 1 given up (counted as finished) · <span class="bad">1 failed or stuck</span>`,
		`<th scope="row">index</th><td class="n">4</td><td class="n">1</td><td class="n">0</td><td class="n">1</td><td class="n">1</td><td class="n">1</td><td class="n">4</td>`,
		`<th scope="row">detail</th><td class="n">0</td>`, `class="sentence troubled"`,
	}, nil)
	storetest.Execute(t, b.DB(), `UPDATE targets SET retired_at = 'x' WHERE kind = 'search'`)
	b.shows(t, "/", []string{"State indexes", "4 pages read · time left: "}, []string{"Searches</span>", "0 of 0"})
	storetest.Execute(t, b.DB(), `UPDATE targets SET retired_at = NULL WHERE kind = 'search'`)
	storetest.Execute(t, b.DB(), `UPDATE targets SET status = 'DONE', page_current = 3, backoff_level = 0, last_error_code = NULL, finished_at = 'x', wait_reason = NULL, not_before = NULL WHERE kind = 'index'`)
	b.shows(t, "/", []string{`<th scope="row">index</th><td class="n">4</td><td class="n">0</td><td class="n">0</td><td class="n">4</td><td class="n">12</td>`}, []string{"State indexes"})
}

// TestNothingLeft: where all is done, no bar asks how many pages are left.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.shows(t, "/", []string{"Pages of results", "pages left: unknown"}, nil)
	storetest.Execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', claimed_by = NULL, run_id = NULL, claimed_at = NULL, heartbeat_at = NULL`)
	b.shows(t, "/", []string{"120 of 120", "nothing is due right now"}, []string{"unknown</p>", "Pages of results"})
}

// TestSpokes: every worker that is drawn is inside of the picture, and no two on each other.
func TestSpokes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 5, 8, 9, 16, spokes, spokes + 6} {
		m := &hub{}
		for i := range n {
			m.Workers = append(m.Workers, spoke{Name: yp.WorkerText(yp.WorkerID(i, 1)), State: "running"})
		}
		m.draw()
		if len(m.Workers) != min(n, spokes) || m.More != max(0, n-spokes) || m.Sum != strconv.Itoa(n)+" running" {
			t.Errorf("%d workers: %d drawn, %d more: %s", n, len(m.Workers), m.More, m.Sum)
		}
		for i, p := range m.Workers {
			if p.X < 8 || p.X > m.Width-8 || p.Y < 8 || p.Y > m.Height-8 || p.TY < 12 || p.TY+15 > m.Height-2 {
				t.Errorf("%d workers: %s is outside of %d x %d: %+v", n, p.Name, m.Width, m.Height, p)
			}
			for _, o := range m.Workers[:i] {
				if dx, dy := p.X-o.X, p.Y-o.Y; dx*dx+dy*dy < 18*18 {
					t.Errorf("%d workers: %s is upon %s", n, p.Name, o.Name)
				}
			}
		}
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	p := 12.6
	for _, c := range []struct {
		in   any
		want string
	}{
		{0.0, "0%"}, {0.04, "0.0%"}, {3.14, "3.1%"}, {12.6, "12.6%"}, {14.96, "15.0%"}, {99.96, "99.9%"}, {99.999, "99.9%"}, {100.0, "100%"}, {&p, "12.6%"}, {(*float64)(nil), "unknown"},
	} {
		if got := percent(c.in); got != c.want {
			t.Errorf("%v is %q, want %q", c.in, got, c.want)
		}
	}
}

// TestTiles: every state is on the map, once.
func TestTiles(t *testing.T) {
	t.Parallel()
	m := mapHead(report.StateMeasures[0])
	m.addTiles(report.KnownStates{yp.StatesOf("US")}, &report.Table{}, time.Now())
	at := map[string]string{}
	for _, tile := range m.Tiles {
		place := strconv.Itoa(tile.Column) + "/" + strconv.Itoa(tile.Row)
		if at[place] != "" || tile.Column > 11 || tile.Row > 7 {
			t.Errorf("%s and %s are at %s", tile.Code, at[place], place)
		}
		at[place] = tile.Code
	}
	if len(m.Tiles) != 51 || len(at) != 51 {
		t.Errorf("%d states at %d places", len(m.Tiles), len(at))
	}
}

// TestTemplatesKeepThePolicy: it allows neither inline styles nor handlers, nor what comes from
// elsewhere, so no template may have one.
func TestTemplatesKeepThePolicy(t *testing.T) {
	t.Parallel()
	names, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		text, err := templateFiles.ReadFile("templates/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{" style=", " onclick=", " onload=", "javascript:", "http://", "https://", "<style", "<script>"} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s has %q", n.Name(), never)
			}
		}
	}
}

// TestRankedStates: the states of another country are a list, the highest first; the map of the USA is there where a source is of it.
func TestRankedStates(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Command: "ypcrawl"})
	id, err := b.Register(t.Context(), checkpoint.NewSource{
		Name: "de", BaseURL: "http://de.test", Country: "DE", States: []yp.State{{Code: "BY", Name: "Bayern"}, {Code: "Berg & Tal", Name: "Berg & Tal"}},
	})
	storetest.NoError(t, err)
	_, err = b.Plan(t.Context(), checkpoint.Plan{SourceID: id, Categories: []yp.Category{{Slug: "klempner", Name: "Klempner"}}, Cities: []yp.City{
		{Slug: "muenchen", Name: "München", State: "BY", Tier: 1, Country: "DE"}, {Slug: "hof", Name: "Hof", State: "Berg & Tal", Tier: 1, Country: "DE"},
	}})
	storetest.NoError(t, err)
	storetest.Execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x' WHERE state = 'Berg & Tal'`)
	text := b.answers(t, "/", page{200, []string{
		`id="tile-TX"`, "States of DE", `id="tile-DE-BY" href="/states/BY?country=DE"`, `href="/states/Berg%20&amp;%20Tal?country=DE"`, "</a> Bayern <span", "0% of 1 search done", "100% of 1 search done",
	}})
	if strings.Index(text, "tile-DE-Berg") > strings.Index(text, "tile-DE-BY") {
		t.Error("100% done is behind 0%")
	}
	b.answers(t, "/states/BY", page{200, []string{"Bayern", "Klempner"}})
	b.answers(t, "/states/Berg%20&%20Tal", page{200, []string{"Berg &amp; Tal", "Klempner"}})
	b.answers(t, "/states/BY?country=DE", page{200, []string{"Bayern", "Klempner"}})
	b.answers(t, "/states/TX?country=DE", page{200, []string{"Nothing is planned there"}})
	b.answers(t, "/queue?states=bayern", page{200, []string{"München, BY"}})
	b.answers(t, "/states", page{200, []string{`<option value="BY">Bayern</option>`, `<option value="TX">Texas</option>`}})
}
