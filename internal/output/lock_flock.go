//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a directory until it is closed or the process ends. It returns false if another
// run has locked it, and an error if the file system has no locks.
func tryLock(dir *os.File) (bool, error) {
	err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
