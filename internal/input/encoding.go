// Package input reads the files that users name: files, directories with ignore files, and
// patterns. All frontends read the same manifests with it.
//
// Laws:
//
//	a file in a directory is skipped only if it clearly holds no manifests: its path or a
//	kustomization says so, or it has neither apiVersion nor kind; what cannot be read otherwise is
//	an error
//	no file is read twice, and links do not lead out of the directory that a user names
//
// The files in order: walk.go (paths to files), ignore.go (files that are not read), encoding.go
// (bytes to text), site.go (charts and kustomizations), sift.go (files that hold no manifests),
// holds.go (paths without policies), rest.go (what else directories have).
package input

import (
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how the text of a file is encoded. Its zero value is UTF-8.
type Encoding struct{ utf16 encoding.Encoding }

// The byte order marks of UTF-16, and the longer one that starts like the first of them.
var (
	littleEndian = []byte{0xff, 0xfe}
	bigEndian    = []byte{0xfe, 0xff}
	utf32        = []byte{0xff, 0xfe, 0, 0}
)

// Decode returns the text of a file in UTF-8, and the encoding of the file. Like kubectl 1.32, it
// decodes UTF-16 with a byte order mark, which PowerShell writes, and nothing else: UTF-16 without
// the mark and UTF-32 remain as they are, and are errors for the reader of the text.
func Decode(data []byte) ([]byte, Encoding) {
	var e Encoding
	switch {
	case bytes.HasPrefix(data, utf32):
	case bytes.HasPrefix(data, littleEndian):
		e.utf16 = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(data, bigEndian):
		e.utf16 = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	}
	if e.utf16 == nil {
		return data, e
	}
	text, err := e.utf16.NewDecoder().Bytes(data)
	if err != nil { // it replaces what is not UTF-16
		return data, Encoding{}
	}
	return text, e
}

// Encode is the inverse of Decode.
func (e Encoding) Encode(text []byte) ([]byte, error) {
	if e.utf16 == nil {
		return text, nil
	}
	return e.utf16.NewEncoder().Bytes(text)
}
