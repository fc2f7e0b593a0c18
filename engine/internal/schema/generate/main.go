// Generate writes the compact texts of the built-in kinds that package schema embeds:
// builtin.txt for the default version of Kubernetes, and the differences for each other version.
//
//	go run ./generate                            from the committed archives
//	go run ./generate -kubernetes 1.36=DIR …     renews the archive of a version instead
//
// It runs in the directory of package schema. DIR is the directory of the module
// k8s.io/kubernetes at a patch version of 1.36, which has the OpenAPI documents and the
// discovery of a server:
//
//	go mod download -json k8s.io/kubernetes@v1.36.3
//
// What the documents do not say comes from the tables of Go types in gotypes; bash gotypes/generate
// renews them. An archive holds the documents, without descriptions, of what a server with default feature
// gates serves.
//
// The files in order: main.go (the command), archive.go (the archives), gotypes.go (the tables of
// Go types), text.go (the compact text).
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/release"
)

// The files of a minor version.
const (
	archivePath     = "openapi/v1.%d.tar.gz"
	textPath        = "builtin.txt"
	differencesPath = "versions/1.%d.txt"
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
	if err := run(modules); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(modules map[int]string) error {
	for minor, dir := range modules {
		archive, err := pack(os.DirFS(dir), minor)
		if err != nil {
			return err
		}
		if err := os.WriteFile(fmt.Sprintf(archivePath, minor), archive, 0o644); err != nil {
			return err
		}
	}
	if len(modules) > 0 {
		return nil // the tables of Go types depend on the archive, and the texts on both
	}
	files, err := texts(".")
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// texts generates the embedded files from the sources below a directory, and returns them by path.
func texts(dir string) (map[string]string, error) {
	var all [release.Count]string
	for i := range all {
		archive, err := os.ReadFile(dir + "/" + fmt.Sprintf(archivePath, release.Oldest+i))
		if err != nil {
			return nil, err
		}
		types, err := goTypes(dir, release.Oldest+i)
		if err != nil {
			return nil, err
		}
		text, err := generate(archive, types)
		if err != nil {
			return nil, err
		}
		all[i] = string(text)
	}
	base := all[release.Index(release.Default)]
	files := map[string]string{textPath: base}
	for i, text := range all {
		if minor := release.Oldest + i; minor != release.Default {
			files[fmt.Sprintf(differencesPath, minor)] = release.Differences(base, text, "\t")
		}
	}
	return files, nil
}
