package schedule

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// analyze runs systemd-analyze (Debian: apt-get install systemd).
func analyze(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("systemd-analyze", args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// installed writes the units of a job whose program is there, under a name that has to be quoted.
func installed(t *testing.T, change func(*Job)) (dir string) {
	t.Helper()
	j := job()
	j.System, j.User, j.Mail = true, "daemon", "me@example.org"
	change(&j)
	j.Folder = filepath.Join(t.TempDir(), `a b%c$d"e'f`)
	program := filepath.Join(t.TempDir(), "a b%c$d", "yp crawl")
	for _, dir := range []string{j.Folder, filepath.Dir(program)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	j.Crawl = []string{program, "run", "--fail-above", "10%", "--user-agent", `me $HOME "x" it's`}
	j.After = [][]string{{program, "export", "-o", "{date}.csv"}, {program, "export", "-o", "b c.csv"}}
	j.Writes = []string{j.Folder}
	files, err := j.Systemd()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestVerify: systemd itself reads the units without a complaint, and finds the program.
func TestVerify(t *testing.T) {
	t.Parallel()
	weekly, _ := Weekly([]string{"SUN", "WED", "22:05"})
	hours, _ := Every(6 * time.Hour)
	minutes, _ := Every(15 * time.Minute)
	for name, when := range map[string]When{"system": job().When, "user": weekly, "system hours": hours, "user minutes": minutes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			system := strings.HasPrefix(name, "system")
			dir := installed(t, func(j *Job) {
				j.When = when
				if j.System = system; !system {
					j.User = ""
				}
			})
			args := []string{"verify", "--recursive-errors=no"}
			if !system {
				args = append(args, "--user")
			}
			for _, unit := range UnitNames("yp") {
				args = append(args, filepath.Join(dir, unit))
			}
			if out := analyze(t, args...); strings.Contains(out, dir) || strings.Contains(out, "yp") {
				t.Errorf("%s", out)
			}
		})
	}
}

// TestVerifyComplains: the test above can fail.
func TestVerifyComplains(t *testing.T) {
	t.Parallel()
	dir := installed(t, func(*Job) {})
	unit := filepath.Join(dir, "yp.service")
	data, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"%%c", "Type=notify", "[Service]"} {
		bad := strings.ReplaceAll(string(data), from, "x")
		if err := os.WriteFile(unit, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--recursive-errors=no", unit).CombinedOutput(); err == nil && !strings.Contains(string(out), "yp.service") {
			t.Errorf("without %s: %s", from, out)
		}
	}
}

// TestSecurity: what systemd thinks of a unit of the system, 0 (safe) to 10. The network and a
// user of its own are what a crawler has beyond a program that is shut off.
func TestSecurity(t *testing.T) {
	t.Parallel()
	dir := installed(t, func(*Job) {})
	for _, unit := range []string{"yp.service", "yp-export.service"} {
		analyze(t, "security", "--offline=true", "--threshold=20", "--no-pager", filepath.Join(dir, unit))
	}
}
