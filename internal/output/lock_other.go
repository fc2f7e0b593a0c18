//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package output

import (
	"errors"
	"os"
)

// tryLock always fails: the system has no locks that end with the process.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
