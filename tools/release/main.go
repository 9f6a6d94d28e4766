// Command release makes the files that a version is published as, and the image.
//
//	go -C tools run ./release linux/amd64 linux/arm/7     dist/release: archives, packages, lists of parts, SHA256SUMS
//	go -C tools run ./release -image linux/amd64          dist/image: the root file system, and what `docker load` takes
//
// Version and time come from the commit, by what Go writes into a binary. Two builds of one commit have equal bytes, wherever,
// by whom and when they are made: names are sorted, owners and times fixed, and the Go version is that of go.mod.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

var everywhere = []string{"linux/amd64", "linux/arm64", "linux/arm/7", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	source := flag.String("source", "..", "`FOLDER` of the clone")
	out := flag.String("out", "../dist", "`FOLDER` of what is made")
	image := flag.Bool("image", false, "make the image instead, of linux/amd64 unless others are named")
	flag.Parse()
	platforms := flag.Args()
	if len(platforms) == 0 {
		if platforms = everywhere; *image {
			platforms = everywhere[:1]
		}
	}
	if err := run(*source, *out, *image, platforms); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out string, image bool, platforms []string) (err error) {
	r := &release{files: map[string][]byte{}, built: map[platform]binary{}}
	if r.source, err = filepath.Abs(source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	for _, name := range platforms {
		p, err := parsePlatform(name)
		if err != nil {
			return err
		}
		b, err := r.build(p)
		if err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
		if image {
			err = r.image(b)
		} else {
			err = errors.Join(r.archive(b), r.parts(b), r.packages(b))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	folder := "release"
	if image {
		folder = "image"
	}
	return r.write(filepath.Join(r.out, folder))
}

// release is what is made of one commit.
type release struct {
	source, out string
	built       map[platform]binary
	files       map[string][]byte // by name
}

// file is a file of an archive, of an image, or on the way into a package.
type file struct {
	name  string // with slashes; one that ends in a slash is a folder
	mode  int64
	data  []byte
	owner int // user and group; 0 = root
}

// platform is what a binary runs on.
type platform struct{ os, arch, arm string }

func parsePlatform(name string) (platform, error) {
	parts := strings.Split(name+"/", "/")
	if !slices.Contains(everywhere, name) {
		return platform{}, fmt.Errorf("%q: want one of %s", name, strings.Join(everywhere, ", "))
	}
	return platform{parts[0], parts[1], parts[2]}, nil
}

// String is the end of a file's name: linux_armv7.
func (p platform) String() string {
	if p.arm != "" {
		return p.os + "_" + p.arch + "v" + p.arm
	}
	return p.os + "_" + p.arch
}

// binary is the program for a platform, and what it says of itself.
type binary struct {
	platform
	path    string
	data    []byte
	info    *buildinfo.BuildInfo
	version string // without the v
	time    time.Time
	commit  string
}

// build builds the program as it is released: stripped, without paths of this machine, with its commit.
func (r *release) build(p platform) (b binary, err error) {
	if b, ok := r.built[p]; ok {
		return b, nil
	}
	b = binary{platform: p, path: filepath.Join(r.out, p.String(), "ypcrawl")}
	if p.os == "windows" {
		b.path += ".exe"
	}
	toolchain, err := r.command(nil, "go", "list", "-m", "-f", "go{{.GoVersion}}")
	if err != nil {
		return b, err
	}
	env := []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOARM=" + p.arm, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOTOOLCHAIN=" + strings.TrimSpace(toolchain),
	}
	if _, err = r.command(env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", b.path, "."); err != nil {
		return b, err
	}
	if b.data, err = os.ReadFile(b.path); err != nil {
		return b, err
	}
	if b.info, err = buildinfo.Read(bytes.NewReader(b.data)); err != nil {
		return b, err
	}
	b.version = strings.TrimPrefix(b.info.Main.Version, "v")
	for _, s := range b.info.Settings {
		switch s.Key {
		case "vcs.time":
			b.time, err = time.Parse(time.RFC3339, s.Value)
		case "vcs.revision":
			b.commit = s.Value
		}
	}
	if err == nil && b.commit == "" {
		err = errors.New("the program does not know its commit: build a release from a clone by `git clone`, not from another worktree")
	}
	if err == nil {
		r.built[p] = b
	}
	return b, err
}

// command runs a command in the clone and returns what it prints.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = r.source, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// read reads files of the clone, each under the name that stands before its path.
func (r *release) read(names ...string) (files []file, err error) {
	for i := 0; i+1 < len(names); i += 2 {
		data, err := os.ReadFile(filepath.Join(r.source, names[i+1]))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: names[i], mode: 0o644, data: data})
	}
	return files, nil
}

// write replaces a folder by what was made, with the sums of its files.
func (r *release) write(folder string) error {
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	var sums []string
	for name, data := range r.files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	for _, line := range sums {
		fmt.Print(line)
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

// host is the program for this machine, to ask it something.
func (r *release) host() (binary, error) {
	p := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	if p.arch == "arm" {
		p.arm = "7"
	}
	return r.build(p)
}
