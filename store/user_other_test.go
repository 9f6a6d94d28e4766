//go:build !unix

package store_test

import (
	"errors"
	"syscall"
)

func asNobody() *syscall.SysProcAttr { return nil }

// fullChild needs a limit on the size of files, which only Unix has.
func fullChild([]string) error { return errors.ErrUnsupported }

// lookChild needs users of Unix.
func lookChild([]string) error { return errors.ErrUnsupported }
