// Differ replaces the tables of other versions by their differences to the table of the default
// version:
//
//	go run ./differ TABLE OTHER...
//
// Keys end at the first blank of a line.
package main

import (
	"fmt"
	"os"

	"github.com/preadmit/preadmit/engine/internal/release"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./differ TABLE OTHER...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "differ:", err)
		os.Exit(1)
	}
}

func run(table string, others []string) error {
	from, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	for _, other := range others {
		to, err := os.ReadFile(other)
		if err != nil {
			return err
		}
		if err := os.WriteFile(other, []byte(release.Differences(string(from), string(to), " ")), 0o644); err != nil {
			return err
		}
	}
	return nil
}
