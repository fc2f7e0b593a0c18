package krmfn

import (
	"io"
	"os"
)

// transcript is a file that gets what is said on standard error, for clients that do
// not show it.
type transcript struct {
	file *os.File
	err  error // the first one
}

// withTranscript makes a process that says everything in a file, too.
func (p *Process) withTranscript(name string) (*Process, *transcript, error) {
	if name == "" {
		return p, &transcript{}, nil
	}
	file, err := os.Create(p.absolute(name))
	if err != nil {
		return p, nil, err
	}
	t := &transcript{file: file}
	said := *p
	said.Stderr = io.MultiWriter(p.Stderr, t)
	said.StderrIsTerminal = false // the progress of a run is not for files
	return &said, t, nil
}

// Write implements io.Writer. It reports errors at the end, in Close: what cannot be
// written must reach standard error still.
func (t *transcript) Write(b []byte) (int, error) {
	if _, err := t.file.Write(b); t.err == nil {
		t.err = err
	}
	return len(b), nil
}

// Close ends the file and returns the first error there was.
func (t *transcript) Close() error {
	if t.file == nil {
		return nil
	}
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	return t.err
}
