// Command preadmit runs mutating policies on manifests, on the command line and as a KRM
// function. Package krmfn implements the commands.
//
// The files in order: main.go, stdout_linux.go and stdout_other.go (whether standard output is
// closed), gc.go (garbage collection).
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/preadmit/preadmit/krmfn"
)

// version is set by the linker if the build information has no version, as in an image.
var version string

func main() {
	delayGC()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "preadmit: %v\n", err)
		os.Exit(2)
	}
	build, ok := debug.ReadBuildInfo()
	if ok && version != "" {
		build.Main.Version = version
	}
	os.Exit(krmfn.Main(context.Background(), &krmfn.Process{
		Args:             os.Args[1:],
		Dir:              dir,
		Policies:         filepath.SplitList(os.Getenv("PREADMIT_POLICIES")),
		Stdin:            os.Stdin,
		Stdout:           os.Stdout,
		Stderr:           os.Stderr,
		StdinIsTerminal:  isTerminal(os.Stdin),
		StdoutIsClosed:   isClosed(os.Stdout),
		StdoutIsTerminal: isTerminal(os.Stdout),
		StderrIsTerminal: isTerminal(os.Stderr),
		NoColor:          os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
		Getenv:           os.Getenv,
		Run:              krmfn.RunProgram,
		Now:              time.Now,
		Build:            build,
	}))
}

// isTerminal reports whether a file is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
