package frame

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// isUsage tells whether err is a mistake in how the program was called.
func isUsage(err error) bool { return errors.As(err, new(*UsageError)) }
