package wal

import "io"

// appending is no flag of os.OpenFile here: a file that is opened by O_APPEND lets Windows add to it and nothing else
// (FILE_APPEND_DATA without FILE_WRITE_DATA), so that half a line could not be cut off: "Access denied".
const appending = 0

// Write adds to the end of the file, wherever that is: somebody may have emptied it.
func (f osFile) Write(b []byte) (int, error) {
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}
