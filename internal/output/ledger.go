package output

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/preadmit/preadmit/internal/input"
)

// Ledger records which files a run reads and writes. No output goes to a file that was read,
// and no two outputs go to the same file.
type Ledger struct {
	// read has the names of the files for messages, written descriptions of their new contents.
	// The keys are from keysOf.
	read, written map[any]string
	// caseless has the directories of outputs, and whether their names have no case.
	caseless map[string]bool
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{read: map[any]string{}, written: map[any]string{}, caseless: map[string]bool{}}
}

// keysOf returns the keys of a file: its path, which leads through no symbolic links, and, if it exists,
// its identity, which is the same for all hard links.
func keysOf(real string) []any {
	keys := []any{real}
	if info, err := os.Lstat(real); err == nil {
		keys = append(keys, fileKey(info, real))
	}
	return keys
}

// caseless is the path of a file in lower case, in a file system that has one file for both.
type caseless string

// keysOf is keysOf for a file that is written, and need not exist.
func (l *Ledger) keysOf(real string) []any {
	keys := keysOf(real)
	if l.ignoresCase(filepath.Dir(real)) {
		keys = append(keys, caseless(strings.ToLower(real)))
	}
	return keys
}

// ignoresCase reports whether a directory has one file for names that differ only by case: then its own name, or
// else that of the next directory above it that exists and has letters, can be written in the other case.
func (l *Ledger) ignoresCase(dir string) bool {
	if known, ok := l.caseless[dir]; ok {
		return known
	}
	other := filepath.Join(filepath.Dir(dir), strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, filepath.Base(dir)))
	info, err := os.Stat(dir)
	ignores := false
	switch {
	case err == nil && other != dir:
		found, err := os.Stat(other)
		ignores = err == nil && os.SameFile(info, found)
	case filepath.Dir(dir) != dir:
		ignores = l.ignoresCase(filepath.Dir(dir))
	}
	l.caseless[dir] = ignores
	return ignores
}

// NoteRead notes that a file was read.
func (l *Ledger) NoteRead(name, real string) {
	for _, key := range keysOf(real) {
		if _, ok := l.read[key]; !ok {
			l.read[key] = name
		}
	}
}

// Claim notes that an output goes to a file. It fails if the file was read or gets another
// output. Devices and pipes take any number of outputs.
func (l *Ledger) Claim(what, real string) error {
	if info, err := os.Stat(real); err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil
	}
	for _, key := range l.keysOf(real) {
		if _, ok := l.read[key]; ok {
			return errWasRead
		}
		if other, ok := l.written[key]; ok {
			return Refuse(fmt.Sprintf("%s and %s would both be written there", other, what), "name a different file for each; for manifests, name the directory that contains both")
		}
	}
	l.NoteWritten(what, real)
	return nil
}

// NoteWritten notes that an output goes to a file, whatever else does.
func (l *Ledger) NoteWritten(what, real string) {
	for _, key := range l.keysOf(real) {
		l.written[key] = what
	}
}

// errWasRead is the error for output to a file that was read.
var errWasRead = Refuse("the file was read in this run, and input is not overwritten", "name another file")

// NoteStream notes a regular file that was read as a stream, such as standard input.
func (l *Ledger) NoteStream(name string, from io.Reader) {
	if info := Regular(from); info != nil {
		l.read[fileKey(info, name)] = name
	}
}

// CheckStream fails if a stream for output, such as standard output, is a regular file that
// was read.
func (l *Ledger) CheckStream(to io.Writer) error {
	if info := Regular(to); info != nil {
		if name, ok := l.read[fileKey(info, "")]; ok {
			return Refuse(fmt.Sprintf("it goes to %s, which was read", name), "name another file, outside of the directories of manifests")
		}
	}
	return nil
}

// Regular returns the description of a stream that is a regular file; nil otherwise.
func Regular(stream any) fs.FileInfo {
	if file, ok := stream.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return info
		}
	}
	return nil
}

// PlaceBelow sets the path of an output to file, which must be below dir, also after symbolic links.
// what describes the contents.
func (l *Ledger) PlaceBelow(f *File, what, file, dir string) error {
	f.Real, f.Within = input.RealPath(file), dir
	if !input.IsWithin(f.Real, input.RealPath(dir)) {
		return input.ErrEscape
	}
	return l.Claim(what, f.Real)
}
