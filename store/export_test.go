package store

import "os"

// File is the lock's open file.
func (l *Lock) File() *os.File { return l.f }
