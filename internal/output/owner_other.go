//go:build !unix

package output

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: the system has no Unix owners.
func keepOwner(*os.File, fs.FileInfo) {}

// checkMode does nothing: the system has no Unix permissions.
func checkMode(*os.File, fs.FileMode) error { return nil }

// fileKey returns the path of a file as its identity: the system has no inodes.
func fileKey(_ fs.FileInfo, real string) any { return real }
