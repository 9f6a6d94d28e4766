package cli

import "errors"

// isUsage tells whether err is a mistake in how the program was called.
func isUsage(err error) bool { return errors.As(err, new(*UsageError)) }
