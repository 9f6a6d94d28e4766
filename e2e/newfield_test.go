package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newField is what a field of a listing takes that a new one is: by file, texts of which
// the second comes behind the first.
var newField = map[string][][2]string{
	"yp/listing.go": {
		{"	Sponsored       bool     `json:\"sponsored,omitempty\"`         // an ad, not an organic result\n", "	Slogan string `json:\"slogan,omitempty\"`\n"},
		{"At: func(l *Listing) any { return &l.Sponsored }},\n", "	{Name: \"slogan\", Uses: Defined | Counted | Watched, At: func(l *Listing) any { return &l.Slogan }},\n"},
	},
	"schema.sql":                        {{"CHECK (backfilled IS NULL OR json_valid(backfilled)), -- {\"rating\": time}\n", "    slogan TEXT,\n"}, {"l.price_range, l.snippet,", " l.slogan,"}},
	"store/report/listings.go":          {{"domain service_area price_range", " slogan"}},
	"crawl/site/yellowpages.yaml":       {{"  price_range:\n    - .price-range\n", "  slogan:\n    - .slogan\n"}},
	"testdata/pages/modern.html":        {{`<div class="price-range">$$</div>`, `<div class="slogan">We never sleep</div>`}},
	"testdata/pages/modern.golden.json": {{"\"claimed\": true", ",\n      \"slogan\": \"We never sleep\""}},
}

// newFiles are the files that it takes: the check, below.
func newFiles(t *testing.T) map[string]string {
	t.Helper()
	text := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return map[string]string{
		"crawl/newfield/newfield_test.go": text("testdata/newfield/check.go.txt"),
	}
}

// TestNewField adds a field to the listings in a copy of the module, and looks there
// whether all that treats fields alike has it: definition, parser, log, table, upsert,
// changes, fingerprint, rules, layout alarm and export. Beside the check itself the field takes
// the table of fields, schema.sql, a word in the columns of exports, a definition, and a
// golden page with what is expected of it.
func TestNewField(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "^TestNewField$" {
		t.Skip("builds a copy of the module, as a step of CI: run it alone, with -run '^TestNewField$'")
	}
	dir := folderOfCopy(t)
	copyModule(t, dir)
	for file, text := range newFiles(t) {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, []byte(text))
	}
	for file, edits := range newField {
		path := filepath.Join(dir, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if !bytes.Contains(text, []byte(e[0])) {
				t.Fatalf("%s: %q is not there", file, e[0])
			}
			text = bytes.Replace(text, []byte(e[0]), []byte(e[0]+e[1]), 1)
		}
		writeText(t, path, text)
	}
	args := []string{
		"test", "-vet=off", "-run", "TestNewField|TestListingFields|TestListingAsEncodingJSON|TestListingColumns|TestSteps|TestGoldenPages/modern",
		"./crawl/newfield", "./yp", "./wal", "./store", "./store/report", "./crawl/site",
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s in the copy: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func writeText(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// folderOfCopy makes a folder whose name is the same every time: the build cache goes by it.
func folderOfCopy(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ypcrawl-newfield-%08x", crc32.ChecksumIEEE([]byte(here))))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return t.TempDir() // another run has it, or one that was killed has left it
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// copyModule copies what a build and its tests read.
func copyModule(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") || slices.Contains([]string{"docs", "tools", "logs", "dist"}, name) || strings.HasSuffix(name, ".db"):
		case e.IsDir():
			err = errors.Join(err, os.CopyFS(to, os.DirFS(name)))
		case e.Type().IsRegular():
			text, readErr := os.ReadFile(name)
			err = errors.Join(err, readErr, os.WriteFile(to, text, 0o600))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
