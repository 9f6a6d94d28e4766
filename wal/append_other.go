//go:build !windows

package wal

import "os"

const appending = os.O_APPEND
