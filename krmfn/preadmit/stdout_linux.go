package main

import (
	"os"
	"syscall"
)

// isClosed reports whether standard output was closed when the program was started. Go
// has opened the null device in its place by then, for reading and writing; who wants no
// output opens it for writing.
func isClosed(stdout *os.File) bool {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, stdout.Fd(), syscall.F_GETFL, 0)
	if errno != 0 || flags&syscall.O_ACCMODE != syscall.O_RDWR {
		return false
	}
	info, err := stdout.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && nullErr == nil && os.SameFile(info, null)
}
