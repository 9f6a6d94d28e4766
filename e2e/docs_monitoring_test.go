//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store/storetest"
)

// TestNagiosExample: what docs/monitoring.md has Nagios run is what its example lets sudo run, as the owner of the database, who
// gets an answer; another user can't read the file, and hears UNKNOWN.
func TestNagiosExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/monitoring.md")
	storetest.NoError(t, err)
	asked := regexp.MustCompile(`command_line +/usr/bin/sudo -n -u (\w+) (.+)`).FindStringSubmatch(string(text))
	granted := regexp.MustCompile(`(?m)^nagios ALL=\((\w+)\) NOPASSWD: (.+)$`).FindStringSubmatch(string(text))
	if asked == nil || granted == nil {
		t.Fatal("the example is not there")
	}
	storetest.Same(t, "sudo is asked for what it does not grant", asked[1:], granted[1:])
	args := strings.Fields(asked[2])
	storetest.Equal(t, args[0], "/usr/local/bin/ypcrawl")

	const owner, monitor = 65533, 65534
	o := newOthers(t)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/srv/crawl", o.dir)
	}
	if code, out := o.run(t, owner, "--db", args[2], "run", "--source", "demo", "--states", "DC", "--max-cities", "1", "--categories", "Plumbers", "--max-pages", "1", "--delay", "0", "--linger", "0"); code != 0 {
		t.Fatalf("the crawl: exit code %d\n%s", code, out)
	}
	if code, out := o.run(t, owner, args[1:]...); code != 0 || !strings.HasPrefix(out, "YPCRAWL OK - ") {
		t.Errorf("the owner: exit code %d\n%s", code, out)
	}
	if os.Geteuid() != 0 {
		return // there is nobody else to be
	}
	if code, out := o.run(t, monitor, args[1:]...); code != 3 || !strings.HasPrefix(out, "YPCRAWL UNKNOWN - ") {
		t.Errorf("another user: exit code %d\n%s", code, out)
	}
}

// others runs the program as other users where the test is root's, else as its own.
type others struct {
	dir     string // anybody's, as /tmp is
	program string
	schema  string
}

func newOthers(t *testing.T) *others {
	t.Helper()
	top, err := os.MkdirTemp("", "ypcrawl-users-")
	storetest.NoError(t, err)
	t.Cleanup(func() { storetest.NoError(t, os.RemoveAll(top)) })
	o := &others{filepath.Join(top, "work"), filepath.Join(top, "ypcrawl"), filepath.Join(top, "schema.sql")}
	self, err := os.ReadFile(os.Args[0])
	storetest.NoError(t, err)
	syscall.ForkLock.RLock() // a process that another test starts meanwhile would have it open for writing
	err = os.WriteFile(o.program, self, 0o600)
	syscall.ForkLock.RUnlock()
	storetest.NoError(t, err)
	storetest.NoError(t, errors.Join(os.WriteFile(o.schema, []byte(schema), 0o600), os.Mkdir(o.dir, 0o700),
		os.Chmod(top, 0o755), os.Chmod(o.program, 0o755), os.Chmod(o.schema, 0o644), os.Chmod(o.dir, 0o777|os.ModeSticky)))
	return o
}

// run returns the exit code and all that was written.
func (o *others) run(t *testing.T, user uint32, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), o.program, args...)
	cmd.Dir, cmd.Env = o.dir, append(os.Environ(), asMain+"=main", fmt.Sprintf("%s=%s", schemaFile, o.schema), "HOME="+o.dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	return exitCode(t, cmd.Run()), both.String()
}
