package krmfn

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
)

// transcript is a file with a copy of the messages on standard error, for clients that do not
// show them. It is written at the end, because only then all files that were read are known.
type transcript struct {
	real string
	file *os.File
	// isNew reports that the file did not exist, refused that it must not be written.
	isNew, refused bool
	messages       bytes.Buffer
}

// withTranscript returns a process that also writes its messages to a file.
func (p *Process) withTranscript(name string) (*Process, *transcript, error) {
	t := &transcript{}
	if name == "" {
		return p, t, nil
	}
	t.real = input.RealPath(p.absolute(name))
	if err := t.open(); err != nil {
		return p, nil, err
	}
	recorded := *p
	recorded.Stderr = shareable(io.MultiWriter(p.Stderr, &t.messages))
	recorded.StderrIsTerminal = false // no progress counter in a file
	return &recorded, t, nil
}

// open opens the file without changing its contents.
func (t *transcript) open() (err error) {
	t.file, err = os.OpenFile(t.real, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	t.isNew = err == nil
	if errors.Is(err, fs.ErrExist) {
		t.file, err = os.OpenFile(t.real, os.O_WRONLY, 0)
	}
	return err
}

// claim reserves the file for the transcript. It fails if the file was read.
func (t *transcript) claim(l *output.Ledger) error {
	if t.file == nil {
		return nil
	}
	err := l.Claim("the messages of --report", t.real)
	t.refused = err != nil
	return err
}

// Close writes and closes the file. It does not change a file that was refused.
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
	if output.Regular(t.file) != nil {
		err = t.file.Truncate(0)
	}
	if err == nil {
		_, err = t.file.Write(t.messages.Bytes())
	}
	return errors.Join(err, t.file.Close())
}
