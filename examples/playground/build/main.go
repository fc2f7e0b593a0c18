// Command build makes the playground, and the reference beside it, in a directory:
//
//	go -C examples/playground run ./build DIR
//
// It needs Go, npm, and the network once for what is not in their caches yet.
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
