package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// shared is a folder that other users may see, with the program in it and a database of its owner.
type shared struct {
	t       *testing.T
	dir     string // of the database
	program string
}

const (
	ownerID = 4101 // the crawl's user and their group
	groupID = 4102 // a user of that group
)

func newShared(t *testing.T) *shared {
	t.Helper()
	if os.Geteuid() != 0 {
		without(t, "no root, who is needed to be other users")
	}
	top, err := os.MkdirTemp("", "ypcrawl-look-") // that of the test has a folder of root's above it
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	s := &shared{t: t, dir: filepath.Join(top, "data"), program: filepath.Join(top, "ypcrawl")}
	storetest.NoError(t, errors.Join(os.Chmod(top, 0o755), os.Mkdir(s.dir, 0o750), os.Chown(s.dir, ownerID, ownerID)))
	for name, of := range map[string]string{s.program: os.Args[0], filepath.Join(top, "schema.sql"): os.Getenv(schemaFile)} {
		data, err := os.ReadFile(of)
		storetest.NoError(t, err)
		syscall.ForkLock.RLock() // a process that another test starts meanwhile would have it open for writing
		err = os.WriteFile(name, data, 0o755)
		syscall.ForkLock.RUnlock()
		storetest.NoError(t, err)
	}
	return s
}

// as is ypcrawl on the database in a folder, started by a user of the owner's group; 0 = root.
func (s *shared) as(user uint32, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, append([]string{"--db", filepath.Join(dir, "y.db")}, args...)...)
	cmd.Dir = filepath.Dir(s.program)
	cmd.Env = append(os.Environ(), asMain+"=main", schemaFile+"="+filepath.Join(cmd.Dir, "schema.sql"), "HOME="+cmd.Dir)
	if user > 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: ownerID}}
	}
	return cmd
}

