//go:build unix

package krmfn

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of another, as far as the user may: a run as root, in
// a container for example, is not to take files from whoever has them.
func keepOwner(file *os.File, as fs.FileInfo) {
	if stat, ok := as.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// inode is what the system knows a file by.
type inode struct{ device, number uint64 }

// fileKey is what a file, or a directory, has in common under all its names.
func fileKey(info fs.FileInfo, real string) any {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(stat.Dev), uint64(stat.Ino)}
	}
	return real
}
