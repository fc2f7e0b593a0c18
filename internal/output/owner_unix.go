//go:build unix

package output

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of another, if the user is allowed to. A run as root, for
// example in a container, must not change the owner of files.
func keepOwner(file *os.File, as fs.FileInfo) {
	if stat, ok := as.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// checkMode fails if a file has other permissions than those of most, because its file system does not
// know permissions.
func checkMode(file *os.File, most fs.FileMode) error {
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&^most != 0 {
		return Refuse(fmt.Sprintf("its file system gives it the mode %04o, and others may read it", info.Mode().Perm()), fmt.Sprintf("write it where files can have the mode %04o", most))
	}
	return err
}

// inode identifies a file.
type inode struct{ device, number uint64 }

// fileKey returns the identity of a file or directory, which is the same for all its names.
func fileKey(info fs.FileInfo, real string) any {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(stat.Dev), uint64(stat.Ino)}
	}
	return real
}
