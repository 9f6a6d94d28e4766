// Package pgzip stands in for github.com/klauspost/pgzip, with which nfpm compresses packages. That one
// works in several goroutines and its bytes differ now and then from run to run; a release is to be
// built twice with equal bytes. This is compress/gzip under its name, as far as nfpm uses it.
package pgzip

import (
	"compress/gzip"
	"io"
)

// What compress/gzip has.
type (
	Writer = gzip.Writer
	Reader = gzip.Reader
)

// The levels of compress/gzip.
const (
	NoCompression      = gzip.NoCompression
	BestSpeed          = gzip.BestSpeed
	BestCompression    = gzip.BestCompression
	DefaultCompression = gzip.DefaultCompression
)

// NewWriter is gzip.NewWriter.
func NewWriter(w io.Writer) *Writer { return gzip.NewWriter(w) }

// NewWriterLevel is gzip.NewWriterLevel.
func NewWriterLevel(w io.Writer, level int) (*Writer, error) { return gzip.NewWriterLevel(w, level) }

// NewReader is gzip.NewReader.
func NewReader(r io.Reader) (*Reader, error) { return gzip.NewReader(r) }
