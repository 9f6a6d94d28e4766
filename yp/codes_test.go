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
// schema.sql that name them.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	enums := map[string][]string{
		"status":          texts(Statuses()),
		"last_error_code": texts(ErrorCodes()[1:]), // no target ends with a last error SUCCESS
		"error_code":      texts(ErrorCodes()),
		"error_class":     texts(ErrorClasses()),
	}
	checks := regexp.MustCompile(`CHECK \((\w+) IN\s*\(([^)]*)\)`).FindAllStringSubmatch(string(schema), -1)
	compared := 0
	for _, check := range checks {
		want, ok := enums[check[1]]
		if !ok {
			continue
		}
		compared++
		var got []string
		for value := range strings.SplitSeq(check[2], ",") {
			got = append(got, strings.Trim(value, " '\n\t"))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: schema.sql has %v, yp has %v", check[1], got, want)
		}
	}
	if compared < 2 {
		t.Errorf("compared %d constraints: schema.sql has moved away from this test", compared)
	}
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
