package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"ypcrawl/yp/folder"
)

func TestSync(t *testing.T) {
	t.Parallel()
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := folder.Sync(dir); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the working folder", func(t *testing.T) {
		t.Parallel()
		if err := folder.Sync("."); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a file system that syncs no folders", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("without /proc")
		}
		if err := folder.Sync("/proc/self"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a folder that isn't there", func(t *testing.T) {
		t.Parallel()
		if err := folder.Sync(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	})
}
