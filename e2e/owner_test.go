//go:build unix

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store/storetest"
)

// The user whose folder it is, and one who has nothing to do with it. The system need not know them.
const (
	owner    = 4321
	stranger = 4323
)

// household is a folder of a user's in which root, its owner and a stranger type commands.
type household struct {
	t       *testing.T
	dir     string
	program string
}

func newHousehold(t *testing.T) *household {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can work as other users")
	}
	top, err := os.MkdirTemp("", "ypcrawl-owner-") // t.TempDir lets only root in
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	h := &household{t: t, dir: filepath.Join(top, "home"), program: filepath.Join(top, "ypcrawl")}
	self, err := os.ReadFile(os.Args[0])
	storetest.NoError(t, err)
	syscall.ForkLock.RLock() // a process that another test starts meanwhile would have it open for writing
	err = os.WriteFile(h.program, self, 0o755)
	syscall.ForkLock.RUnlock()
	storetest.NoError(t, err)
	for _, err := range []error{
		os.WriteFile(filepath.Join(top, "schema.sql"), []byte(schema), 0o644), os.Mkdir(h.dir, 0o755), os.Chown(h.dir, owner, owner), os.Chmod(top, 0o755),
	} {
		storetest.NoError(t, err)
	}
	return h
}

// as types a command as a user.
func (h *household) as(uid uint32, args ...string) (out string, code int) {
	h.t.Helper()
	return h.by("", uid, args...)
}

// by types a command as a user who was called by another one, as sudo does it; "" = by nobody.
func (h *household) by(caller string, uid uint32, args ...string) (out string, code int) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), h.program, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{asMain + "=main", schemaFile + "=" + filepath.Join(filepath.Dir(h.program), "schema.sql"), "HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	if caller != "" {
		cmd.Env = append(cmd.Env, "SUDO_UID="+caller)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// must types a command that works.
func (h *household) must(uid uint32, args ...string) string {
	h.t.Helper()
	out, code := h.as(uid, args...)
	if code != 0 {
		h.t.Errorf("user %d: %q ends with %d:\n%s", uid, args, code, out)
	}
	return out
}

// others are the files in the folder that don't belong to its owner.
func (h *household) others() (names []string) {
	h.t.Helper()
	storetest.NoError(h.t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		storetest.NoError(h.t, err)
		info, err := d.Info()
		storetest.NoError(h.t, err)
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != owner || stat.Gid != owner {
			names = append(names, fmt.Sprintf("%s of %d:%d", path, stat.Uid, stat.Gid))
		}
		return nil
	}))
	return names
}

// all types one command of each kind that writes.
func (h *household) all(uid uint32, targets string) {
	h.t.Helper()
	h.must(uid, "run", "--source", "demo", "--states", "VT", "--max-cities", targets, "--categories", "Plumbers", "--delay", "0", "--linger", "0", "--quiet", "--keep-pages", "3")
	h.must(uid, "wal", "compress")
	h.must(uid, "backup", "copies.db", "--overwrite")
	h.must(uid, "export", "-o", "out.csv", "--overwrite", "--as", "customer", "--since", "last-export")
	h.must(uid, "status", "--metrics-file", "metrics.prom")
	h.must(uid, "--db", "rebuilt.db", "wal", "replay", "logs/yp_wal")
	h.must(uid, "doctor")
	h.must(uid, "status", "--check")
	h.must(uid, "listings", "list", "--limit", "1")
	h.must(uid, "reparse")
}

// TestRootInUsersFolder: commands of root and of a folder's owner take turns; each works, and all files stay the owner's.
func TestRootInUsersFolder(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]uint32{"the owner begins": owner, "root begins": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t)
			h.all(first, "1")
			storetest.NoError(t, os.Chmod(filepath.Join(h.dir, "out.csv"), 0o640))
			for i, uid := range []uint32{0, owner, 0, owner} {
				h.all(uid, fmt.Sprint(i+2))
				if others := h.others(); len(others) > 0 {
					t.Fatalf("after the commands of user %d: %s", uid, strings.Join(others, "\n"))
				}
			}
			info, err := os.Stat(filepath.Join(h.dir, "out.csv"))
			if err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			h.must(0, "restore", "copies.db", "--yes")
			if others := h.others(); len(others) > 0 {
				t.Errorf("after root's restore: %s", strings.Join(others, "\n"))
			}
			h.all(owner, "6")
		})
	}
}

