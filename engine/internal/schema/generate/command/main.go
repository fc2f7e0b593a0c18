// Command command writes the compact texts of the built-in kinds that package schema embeds.
//
//	go run ./generate/command                            from the committed archives
//	go run ./generate/command -kubernetes 1.36=DIR …     renews the archive of a version instead
//
// It runs in the directory of package schema. DIR is the directory of the module
// k8s.io/kubernetes at a patch version of 1.36, which has the OpenAPI documents and the
// discovery of a server:
//
//	go mod download -json k8s.io/kubernetes@v1.36.3
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/schema/generate"
)

func main() {
	modules := map[int]string{}
	flag.Func("kubernetes", "a `VERSION=DIR` of the module k8s.io/kubernetes to renew the archive of a version from; may be repeated", func(value string) error {
		version, dir, _ := strings.Cut(value, "=")
		minor, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
		if err == nil && dir == "" {
			err = fmt.Errorf("%q has no directory", value)
		}
		modules[minor] = dir
		return err
	})
	flag.Parse()
	if err := generate.Renew(modules); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
