//go:build packages

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain is the program itself when a test starts it again: to make a release, or to look at the
// image from within.
func TestMain(m *testing.M) {
	switch os.Getenv("RELEASE_TEST") {
	case "release":
		main()
	case "within":
		if err := within(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		code := m.Run()
		if made.dir != "" {
			_ = os.RemoveAll(made.dir)
		}
		os.Exit(code)
	}
}

// must runs a command and returns all that it prints.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// only is the one file of a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	return names[0]
}

// clone makes a clone with the changes that are in no commit, but no new files.
func clone(t *testing.T, dir string) {
	t.Helper()
	must(t, exec.Command("git", "clone", "--quiet", "../..", dir))
	changes, err := exec.Command("git", "-C", "../..", "diff", "HEAD", "--binary").Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		cmd := exec.Command("git", "-C", dir, "apply")
		cmd.Stdin = bytes.NewReader(changes)
		must(t, cmd)
	}
}

// makeAll makes everything for linux/amd64 in a clone, and returns its folder.
func makeAll(t *testing.T, dir, umask string, env ...string) string {
	t.Helper()
	source, out := filepath.Join(dir, "clone"), filepath.Join(dir, "out")
	clone(t, source)
	cmd := exec.Command("sh", "-c", `umask $0; exec "$@"`, umask, os.Args[0], "-source", source, "-out", out, "-what", "release,image", "linux/amd64")
	cmd.Env = append(append(os.Environ(), "RELEASE_TEST=release"), env...)
	must(t, cmd)
	return out
}

// made is the release that all tests look at.
var made struct {
	sync.Once
	dir string
}

func released(t *testing.T) string {
	t.Helper()
	made.Do(func() {
		dir, err := os.MkdirTemp("", "ypcrawl-packages-")
		if err != nil {
			t.Fatal(err)
		}
		made.dir = dir
		makeAll(t, dir, "022")
	})
	return filepath.Join(made.dir, "out")
}

// TestReproducible: another folder, time zone and umask, and the same bytes.
func TestReproducible(t *testing.T) {
	t.Parallel()
	first := released(t)
	second := makeAll(t, t.TempDir(), "077", "TZ=Asia/Kathmandu", "LC_ALL=C.UTF-8", "GOFLAGS=-tags=urfave_cli_no_docs", "SOURCE_DATE_EPOCH=1")
	for folder, want := range map[string]int{"release": 6, "image": 3} {
		entries, err := os.ReadDir(filepath.Join(first, folder))
		if err != nil || len(entries) != want {
			t.Fatalf("%s: %d files, want %d: %v", folder, len(entries), want, err)
		}
		for _, e := range entries {
			a, err := os.ReadFile(filepath.Join(first, folder, e.Name()))
			b, err2 := os.ReadFile(filepath.Join(second, folder, e.Name()))
			if err = errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: built twice, %d and %d bytes differ: %v", e.Name(), len(a), len(b), err)
			}
		}
		cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		cmd.Dir = filepath.Join(first, folder)
		must(t, cmd)
	}
}

