package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// jsonArray writes an array of JSON row by row, for listings that are too long to be
// held in memory. What it writes is what writeRows writes for a program: one line.
type jsonArray struct {
	w    io.Writer
	rows int
}

// add writes a row.
func (a *jsonArray) add(row any) error {
	var buf bytes.Buffer
	if a.rows == 0 {
		buf.WriteByte('[')
	} else {
		buf.WriteByte(',')
	}
	a.rows++
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(row); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return a.write(bytes.TrimRight(buf.Bytes(), "\n"))
}

// end closes the array, which may be empty.
func (a *jsonArray) end() error {
	if a.rows == 0 {
		return a.write([]byte("[]\n"))
	}
	return a.write([]byte("]\n"))
}

func (a *jsonArray) write(data []byte) error {
	if _, err := a.w.Write(escapeControls(data)); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
