// Command command prints how the cost of commands grows: see package growth.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/preadmit/preadmit/internal/growth"
)

func main() {
	if err := growth.Check(strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