// TestContents: the archive's program runs, Alpine's package has what Debian's has, and the list of parts names
// modules with their licences.
func TestContents(t *testing.T) {
	t.Parallel()
	folder, dir := filepath.Join(released(t), "release"), t.TempDir()
	must(t, exec.Command("tar", "-xzf", only(t, filepath.Join(folder, "*.tar.gz")), "-C", dir))
	if out := must(t, exec.Command(only(t, filepath.Join(dir, "*/ypcrawl")), "version")); !strings.HasPrefix(out, "ypcrawl v") {
		t.Error(out)
	}
	var names []string
	for _, list := range []string{"dpkg-deb --fsys-tarfile " + only(t, filepath.Join(folder, "*.deb")) + " | tar -t", "tar -tzf " + only(t, filepath.Join(folder, "*.apk")) + " 2>/dev/null"} {
		var files []string
		for name := range strings.Lines(must(t, exec.Command("sh", "-c", list))) {
			name = strings.TrimPrefix(strings.TrimSpace(name), "./")
			if !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/zsh/") { // another folder
				files = append(files, name)
			}
		}
		if len(files) < 10 || names != nil && !slices.Equal(names, files) {
			t.Errorf("%s: %q, the .deb has %q", list, files, names)
		}
		names = files
	}
	var parts bom
	data, err := os.ReadFile(only(t, filepath.Join(folder, "*.cdx.json")))
	if err = errors.Join(err, json.Unmarshal(data, &parts)); err != nil {
		t.Fatal(err)
	}
	sqlite := slices.IndexFunc(parts.Components, func(c component) bool { return c.Name == "modernc.org/sqlite" })
	if sqlite < 0 || len(parts.Components) < 25 || parts.Components[sqlite].Licenses[0].Expression != "BSD-3-Clause" {
		t.Errorf("list of parts: %s", data)
	}
}

// TestInstall: `go install .` in a clone is all that it takes.
func TestInstall(t *testing.T) {
	t.Parallel()
	released(t)
	bin := t.TempDir()
	cmd := exec.Command("go", "install", ".")
	cmd.Dir, cmd.Env = filepath.Join(made.dir, "clone"), append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-buildvcs=auto") // which is what Go does by itself
	must(t, cmd)
	commit := strings.TrimSpace(must(t, exec.Command("git", "rev-parse", "HEAD")))
	if out := must(t, exec.Command(filepath.Join(bin, "ypcrawl"), "version", "--json")); !strings.Contains(out, commit) {
		t.Errorf("commit %s: %s", commit, out)
	}
}

// TestDebian installs the package into a Debian tree that has nothing else, made by debootstrap from the
// mirror of this machine, and does there what testdata/debian.sh says. It needs root.
func TestDebian(t *testing.T) {
	t.Parallel()
	tree := filepath.Join(t.TempDir(), "tree")
	mirror, release := debian(t)
	began := time.Now()
	must(t, exec.Command("debootstrap", "--variant=minbase", release, tree, mirror))
	t.Logf("a tree of %s in %.0f s", release, time.Since(began).Seconds())
	deb := only(t, filepath.Join(released(t), "release", "*.deb"))
	data, err := os.ReadFile(deb)
	if err == nil {
		err = os.WriteFile(filepath.Join(tree, "ypcrawl.deb"), data, 0o644)
	}
	script, err2 := os.ReadFile("testdata/debian.sh")
	if err = errors.Join(err, err2, os.WriteFile(filepath.Join(tree, "debian.sh"), script, 0o644)); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	for _, part := range []string{"install", "use", "remove"} {
		// The mount of /proc ends with the processes that see it.
		cmd := exec.Command("unshare", "--mount", "sh", "-euc", `mount -t proc proc "$0/proc"; exec chroot "$0" sh -eu /debian.sh "$1"`, tree, part)
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
		if out := must(t, cmd); testing.Verbose() {
			t.Logf("%s:\n%s", part, out)
		}
		if part == "install" {
			units(t, deb)
		}
	}
	t.Logf("installed, used and removed in %.0f s", time.Since(began).Seconds())
}

// units has systemd itself read the units of the package.
func units(t *testing.T, deb string) {
	t.Helper()
	root := t.TempDir()
	must(t, exec.Command("dpkg-deb", "--extract", deb, root))
	for _, unit := range []string{"ypcrawl.service", "ypcrawl.timer"} {
		out := must(t, exec.Command("systemd-analyze", "verify", "--recursive-errors=no", "--root="+root, unit))
		if strings.Contains(out, "ypcrawl") {
			t.Errorf("%s: %s", unit, out)
		}
	}
	if err := os.Remove(filepath.Join(root, "usr/bin/ypcrawl")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--recursive-errors=no", "--root="+root, "ypcrawl.service").CombinedOutput()
	if err == nil {
		t.Errorf("without the program, systemd-analyze finds nothing to complain about: %s", out)
	}
}

// debian is this machine's own mirror, and its release.
func debian(t *testing.T) (mirror, release string) {
	t.Helper()
	release = strings.TrimSpace(must(t, exec.Command("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME")))
	for line := range strings.Lines(must(t, exec.Command("apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)"))) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == release && words[1] == "main" {
			return words[2], release
		}
	}
	t.Fatalf("no source of packages for %s: /etc/apt names none", release)
	return "", ""
}

