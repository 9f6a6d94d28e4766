//go:build !unix

package selftest

import (
	"errors"
	"os"
)

// canStop is whether a process can be stopped and continued here.
const canStop = false

func stop(*os.Process) error       { return errors.ErrUnsupported }
func continueIt(*os.Process) error { return errors.ErrUnsupported }
