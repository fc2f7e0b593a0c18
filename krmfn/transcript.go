package krmfn

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// transcript is a file that gets the messages on standard error, too, for clients that do
// not show it. It is written at the end: only then is it known whether it was read.
type transcript struct {
	real string
	file *os.File
	// isNew says that there was no such file, refused that it is not written.
	isNew, refused bool
	messages       bytes.Buffer
}

// withTranscript makes a process that also writes its messages to a file.
func (p *Process) withTranscript(name string) (*Process, *transcript, error) {
	t := &transcript{}
	if name == "" {
		return p, t, nil
	}
	t.real = realPath(p.absolute(name))
	if err := t.open(); err != nil {
		return p, nil, err
	}
	recorded := *p
	recorded.Stderr = io.MultiWriter(p.Stderr, &t.messages)
	recorded.StderrIsTerminal = false // the progress of a run is not for files
	return &recorded, t, nil
}

// open opens the file without a change to what it has.
func (t *transcript) open() (err error) {
	t.file, err = os.OpenFile(t.real, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	t.isNew = err == nil
	if errors.Is(err, fs.ErrExist) {
		t.file, err = os.OpenFile(t.real, os.O_WRONLY, 0)
	}
	return err
}

// claim takes the file for the transcript, unless it was read.
func (t *transcript) claim(l *ledger) error {
	if t.file == nil {
		return nil
	}
	err := l.claim("the messages of --report", t.real)
	t.refused = err != nil
	return err
}

// Close writes the file. One that must not be written is left as it was.
func (t *transcript) Close() error {
	switch {
	case t.file == nil:
		return nil
	case t.refused && t.isNew:
		return errors.Join(t.file.Close(), os.Remove(t.real))
	case t.refused:
		return t.file.Close()
	}
	var err error
	if regular(t.file) != nil {
		err = t.file.Truncate(0)
	}
	if err == nil {
		_, err = t.file.Write(t.messages.Bytes())
	}
	return errors.Join(err, t.file.Close())
}
