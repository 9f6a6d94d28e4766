package yp

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseErrorCode(t *testing.T) {
	t.Parallel()
	for _, c := range ErrorCodes() {
		if got, err := ParseErrorCode(strings.ToLower(string(c))); got != c || err != nil {
			t.Errorf("ParseErrorCode(%q) = %q, %v", c, got, err)
		}
	}
	if _, err := ParseErrorCode("http_403"); err == nil || !strings.Contains(err.Error(), "RATE_LIMITED") {
		t.Errorf("an error class is taken for a code: %v", err)
	}
}

// TestSchema compares the enumerations with the CHECK constraints of
// schema.sql on the columns that hold them.
func TestSchema(t *testing.T) {
	t.Parallel()
	checks := schemaChecks(t)
	failures := texts(ErrorCodes()[1:]) // no target ends with a last error SUCCESS
	for column, want := range map[string][]string{
		"targets.status":                    texts(Statuses()),
		"targets.last_error_code":           failures,
		"crawl_attempts.error_code":         texts(ErrorCodes()),
		"requests.error_class":              texts(ErrorClasses()),
		"requests.type":                     texts(RequestTypes()),
		"connectivity_profiles.error_class": texts(ErrorClasses()),
	} {
		got := checks[column]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: schema.sql has %v, yp has %v", column, got, want)
		}
	}
}

// schemaChecks reads the values of every CHECK (column IN (…)), by table.column.
func schemaChecks(t *testing.T) map[string][]string {
	t.Helper()
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	table, check := regexp.MustCompile(`(?m)^CREATE TABLE (\w+) \(`), regexp.MustCompile(`CHECK \((\w+) IN\s*\(([^)]*)\)`)
	out := map[string][]string{}
	starts := append(table.FindAllStringSubmatchIndex(string(schema), -1), []int{len(schema)})
	for i := range len(starts) - 1 {
		name, body := string(schema[starts[i][2]:starts[i][3]]), string(schema[starts[i][0]:starts[i+1][0]])
		for _, m := range check.FindAllStringSubmatch(body, -1) {
			for value := range strings.SplitSeq(m[2], ",") {
				out[name+"."+m[1]] = append(out[name+"."+m[1]], strings.Trim(value, " '\n\t"))
			}
		}
	}
	return out
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
