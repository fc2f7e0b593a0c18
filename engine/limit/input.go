package limit

import (
	"io"
	"os"
)

// Input reads the files of a run, InputBytes in all.
type Input struct{ read int }

// Read reads all of a reader, and stops when the bound is exceeded.
func (i *Input) Read(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(InputBytes-i.read)+1))
	if i.read += len(data); i.read > InputBytes {
		return nil, Exceeded(InputSize, "run preadmit on one part after the other", "the input is larger than %d MiB, of all files together", InputBytes>>20)
	}
	return data, err
}

// ReadFile reads a file.
func (i *Input) ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return i.Read(f)
}
