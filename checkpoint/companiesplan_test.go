package checkpoint

import (
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestCompanyPlans: to look at one company reads no table from end to end.
func TestCompanyPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	whole := regexp.MustCompile(`(?m)SCAN (c|l|d|m|companies|listings|company_keys|company_merges|company_apart)$`)
	for name, c := range map[string]struct{ query, want string }{
		"show":     {showCompany, "listings_by_company (company_id=?)"},
		"listings": {companyListings, "listings_by_company (company_id=?)"},
		"merges":   {companyMerges, "company_merges_by_kept (kept=?)"},
		"apart":    {apartFrom, "company_apart_by_b"},
	} {
		plan := strings.Join(explain(t, db.Read(), c.query, []any{1}), "\n")
		if found := whole.FindString(plan); found != "" || !strings.Contains(plan, c.want) {
			t.Errorf("%s: %s; want %s in\n%s", name, found, c.want, plan)
		}
	}
}
