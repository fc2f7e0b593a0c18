// Command build builds the playground and the reference into a directory:
//
//	go -C examples/playground run ./build DIR
//
// It needs Go and npm, and the network for packages that are not in their caches.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/preadmit/preadmit/examples/playground/site"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go -C examples/playground run ./build DIR")
		os.Exit(2)
	}
	if err := site.Build(filepath.Join("..", ".."), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
