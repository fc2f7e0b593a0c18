//go:build !unix

package krmfn

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where files have no owners as Unix has them.
func keepOwner(*os.File, fs.FileInfo) {}
