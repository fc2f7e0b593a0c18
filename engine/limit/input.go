package limit

import (
	"bytes"
	"io"
	"os"
)

// Input reads the files of a run, InputBytes in all.
type Input struct{ read int }

// Read reads all of a reader, and stops when the bound is exceeded.
func (i *Input) Read(from io.Reader) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(bytes.MinRead + min(sizeOfFile(from), InputBytes))
	_, err := buffer.ReadFrom(io.LimitReader(from, int64(InputBytes-i.read)+1))
	if i.read += buffer.Len(); i.read > InputBytes {
		return nil, tooMuch()
	}
	return buffer.Bytes(), err
}

// sizeOfFile is the size of what a reader reads, if that is a file; 0 otherwise.
func sizeOfFile(from io.Reader) int {
	file, ok := from.(*os.File)
	if !ok {
		return 0
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return int(info.Size())
}

func tooMuch() *Error {
	return Exceeded(InputSize, "run preadmit on one part after the other", "the input is larger than %d MiB, of all files together", InputBytes>>20)
}

// Buffer takes what another program writes, InputBytes at most.
type Buffer struct {
	buffer bytes.Buffer // not embedded: its ReadFrom knows no bound
	err    error
}

// Write implements io.Writer.
func (b *Buffer) Write(data []byte) (int, error) {
	if b.buffer.Len()+len(data) > InputBytes {
		b.err = tooMuch()
		return 0, b.err
	}
	return b.buffer.Write(data)
}

// Err is the error of a Write that was too much.
func (b *Buffer) Err() error { return b.err }

// Bytes is what has been written.
func (b *Buffer) Bytes() []byte { return b.buffer.Bytes() }

// ReadFile reads a file.
func (i *Input) ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return i.Read(f)
}
