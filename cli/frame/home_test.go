package frame

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ypcrawl/store/storetest"
)

// The home folder and the current one are the process's: no parallel tests.
func TestAtHome(t *testing.T) {
	home := t.TempDir()
	setHome := func(dir string) {
		for _, name := range []string{"HOME", "USERPROFILE"} { // on Unix, on Windows
			t.Setenv(name, dir)
		}
	}
	setHome(home)
	t.Chdir(t.TempDir())
	storetest.NoError(t, os.MkdirAll("~", 0o700))
	for _, name := range []string{"~/old.db", "~/both.db", filepath.Join(home, "both.db")} {
		storetest.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	for path, want := range map[string]string{
		"": "", "-": "-", "y.db": "y.db", "./~/y.db": "./~/y.db", "a/~/y.db": "a/~/y.db", "~y.db": "~y.db", "~bob/y.db": "~bob/y.db",
		"~/y.db": filepath.Join(home, "y.db"), "~//a/../y.db": filepath.Join(home, "y.db"), "~": home, "~/": home,
		"~/both.db": filepath.Join(home, "both.db"),
	} {
		if got, err := atHome(path, true); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", path, got, err, want)
		}
	}
	wantErr := func(path string, lasting bool, want string) {
		t.Helper()
		if got, err := atHome(path, lasting); err == nil || err.Error() != want {
			t.Errorf("%q: got %q, %v, want %s", path, got, err, want)
		}
	}
	wantErr("~/old.db", true, fmt.Sprintf("~/old.db: there is no %s, but there is .%[2]c~/old.db, in a folder called ~; move it to the home folder, or write .%[2]c~/old.db",
		filepath.Join(home, "old.db"), filepath.Separator))
	if got, err := atHome("~/old.db", false); got != filepath.Join(home, "old.db") || err != nil {
		t.Errorf("a file that is made anew each time: %q, %v", got, err)
	}
	setHome("")
	_, none := os.UserHomeDir()
	for _, lasting := range []bool{true, false} {
		wantErr("~/y.db", lasting, "~/y.db: "+none.Error()+", so it is not known which folder ~ is; write the whole path")
	}
}
