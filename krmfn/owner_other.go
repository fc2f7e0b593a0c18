//go:build !unix

package krmfn

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where files have no owners as Unix has them.
func keepOwner(*os.File, fs.FileInfo) {}

// fileKey is what a file has in common under all its names: its path, where the system
// has nothing better.
func fileKey(_ fs.FileInfo, real string) any { return real }
