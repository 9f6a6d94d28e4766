package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// DeniedError says that this user may not open a file, whose it is, and what helps: what can't be read is there.
type DeniedError struct {
	Path  string      // the file, or the folder above it that lets nobody in
	Owner string      // whose it is
	Mode  fs.FileMode // permissions
	Fix   string      // what helps, in a sentence
	More  int         // how many other files can't be read either
	Err   error       // what the system said
}

func (e *DeniedError) Error() string { return e.What() + ": " + e.Fix }

// What says it without what helps.
func (e *DeniedError) What() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf("; %d more can't be read either", e.More)
	}
	return fmt.Sprintf("%v (%s belongs to %s, with mode %04o%s)", e.Err, e.Path, e.Owner, e.Mode, more)
}

// Unwrap returns what the system said.
func (e *DeniedError) Unwrap() error { return e.Err }

// Denied explains an error about a path: where rights are missing, it is a *DeniedError, any other is returned as it is.
func Denied(path string, err error) error { return explain(path, "", err) }

// DeniedIn is Denied for a file of a folder whose files go together: what helps is about all of them.
func DeniedIn(path string, err error) error { return explain(path, filepath.Dir(path), err) }

// explain is Denied. whole is the folder that is to be given back with all that is in it; "" = the path alone.
func explain(path, whole string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || errors.As(err, new(*DeniedError)) {
		return err
	}
	info, failed := os.Stat(path)
	for failed != nil && filepath.Dir(path) != path {
		path = filepath.Dir(path)
		info, failed = os.Stat(path)
	}
	if failed != nil {
		return err
	}
	uid, _, known := ids(info)
	if !known {
		return err
	}
	if info.IsDir() {
		whole = path
	}
	return &DeniedError{Path: path, Owner: Owner(info), Mode: info.Mode().Perm(), Fix: fix(path, whole, uid), Err: err}
}

// fix is what helps against missing rights on a user's file or folder.
func fix(path, whole string, uid int) string {
	me := os.Geteuid()
	if uid == me {
		return "give yourself the right with `chmod u+rwX " + quoted(path) + "`"
	}
	if above, err := os.Stat(filepath.Dir(path)); err == nil {
		if owner, _, known := ids(above); known && owner == me { // another user's file in a folder of one's own
			if whole != "" {
				return fmt.Sprintf("make it yours again with `sudo chown -R %s %s`", account(me), quoted(whole))
			}
			return fmt.Sprintf("make it yours again with `sudo chown %s %s`", account(me), quoted(path))
		}
	}
	return fmt.Sprintf("run this as %s, who may also give you the right", userName(uid))
}

var plain = regexp.MustCompile(`^[\w./@%+=:,][\w./@%+=:,-]*$`)

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if plain.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