// TestImage crawls within the root file system of the image, as its user, and sees that zones and roots are there.
func TestImage(t *testing.T) {
	t.Parallel()
	images, root := filepath.Join(released(t), "image"), t.TempDir()
	must(t, exec.Command("tar", "-x", "-p", "--same-owner", "-f", filepath.Join(images, "rootfs_amd64.tar"), "-C", root))
	r := &release{source: "../.."}
	how, err := r.dockerfile()
	if err != nil {
		t.Fatal(err)
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := &exec.Cmd{Path: args[0], Args: args, Dir: how.WorkingDir, Env: append([]string{"TZ=America/Chicago"}, how.Env...)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 10001, Gid: 10001}}
		return cmd
	}
	program := how.Entrypoint[0]
	must(t, inside(program, "run", "--source", "demo", "--states", "WY", "--max-cities", "3", "--quiet"))
	if out := must(t, inside(program, "progress")); !strings.Contains(out, "WY") || !strings.Contains(out, "100") {
		t.Errorf("progress: %s", out)
	}
	for _, part := range []string{`{"version":"v`, `"commit":"`, `"schema":`, `"sqlite":"3.`} {
		if out := must(t, inside(program, "version", "--json")); !strings.Contains(out, part) {
			t.Errorf("version: no %s: %s", part, out)
		}
	}
	self, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "within"), self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := inside("/within")
	cmd.Env = append(cmd.Env, "RELEASE_TEST=within")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("this test within the image (it wants CGO_ENABLED=0, as make packages has it): %v\n%s", err, out)
	}
	loadable(t, only(t, filepath.Join(images, "ypcrawl_*_image_amd64.tar")))
}

// within runs within the image.
func within() error {
	if _, err := os.Stat("/proc"); err == nil {
		return errors.New("this is not the image")
	}
	for _, zone := range []string{"Asia/Kathmandu", "America/Chicago"} {
		if _, err := time.LoadLocation(zone); err != nil {
			return err
		}
	}
	if name, _ := time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local).Zone(); name != "CST" {
		return fmt.Errorf("TZ=America/Chicago is %s", name)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return err
	}
	if n := len(roots.Subjects()); n < 100 { //nolint:staticcheck // complete here: the pool comes from one file
		return fmt.Errorf("only %d CA roots", n)
	}
	return errors.Join(os.WriteFile("/tmp/x", nil, 0o600), os.WriteFile("/data/x", nil, 0o600))
}

// loadable looks whether every blob of an image is there under its own sum.
func loadable(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		data, err2 := io.ReadAll(r)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		found[h.Name] = string(data)
		if sum, blob := strings.CutPrefix(h.Name, "blobs/sha256/"); blob && sum != fmt.Sprintf("%x", sha256.Sum256(data)) {
			t.Errorf("%s has another sum", h.Name)
		}
	}
	for _, file := range []string{"index.json", "manifest.json", "oci-layout"} {
		if found[file] == "" {
			t.Errorf("no %s", file)
		}
		if file != "oci-layout" && !strings.Contains(found[file], "ypcrawl:latest") { // what `docker run ypcrawl` starts
			t.Errorf("%s has no ypcrawl:latest: %s", file, found[file])
		}
	}
	for blob := range found {
		if sum, ok := strings.CutPrefix(blob, "blobs/sha256/"); ok && !strings.Contains(found["index.json"]+found["manifest.json"], sum) {
			t.Errorf("nothing names %s", blob)
		}
	}
}
