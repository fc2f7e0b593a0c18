package limit

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// MaxInputBytes is the largest value of InputBytes, because positions count in 32 bits.
const MaxInputBytes = 2047 << 20

// ParseInput parses the largest size of the input, a number of mebibytes or gibibytes.
func ParseInput(text string) (int, error) {
	for suffix, unit := range map[string]int{"Mi": 1 << 20, "Gi": 1 << 30} {
		digits, ok := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseUint(digits, 10, 12); ok && err == nil && n > 0 && int(n) <= MaxInputBytes/unit {
			return int(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("%q is not a size; expected one such as 256Mi, of %dMi at most", text, MaxInputBytes>>20)
}

// DocumentsIn returns how many documents a file may have if the input may have that many bytes.
// Zero means InputBytes.
func DocumentsIn(bytes int) int { return max(Documents, int(int64(Documents)*int64(bytes)/InputBytes)) }

// Input reads the files of a run, at most Bytes in total. Zero means InputBytes.
type Input struct {
	Bytes int
	read  int
}

func (i *Input) most() int { return cmp.Or(i.Bytes, InputBytes) }

// Read reads everything from a reader, and fails when the limit is exceeded.
func (i *Input) Read(from io.Reader) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(bytes.MinRead + min(sizeOfFile(from), i.most()))
	_, err := buffer.ReadFrom(io.LimitReader(from, int64(i.most()-i.read)+1))
	if i.read += buffer.Len(); i.read > i.most() {
		return nil, tooMuch(i.most())
	}
	return buffer.Bytes(), err
}

// sizeOfFile returns the size of the file that a reader reads, or 0 if the reader is not a file.
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

func tooMuch(most int) *Error {
	return Exceeded(InputSize, "run preadmit on parts of the input, or raise the limit with the option input-limit", "the input is larger than %d MiB, of all files together", most>>20)
}

// Buffer collects the output of another program, at most Most bytes of it. Zero means InputBytes.
type Buffer struct {
	Most   int
	buffer bytes.Buffer // not embedded: its ReadFrom has no limit
	err    error
}

// Write implements io.Writer.
func (b *Buffer) Write(data []byte) (int, error) {
	if most := cmp.Or(b.Most, InputBytes); b.buffer.Len()+len(data) > most {
		b.err = tooMuch(most)
		return 0, b.err
	}
	return b.buffer.Write(data)
}

// Err returns the error of the Write that exceeded the limit.
func (b *Buffer) Err() error { return b.err }

// Bytes returns the collected output.
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
