//go:build unix

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// lookChild tells whether somebody holds a lock.
func lookChild(args []string) error {
	alive, err := store.Alive(args[0], args[1])
	fmt.Println("alive", alive, "known", err == nil)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}

// openFolder is a folder of which every user may see the files, with a program that every user may start.
func openFolder(t *testing.T) (dir, program string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ypcrawl-look-")
	noErr(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	noErr(t, err)
	program = filepath.Join(dir, "program")
	syscall.ForkLock.RLock() // a process that another test starts meanwhile would have it open for writing
	write(t, program, read(t, self))
	syscall.ForkLock.RUnlock()
	noErr(t, errors.Join(os.Chmod(program, 0o755), os.Chmod(dir, 0o755)))
	return dir, program
}

// TestAliveOfOthers: whoever may read a lock file sees whether it is held; whoever may not does not take its owner
// for dead.
func TestAliveOfOthers(t *testing.T) {
	t.Parallel()
	dir, program := openFolder(t)
	path := filepath.Join(dir, "a.db")
	looks := func(want string) {
		t.Helper()
		p := storetest.Command(t, "look", path, "owner")
		p.Path, p.SysProcAttr = program, asNobody()
		p.Begin(t).Await(t, want)
		noErr(t, p.Wait())
	}
	looks("alive false known true") // nobody has ever held it
	owner := start(t, "lock", path, "owner")
	owner.Await(t, "held")
	file := filepath.Join(store.LockDir(path), "owner.lock")
	mode := func(ofFolder, ofFile os.FileMode) {
		t.Helper()
		noErr(t, errors.Join(os.Chmod(store.LockDir(path), ofFolder), os.Chmod(file, ofFile)))
	}
	mode(0o555, 0o444)
	looks("alive true known true")
	if os.Geteuid() == 0 { // else the child is the owner, and may open whatever it owns only as it says
		mode(0o700, 0o600)
		looks("alive false known false")
		mode(0o755, 0o600)
		looks("alive false known false")
	}
	mode(0o755, 0o444)
	owner.Kill(t)
	looks("alive false known true")
}

// TestAliveOddFiles: what stands under the name of a lock and is none neither holds up who looks, nor tells of a death.
func TestAliveOddFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	noErr(t, os.Mkdir(store.LockDir(path), 0o700))
	at := func(name string) string { return filepath.Join(store.LockDir(path), name+".lock") }
	noErr(t, errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("loop.lock", at("loop"))))
	if alive(t, path, "pipe") {
		t.Error("a pipe lives")
	}
	if lives, err := store.Alive(path, "loop"); lives || err == nil {
		t.Errorf("a loop of links: %t, %v, want an error", lives, err)
	}
}
