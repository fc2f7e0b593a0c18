package krmfn

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ledger knows which files a run has read and which it writes: no output goes into a
// file that was read, and no two go into one.
type ledger struct {
	// read holds what the user calls the files, written what goes into them, both by the
	// keys of keysOf.
	read, written map[any]string
}

func newLedger() *ledger { return &ledger{read: map[any]string{}, written: map[any]string{}} }

// keysOf are what a file is known by: its path without symbolic links and, if it exists,
// what the system knows it by under all its names.
func keysOf(real string) []any {
	keys := []any{real}
	if info, err := os.Stat(real); err == nil {
		keys = append(keys, fileKey(info, real))
	}
	return keys
}

// noteRead notes that a file was read.
func (l *ledger) noteRead(name, real string) {
	for _, key := range keysOf(real) {
		if _, ok := l.read[key]; !ok {
			l.read[key] = name
		}
	}
}

// claim notes what goes into a file, unless that was read or gets an output already.
// Devices and pipes take any number of them.
func (l *ledger) claim(what, real string) error {
	if info, err := os.Stat(real); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	for _, key := range keysOf(real) {
		if _, ok := l.read[key]; ok {
			return errWasRead
		}
		if other, ok := l.written[key]; ok {
			return &refusal{fmt.Sprintf("%s and %s would both be written there", other, what), "name a file for each; or of manifests, the directory that holds both"}
		}
	}
	l.noteWritten(what, real)
	return nil
}

func (l *ledger) noteWritten(what, real string) {
	for _, key := range keysOf(real) {
		l.written[key] = what
	}
}

// errWasRead says that a file is no place for an output.
var errWasRead = &refusal{"the file was read in this run; what was read is not written over", "name another file"}

// refusal is an error with an advice.
type refusal struct{ text, advice string }

// Error implements error.
func (r *refusal) Error() string { return r.text }

// noteStream notes a regular file that was read as a stream, like standard input.
func (l *ledger) noteStream(name string, from io.Reader) {
	if info := regular(from); info != nil {
		l.read[fileKey(info, name)] = name
	}
}

// checkStream refuses a regular file that was read for a stream to write, like standard
// output.
func (l *ledger) checkStream(to io.Writer) error {
	if info := regular(to); info != nil {
		if name, ok := l.read[fileKey(info, "")]; ok {
			return &refusal{fmt.Sprintf("it goes into %s, which was read", name), "name another file; one in a directory of manifests is read as one of them"}
		}
	}
	return nil
}

// regular describes the regular file that a stream is, or is nil.
func regular(stream any) fs.FileInfo {
	if file, ok := stream.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return info
		}
	}
	return nil
}