// TestUnreadable: what its user may not read is never said not to be there: which file it is, and whose.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	h.all(owner, "2")
	copied := filepath.Join(filepath.Dir(h.dir), "copied")
	for name, c := range map[string]struct {
		denied string              // is made a stranger's
		told   map[string][]string // command: what it says
	}{
		"logs": {"logs/yp_wal/*.zst", map[string][]string{
			"doctor":                             {"bad   logs  ", "can't be read", ".jsonl.zst belongs to user 4323, with mode 0600", "sudo chown -R 4321 logs/yp_wal"},
			"status --check":                     {"YPCRAWL WARNING - the logs can't be read", "belongs to user 4323"},
			"backup new.db":                      {"can't be read", "belongs to user 4323"},
			"--db new.db wal replay logs/yp_wal": {"can't be read", "belongs to user 4323"},
			"wal read":                           {"can't be read", "belongs to user 4323"},
			"wal compress":                       nil, // there is nothing to do
		}},
		"log folder": {"logs/yp_wal", map[string][]string{
			"doctor":                             {"bad   logs  ", "can't be read", "logs/yp_wal belongs to user 4323, with mode 0700", "sudo chown -R 4321 logs/yp_wal"},
			"status --check":                     {"YPCRAWL WARNING - the logs can't be read", "logs/yp_wal belongs to user 4323"},
			"backup new.db":                      {"can't be read", "logs/yp_wal belongs to user 4323"},
			"wal read":                           {"logs/yp_wal belongs to user 4323"},
			"wal compress":                       {"logs/yp_wal belongs to user 4323"},
			"--db new.db wal replay logs/yp_wal": {"logs/yp_wal belongs to user 4323"},
			"run --source demo --states VT --max-cities 1": {"logs/yp_wal belongs to user 4323"},
		}},
		"folder above": {"logs", map[string][]string{
			"doctor":         {"bad   log folder", "logs belongs to user 4323, with mode 0700"},
			"status --check": {"YPCRAWL WARNING - the logs can't be read", "logs belongs to user 4323"},
			"backup new.db":  {"can't be read", "logs belongs to user 4323"},
			"wal read":       {"logs belongs to user 4323"},
		}},
		"database": {"ypcrawl.db", map[string][]string{
			"doctor":                  {"bad   database", "ypcrawl.db belongs to user 4323, with mode 0600", "sudo chown 4321 ypcrawl.db"},
			"status --check":          {"YPCRAWL UNKNOWN - ", "can't be read", "ypcrawl.db belongs to user 4323"},
			"status":                  {"can't be read", "ypcrawl.db belongs to user 4323"},
			"backup new.db":           {"can't be read", "ypcrawl.db belongs to user 4323"},
			"export -o new.csv":       {"can't be read", "ypcrawl.db belongs to user 4323"},
			"recover":                 {"can't be written", "ypcrawl.db belongs to user 4323"},
			"restore copies.db --yes": {"belongs to user 4323"},
		}},
		"lock file":  {"ypcrawl.db.locks/run.lock", map[string][]string{"run --source demo --states VT --max-cities 1": {"run.lock belongs to user 4323"}}},
		"kept pages": {"ypcrawl.db.pages", map[string][]string{"reparse": {"ypcrawl.db.pages belongs to user 4323"}}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.NoError(t, os.RemoveAll(copied))
			storetest.NoError(t, os.CopyFS(copied, os.DirFS(h.dir)))
			at := &household{t: t, dir: copied, program: h.program}
			at.chown(".", owner)
			denied, err := filepath.Glob(filepath.Join(copied, c.denied))
			if err != nil || len(denied) == 0 {
				t.Fatal(denied, err)
			}
			for _, path := range denied {
				storetest.NoError(t, os.Chown(path, stranger, stranger))
			}
			for command, told := range c.told {
				out, code := at.as(owner, strings.Fields(command)...)
				missing := slices.DeleteFunc(slices.Clone(told), func(text string) bool { return strings.Contains(out, text) })
				if (code == 0) != (told == nil) || len(missing) > 0 {
					t.Errorf("%s ends with %d and does not say %q:\n%s", command, code, missing, out)
				}
				for _, untrue := range []string{"no logs", "nothing to replay", "no pages", "damaged", "missing or empty"} {
					if strings.Contains(out, untrue) {
						t.Errorf("%s says %q:\n%s", command, untrue, out)
					}
				}
			}
		})
	}
}