// says is what a command of a user prints, with its exit code in front.
func (s *shared) says(user uint32, dir string, args ...string) string {
	cmd := s.as(user, dir, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(cmd.ProcessState.ExitCode(), " ", strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n  "))
}

// crawl starts a run of a user that waits after its first page, and returns it when it is seen to work.
func (s *shared) crawl(user uint32) *exec.Cmd {
	s.t.Helper()
	cmd := s.as(user, s.dir, "run", "--source", "demo", "--states", "CA", "--delay", "10m", "--workers", "1", "--quiet")
	storetest.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for until := time.Now().Add(30 * time.Second); !strings.Contains(s.says(0, s.dir, "status", "--check"), "A run is crawling demo with 1 worker"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("no run: %s", s.says(0, s.dir, "status", "--check"))
		}
	}
	return cmd
}

// hang stops a run, and lets its last heartbeat be so old.
func (s *shared) hang(run *exec.Cmd, age time.Duration) {
	s.t.Helper()
	storetest.NoError(s.t, run.Process.Signal(syscall.SIGSTOP))
	db, err := store.Open(s.t.Context(), store.Config{Path: filepath.Join(s.dir, "y.db"), Schema: schema})
	storetest.NoError(s.t, err)
	storetest.Execute(s.t, db, fmt.Sprintf(`UPDATE runs SET heartbeat_at = strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '-%d seconds') WHERE outcome = 'running'`, int(age.Seconds())))
	storetest.NoError(s.t, db.Close())
}

// readOnly is the folder once more, on a mount that nobody may write.
func (s *shared) readOnly() string {
	s.t.Helper()
	dir := s.dir + "-ro"
	storetest.NoError(s.t, os.Mkdir(dir, 0o755))
	if err := syscall.Mount(s.dir, dir, "", syscall.MS_BIND, ""); err != nil {
		without(s.t, "no mounts: "+err.Error())
	}
	s.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	storetest.NoError(s.t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	return dir
}

// looks compares the answers of a user with how the check must begin and what others must say.
func (s *shared) looks(who string, user uint32, dir, check string, has []string) {
	s.t.Helper()
	if got := s.says(user, dir, "status", "--check"); !strings.HasPrefix(got, check) {
		s.t.Errorf("%s: --check: %s\nwant %s", who, got, check)
	}
	all := ""
	for _, args := range [][]string{{"status"}, {"progress"}, {"doctor"}, {"runs", "list"}, {"workers"}, {"progress", "--json"}} {
		all += fmt.Sprintf("%s: %s\n", strings.Join(args, " "), s.says(user, dir, args...))
	}
	for _, text := range has {
		if !strings.Contains(all, text) {
			s.t.Errorf("%s: no %q in\n%s", who, text, all)
		}
	}
	for _, text := range []string{"No run is active", "the process of a run died", "y.db recover"} {
		if strings.Contains(all, text) {
			s.t.Errorf("%s: %q in\n%s", who, text, all)
		}
	}
}

// TestLook: a run that lives is seen to live by whoever may read the database, one that hangs is judged alike by every
// path to it, and whoever can't tell says so.
func TestLook(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	run := s.crawl(ownerID)
	ro := s.readOnly()
	locks := filepath.Join(s.dir, "y.db.locks")
	mode := func(ofLocks os.FileMode, ofFiles string) {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(s.dir, "y.db*"))
		storetest.NoError(t, err)
		for _, path := range all {
			storetest.NoError(t, os.Chmod(path, map[bool]os.FileMode{true: ofLocks, false: 0o640}[path == locks]))
		}
		out, err := exec.Command("chmod", "-R", ofFiles, locks).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := exec.Command("chmod", "-R", "g+rX", filepath.Join(s.dir, "logs")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mode(0o700, "g-rwx")
	alive := []string{"running", `"live_runs":1,"unknown_runs":0`, "a run is active"}
	for who, l := range map[string]struct {
		user uint32
		dir  string
	}{"root": {0, s.dir}, "the owner": {ownerID, s.dir}, "root on the mount": {0, ro}, "the owner on the mount": {ownerID, ro}, "the group": {groupID, s.dir}, "the group on the mount": {groupID, ro}} {
		s.looks(who, l.user, l.dir, "0 YPCRAWL OK - A run is crawling demo with 1 worker", alive)
	}
	s.hang(run, 195*time.Second)
	hangs := "2 YPCRAWL CRITICAL - the run of process"
	alive[0] = "silent"
	for _, dir := range []string{s.dir, ro} {
		s.looks("hangs, the owner in "+dir, ownerID, dir, hangs, alive)
		s.looks("hangs, root in "+dir, 0, dir, hangs, alive)
		s.looks("hangs, the group in "+dir, groupID, dir, "3 YPCRAWL UNKNOWN - the run of process", []string{"unknown", `"live_runs":0`, `"unknown_runs":1`, "may be active"})
	}
	mode(0o750, "g+rX")
	for _, dir := range []string{s.dir, ro} {
		s.looks("hangs, the group that may read the lock in "+dir, groupID, dir, hangs, alive)
	}
	storetest.NoError(t, run.Process.Kill())
	_ = run.Wait()
	for _, dir := range []string{s.dir, ro} {
		if got := s.says(groupID, dir, "doctor"); !strings.Contains(got, "the process of a run died") {
			t.Errorf("after the kill, in %s: %s", dir, got)
		}
	}
}

// TestLookBesideRoot: the owner of a database sees root's run on it live, and takes nothing from it when it is silent.
func TestLookBesideRoot(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	if got := s.says(ownerID, s.dir, "proxies", "add", "http://127.0.0.1:9"); !strings.HasPrefix(got, "0 ") {
		t.Fatal(got)
	}
	run := s.crawl(0)
	if out, err := exec.Command("chown", "-R", fmt.Sprint(ownerID), filepath.Join(s.dir, "logs")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	locks, err := filepath.Glob(filepath.Join(s.dir, "y.db.locks", "*.lock"))
	storetest.NoError(t, err)
	for _, lock := range locks { // as a folder of root's would leave them
		storetest.NoError(t, errors.Join(os.Chown(lock, 0, 0), os.Chmod(lock, 0o600)))
	}
	s.looks("the owner", ownerID, s.dir, "0 YPCRAWL OK - A run is crawling demo with 1 worker", []string{"running", "a run is active"})
	s.hang(run, 195*time.Second)
	s.looks("the owner, when it hangs", ownerID, s.dir, "3 YPCRAWL UNKNOWN - the run of process", []string{"unknown", "a run may be dead"})
	if got := s.says(ownerID, s.dir, "recover"); !strings.HasPrefix(got, "0 ") || !strings.Contains(got, "0 targets recovered, 1 run left alone: its process may still be alive") {
		t.Errorf("recover: %s", got)
	}
}

// TestCheckUnread: a verdict that nobody gets is unknown, whatever it is.
func TestCheckUnread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := command(dir, nil, "proxies", "add", "http://127.0.0.1:9")
	storetest.NoError(t, made.Run())
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	storetest.NoError(t, err)
	defer full.Close()
	left, pipe, err := os.Pipe()
	storetest.NoError(t, err)
	storetest.NoError(t, left.Close())
	defer pipe.Close()
	for _, args := range [][]string{{"status", "--check"}, {"status", "--check", "--json"}, {"--db", "none.db", "status", "--check"}, {"status", "--check", "--nosuch"}} {
		for name, out := range map[string]*os.File{"a full disk": full, "a reader that has left": pipe} {
			cmd := command(dir, nil, args...)
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = out, &said
			_ = cmd.Run() // its code tells
			if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(said.String(), "can't be written: ") {
				t.Errorf("%s to %s: code %d (%s), it says %s", strings.Join(args, " "), name, code, cmd.ProcessState, said.String())
			}
		}
	}
}
