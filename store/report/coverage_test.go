package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// covered is a database of 16 targets: ids 1 to 7 were crawled, 8 is about to be
// crawled again, 9 is retired, the rest never were.
func covered(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 4, "CA", "TX")
	set := func(id int, what string) string { return fmt.Sprintf(`UPDATE targets SET %s WHERE id = %d`, what, id) }
	const done, end = `status = 'DONE', finished_at = '2026-11-20T12:00:00.000Z', `, `complete_at = '2026-11-20T12:00:00.000Z', `
	execute(t, b.DB(),
		set(1, done+`page_current = 3, raw_count = 90, next_page_url = '/n', site_total = 1108`),
		set(2, done+end+`page_current = 2, raw_count = 40, bad_count = 2, site_total = 42`),
		set(3, done+end+`page_current = 2, raw_count = 50, site_total = 42`), // ads: more than it says
		set(4, done+`page_current = 1, raw_count = 30, next_page_url = '/n'`),
		set(5, `page_current = 1, raw_count = 30, next_page_url = '/n', site_total = 60`),
		set(6, done+end+`site_total = 0`),
		set(7, done+`page_current = 1, raw_count = 30, next_page_url = '/n', site_total = 300`),
		set(8, end+`last_success_at = '2026-11-20T12:00:00.000Z'`),
		set(9, done+`page_current = 1, retired_at = 'x', raw_count = 1, site_total = 999`))
	return b
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	b := covered(t)
	for name, c := range map[string]struct {
		values map[string]any
		limit  int
		want   string
	}{
		"thinnest first, unknown ones last": {nil, 0, "1 7 5 2 3 4 6"},
		"limit":                             {nil, 2, "1 7"},
		"all":                               {map[string]any{"all": true}, 0, "1 7 5 2 3 4 6 8 10 11 12 13 14 15 16"},
		"a category":                        {map[string]any{"categories": []string{"dentists"}}, 0, "2 4 6"},
		"a state":                           {map[string]any{"states": []string{"TX"}}, 0, "7 3 4"},
	} {
		if got := listed(t, b.Reader, "coverage", report.Choice{Values: c.values, Columns: []string{"id"}, Limit: c.limit}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	got := listed(t, b.Reader, "coverage", report.Choice{Columns: strings.Fields("id state seen site_total percent pages_left complete_at")})
	const want = "1|CA|90|1108|8.1|34|<nil> 7|TX|30|300|10|9|<nil> 5|CA|30|60|50|0|<nil> 2|CA|40|42|95.2|0|x 3|TX|50|42|100|0|x 4|TX|30|<nil>|<nil>|1|<nil> 6|CA|0|0|<nil>|0|x"
	if got = regexp.MustCompile(`20\d\d-[^ |]*`).ReplaceAllString(got, "x"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCoverageTotals(t *testing.T) {
	t.Parallel()
	b := covered(t)
	got, err := b.CoverageTotals(t.Context(), store.Scope{})
	share := 100 * 232.0 / 1552
	want := report.CoverageTotals{
		Targets: 7, Again: 1, AgainWhole: 1, NeverCrawled: 7, Complete: 4, Known: 6, SiteTotal: 1552, SeenOfKnown: 90 + 40 + 42 + 30 + 30, Seen: 270, Percent: &share, PagesLeft: 44,
		NoTotal: 1, Untold: 8, Unread: report.Unread{Targets: 12, MaxPages: 3, Begun: 1, Again: 1, Never: 7, Ends: []report.EndCount{}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	none, err := b.CoverageTotals(t.Context(), store.Scope{SourceID: 9})
	if diff := cmp.Diff(report.CoverageTotals{Unread: report.Unread{Ends: []report.EndCount{}}}, none); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestCoverageShare: the page says the same as the commands, by fewer sums.
func TestCoverageShare(t *testing.T) {
	t.Parallel()
	b := covered(t)
	for _, scope := range []store.Scope{{}, {SourceID: b.scope.SourceID, States: []string{"CA"}}, {States: []string{"TX"}}, {SourceID: 9}} {
		all, err := b.CoverageTotals(t.Context(), scope)
		noErr(t, err)
		want := report.CoverageShare{SiteTotal: all.SiteTotal, SeenOfKnown: all.SeenOfKnown, Percent: all.Percent, PagesLeft: all.PagesLeft}
		if all.Percent == nil {
			want.Text = all.Text()
		}
		o, err := b.Overview(t.Context(), scope)
		if diff := cmp.Diff(want, o.Coverage); err != nil || diff != "" {
			t.Error(scope, err, diff)
		}
	}
}

// TestCoverageLine: one line, which says what is not known, and of a site that no page was read of
// nothing.
func TestCoverageLine(t *testing.T) {
	t.Parallel()
	share := func(x float64) *float64 { return &x }
	unread := func(n int64) report.Unread { return report.Unread{Targets: n, MaxPages: n - 2, Failed: 2} }
	for want, totals := range map[string]report.CoverageTotals{
		"No page read yet (this selection).":                                                                                                              {NeverCrawled: 5, Untold: 5, Unread: unread(5)},
		"100.0% of the site's listings seen (this selection).":                                                                                            {Targets: 4, Known: 4, Percent: share(100)},
		"100.0% of the site's listings seen in 1 of 1,000 searches (this selection).":                                                                     {Targets: 1, Again: 999, AgainWhole: 999, Percent: share(100)},
		"None of the site's listings seen again yet (this selection); 4 of 4 searches not fully read: 2 limited by --max-pages, 2 failed.":                {Again: 4, AgainWhole: 4, Unread: unread(4)},
		"Every page that the site offers was read, but the site does not say how many listings it has (this selection).":                                  {Targets: 4, NoTotal: 4},
		"The site does not say how many listings it has (this selection); 3 of 4 searches not fully read: 1 limited by --max-pages, 2 failed.":            {Targets: 4, NoTotal: 4, Untold: 4, Unread: unread(3)},
		"32.0% of the site's listings seen in 43 of 52 searches (this selection); 51 of 52 searches not fully read: 49 limited by --max-pages, 2 failed.": {Targets: 40, NeverCrawled: 9, Again: 3, Percent: share(32), PagesLeft: 2400, Untold: 9, Unread: unread(51)},
	} {
		if got := totals.Line("this selection"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestCoverageOfFailures: a target of which no page was read does not apply to its site.
func TestCoverageOfFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	execute(t, b.DB(), `UPDATE targets SET status = 'PARKED', last_error_code = 'AUTH_FAILED', finished_at = created_at`)
	got, err := b.CoverageTotals(t.Context(), store.Scope{})
	if noErr(t, err); got.Targets+got.NoTotal != 0 || got.NeverCrawled != got.Unread.Failed || got.Line("it") != "No page read yet (it)." {
		t.Errorf("%+v: %s", got, got.Line("it"))
	}
}
