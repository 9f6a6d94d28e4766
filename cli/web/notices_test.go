package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// notices are what an overview lists below its sentence.
func (b *served) notices(t *testing.T) (list, page string) {
	t.Helper()
	answer := httptest.NewRecorder()
	New(b.cfg).mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	page = answer.Body.String()
	_, list, _ = strings.Cut(page, `<ul class="closed">`)
	list, _, _ = strings.Cut(list, "</ul>")
	return strings.TrimSpace(list), page
}

// TestToldOnce: what the sentence says is in no list below it, and nothing is called crawled while everything waits.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	if _, page := b.notices(t); !strings.Contains(page, "being crawled now") || strings.Contains(page, "searches failed, stuck or given up") {
		t.Errorf("a state is crawled, and none is in trouble: %s", page)
	}
	storetest.Execute(t, b.DB(),
		`INSERT INTO hosts (source_id, host, blocks, held_until, held_for, updated_at) VALUES (1, 'h', 2, '`+storetest.Ahead(3600e9)+`', 'penalty', 'x')`,
		`UPDATE targets SET consecutive_failures = 1, last_error_code = 'TIMEOUT', wait_reason = 'backoff', not_before = '`+storetest.Ahead(60e9)+`' WHERE id = 9`)
	list, page := b.notices(t)
	if list != "" || !strings.Contains(page, `class="sentence waiting"`) || strings.Contains(page, "being crawled now") {
		t.Errorf("while everything waits, %q is listed in %s", list, page)
	}
	storetest.Execute(t, b.DB(), `DELETE FROM hosts`, `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no names'`)
	if list, page = b.notices(t); list != "<li>To go on: <code>ypcrawl sources enable demo</code></li>" || strings.Count(page, "no names") != 1 {
		t.Errorf("of a paused source, %q is listed in %s", list, page)
	}
	storetest.Execute(t, b.DB(), `UPDATE runs SET outcome = 'blocked', finished_at = heartbeat_at`, `UPDATE targets SET wait_reason = NULL, not_before = NULL WHERE id = 9`)
	if list, page = b.notices(t); strings.Count(list, "<li>") != 1 || !strings.Contains(list, "<strong>demo</strong> is paused") || strings.Count(page, "no names") != 1 {
		t.Errorf("without a run, %q is listed in %s", list, page)
	}
}

// TestFewStates: up to eight states are shown alone, named and in full; of more there is the map of all, whose key has what is on it.
func TestFewStates(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	_, page := b.notices(t)
	compare(t, "/", page, []string{`<ol class="few"`, `<span class="code">California</span> <span class="number">0%</span> <span class="label">of 60 searches done</span>`}, []string{"tile-AK", `class="tiles"`, `class="legend"`})
	add := `INSERT INTO target_totals (source_id, kind, state, status, targets) SELECT 1, 'search', value, 'PLANNED', 5 FROM json_each(`
	storetest.Execute(t, b.DB(), add+`'["AL","AK","AZ","AR","CO","CT"]')`)
	_, page = b.notices(t)
	compare(t, "/", page, []string{`<ol class="few"`, `id="tile-AK"`}, []string{"tile-NY"})
	storetest.Execute(t, b.DB(), add+`'["NY"]')`)
	_, page = b.notices(t)
	compare(t, "/", page, []string{`class="tiles"`, "Alabama: 0% of 5 searches done", "Delaware: nothing planned", "not planned</li>", "0–19%", "being crawled now</li>", ">NY</span>"}, []string{`class="few"`, "given up</li>"})
}

// TestMoments: a time in a cell has UTC for who has no script, and what the script needs; the zone is in the head.
func TestMoments(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	storetest.Execute(t, b.DB(), `UPDATE listings SET last_seen_at = '2026-03-08T23:59:58.123Z'`)
	b.answers(t, "/listings", page{http.StatusOK, []string{
		`<time datetime="2026-03-08T23:59:58.123Z" title="2026-03-08 23:59:58 UTC">2026-03-08 23:59:58</time>`, `>last seen</a> <span class="zone">UTC</span></th>`,
	}})
	b.answers(t, "/targets/1", page{http.StatusOK, []string{`<dt>created <span class="zone">UTC</span></dt>`}})
}

func TestUnbroken(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"since 2026-11-29 06:58 UTC, <b>": `since <span class="flag">2026-11-29 06:58 UTC</span>, &lt;b&gt;`,
		"at 06:58:01 UTC: by --max-pages": `at <span class="flag">06:58:01 UTC</span>: by <span class="flag">--max-pages</span>`,
		"nothing of it":                   "nothing of it",
	} {
		storetest.Equal(t, string(unbroken(in)), want, in)
	}
}

func TestCoded(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"To start: `ypcrawl run <b>`.": "To start: <code>ypcrawl run &lt;b&gt;</code>.",
		"a `lone one":                  "a `lone one",
		"`a`, <script>`b`":             "<code>a</code>, &lt;script&gt;<code>b</code>",
		"":                             "",
	} {
		storetest.Equal(t, string(coded(in)), want, in)
	}
}
