package directories

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// TestGolden: the golden pages are those that the directories make. What is read of them stands beside them, and is tested where
// pages are read.
func TestGolden(t *testing.T) {
	root := filepath.Join("..", "..", "testdata")
	for _, d := range All() {
		text, err := os.ReadFile(filepath.Join(root, "directories", d.Name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		base := regexp.MustCompile(`(?m)^base_url: (.*)$`).FindSubmatch(text)[1]
		folder := filepath.Join(root, "pages", "directories", d.Name)
		for _, p := range d.Golden(string(base)) {
			for name, want := range map[string]string{p.File: p.Body, p.Name + ".asked": string(p.Asked())} {
				file := filepath.Join(folder, name)
				if *update {
					if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(file, []byte(want), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("%s is another page (-update writes it anew; -want +got):\n%s", file, diff)
				}
			}
		}
	}
}
