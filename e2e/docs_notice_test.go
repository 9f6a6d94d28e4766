package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// Every module that is linked into the program is in NOTICE with a licence, and
// nothing is there that go.mod does not know.
func TestNotice(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("list linked modules: %v", err)
	}
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	linked = slices.Compact(linked)
	notice, err := os.ReadFile("NOTICE")
	storetest.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	storetest.NoError(t, err)
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][^ ]*/[^ ]*) \((?:MIT|BSD-[23]-Clause|MIT and Apache-2\.0|Apache-2\.0)\)\n    Copyright `).FindAllStringSubmatch(string(notice), -1) {
		named[m[1]] = true
		if !strings.Contains(string(mod), "\t"+m[1]+" v") {
			t.Errorf("NOTICE names %s, which go.mod does not", m[1])
		}
	}
	for _, m := range linked {
		if !named[m] {
			t.Errorf("%s is linked into the program: NOTICE must name it with its licence and its copyright", m)
		}
	}
	if len(linked) < 20 {
		t.Errorf("only %d modules are linked", len(linked))
	}
}
