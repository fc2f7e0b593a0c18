package krmfn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/preadmit/preadmit/engine/limit"
)

// Program is a program to run for its output.
type Program struct {
	// Args are its name, which is looked up in PATH, and its arguments.
	Args []string
	// Dir is the directory to run it in.
	Dir string
	// Env has variables that it gets in addition to ours, in the form name=value.
	Env   []string
	Stdin io.Reader
	// Stdout gets the output while the program runs. If it is nil, the output is returned.
	Stdout io.Writer
	Stderr io.Writer
	// MaxOutput is how many bytes it may print; zero means limit.InputBytes.
	MaxOutput int
}

// patience is how long a program has to end after a signal, and how long its children have to
// close its output after it has ended.
const patience = 5 * time.Second

// shared is a writer for several goroutines.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(text)
}

// shareable returns a writer that programs may use at the same time: that of a webhook writes whenever it
// likes.
func shareable(w io.Writer) io.Writer {
	if _, isFile := w.(*os.File); isFile {
		return w
	}
	return &shared{w: w}
}

// RunProgram runs a program and returns its standard output, unless it goes elsewhere. It returns an error if the program
// does not end with status 0. If preadmit gets an interrupt or SIGTERM meanwhile, it sends
// SIGTERM to the program.
func RunProgram(ctx context.Context, program *Program) ([]byte, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	stdout := limit.Buffer{Most: program.MaxOutput}
	command := exec.CommandContext(ctx, program.Args[0], program.Args[1:]...)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = program.Dir, program.Stdin, &stdout, program.Stderr
	if program.Stdout != nil {
		command.Stdout = program.Stdout
	}
	command.Env = append(command.Environ(), program.Env...)
	command.WaitDelay = patience
	command.Cancel = func() error {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return command.Process.Kill() // the system has no SIGTERM
		}
		return nil
	}
	err := command.Run()
	var notFound *exec.Error
	var notStarted *fs.PathError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stdout.Err() != nil: // the program's own error would only be a broken pipe
		return nil, stdout.Err()
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, errors.New("the program ended, but a process that it started keeps its output open")
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("no directory in PATH has it: install %s", program.name())
	case errors.As(err, &notFound):
		return nil, notFound.Err
	case errors.As(err, &notStarted):
		return nil, notStarted.Err
	case err != nil:
		return nil, err
	}
	return stdout.Bytes(), nil
}

// name returns the name of the program for messages.
func (p *Program) name() string {
	return strings.TrimSuffix(filepath.Base(p.Args[0]), ".exe")
}

// call returns the program for messages, with its arguments up to the first flag, because
// values of flags may be secret.
func (p *Program) call() string {
	words := []string{p.name()}
	for _, arg := range p.Args[1:] {
		if strings.HasPrefix(arg, "-") {
			break
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
