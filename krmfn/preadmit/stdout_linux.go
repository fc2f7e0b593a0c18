package main

import (
	"os"
	"syscall"
)

// isClosed reports whether standard output was closed when the program was started. Go then
// opens the null device instead, for reading and writing. A user who redirects to /dev/null
// opens it only for writing.
func isClosed(stdout *os.File) bool {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, stdout.Fd(), syscall.F_GETFL, 0)
	if errno != 0 || flags&syscall.O_ACCMODE != syscall.O_RDWR {
		return false
	}
	info, err := stdout.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && nullErr == nil && os.SameFile(info, null)
}