// chown gives all that is below a path to a user, with the modes of a crawl.
func (h *household) chown(path string, uid int) {
	h.t.Helper()
	storetest.NoError(h.t, filepath.WalkDir(filepath.Join(h.dir, path), func(path string, d fs.DirEntry, err error) error {
		storetest.NoError(h.t, err)
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		storetest.NoError(h.t, os.Chmod(path, mode))
		return os.Chown(path, uid, uid)
	}))
}

// TestLinks: what is written over a symbolic link goes where that leads, and the link stays. Root follows no link of
// another user but of who has called it.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	at := func(name string) string { return filepath.Join(h.dir, name) }
	links := map[string]string{"out.csv": "data/out.csv", "metrics.prom": "data/metrics.prom", "copies.db": "data/copies.db", "ypcrawl.db": "data/real.db"}
	storetest.NoError(t, os.Mkdir(at("data"), 0o700))
	for name, to := range links {
		storetest.NoError(t, os.Symlink(to, at(name)))
		storetest.NoError(t, os.Lchown(at(name), owner, owner))
	}
	h.chown("data", owner)
	crawl := []string{"run", "--source", "demo", "--states", "VT", "--max-cities", "2", "--categories", "Plumbers", "--delay", "0", "--linger", "0", "--quiet"}
	commands := [][]string{
		{"export", "-o", "out.csv", "--overwrite"},
		{"backup", "copies.db", "--overwrite"},
		{"status", "--metrics-file", "metrics.prom"},
		{"restore", "data/copies.db", "--yes"},
	}
	// keep makes sure that the links are links, and returns which files they lead to.
	keep := func() (files []os.FileInfo) {
		t.Helper()
		for _, name := range []string{"out.csv", "copies.db", "metrics.prom", "ypcrawl.db"} {
			if to, err := os.Readlink(at(name)); err != nil || to != links[name] {
				t.Errorf("%s leads to %q (%v)", name, to, err)
			}
			info, err := os.Lstat(at(links[name]))
			storetest.NoError(t, err)
			files = append(files, info)
		}
		if others := h.others(); len(others) > 0 {
			t.Errorf("not the owner's any more: %s", strings.Join(others, "\n"))
		}
		return files
	}
	setAside := func() {
		storetest.NoError(t, os.RemoveAll(at("data/real.db.before-restore")))
		storetest.NoError(t, os.RemoveAll(at("data/logs/yp_wal/real/real.db.before-restore")))
	}
	h.must(owner, crawl...)
	for _, command := range commands[:3] { // the links lead to nothing yet
		h.must(owner, command...)
	}
	before := keep()
	for _, caller := range []string{"", "4321"} {
		for i, command := range commands {
			uid := uint32(owner)
			if caller != "" {
				uid = 0
			}
			if out, code := h.by(caller, uid, command...); code != 0 {
				t.Errorf("by %q: %q ends with %d:\n%s", caller, command, code, out)
			}
			after := keep()
			if os.SameFile(before[i], after[i]) {
				t.Errorf("by %q: %q has not replaced its file", caller, command)
			}
			before = after
		}
		setAside()
	}
	for i, command := range commands {
		for _, caller := range []string{"", "4323"} {
			out, code := h.by(caller, 0, command...)
			if code == 0 || !strings.Contains(out, "is a symbolic link of user 4321, and root follows no links of other users") {
				t.Errorf("%q ends with %d:\n%s", command, code, out)
			}
			if after := keep(); !os.SameFile(before[i], after[i]) {
				t.Errorf("%q has replaced a file behind a stranger's link", command)
			}
		}
	}
	h.must(0, "export", "-o", "data/out.csv", "--overwrite") // the file itself
	keep()
}

// TestNothingBehindRefusedDatabase: where root refuses to make a database behind a link of another user, it makes no
// logs there either.
func TestNothingBehindRefusedDatabase(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	elsewhere := t.TempDir()
	storetest.NoError(t, os.Symlink(filepath.Join(elsewhere, "b.db"), filepath.Join(h.dir, "ypcrawl.db")))
	storetest.NoError(t, os.Lchown(filepath.Join(h.dir, "ypcrawl.db"), owner, owner))
	out, code := h.as(0, "run", "--source", "demo", "--states", "VT", "--max-cities", "1", "--linger", "0", "--quiet")
	if code == 0 || !strings.Contains(out, "root follows no links of other users") {
		t.Errorf("it ends with %d:\n%s", code, out)
	}
	made, err := os.ReadDir(elsewhere)
	storetest.NoError(t, err)
	if len(made) > 0 {
		t.Errorf("root has made %v there", made)
	}
}
