package frame

import (
	"fmt"
	"io"
	"os"
)

// maxText bounds a settings file and a definition: a wrong path may name anything.
const maxText = 1 << 20

// ReadBounded reads a file that was named and is to be a small one of its kind.
func ReadBounded(path, kind string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("%s is larger than 1 MiB, so it is not a %s", path, kind)
	}
	return data, err
}

// OpenRegular opens a file that was named. A pipe or a device is refused before it is
// opened: that may wait for ever, deaf to every signal, or never come to an end.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a pipe or a device: name a regular file", path)
	}
	return os.Open(path)
}
