// Generate writes builtin.txt, the compact text of the built-in kinds that package schema
// embeds, from OpenAPI documents.
//
//	go run ./generate                        from the committed archive
//	go run ./generate -documents <directory> from a directory, and renews the archive
//
// It runs in the directory of package schema. The directory of documents holds those of an API
// server's /openapi/v3, one JSON file per group version, and its discovery in
// api-resources.json: a list of objects with groupVersion, resource, kind, namespaced, and
// group and version where a resource serves a kind of another group. The archive holds the
// same without descriptions.
//
// The files in order: main.go (the command), archive.go (the archive), text.go (the compact
// text).
package main

import (
	"flag"
	"fmt"
	"os"
)

const (
	archivePath = "openapi/v1.36.tar.gz"
	textPath    = "builtin.txt"
)

func main() {
	documents := flag.String("documents", "", "a `directory` of OpenAPI documents to renew the archive from")
	flag.Parse()
	if err := run(*documents); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(documents string) error {
	if documents != "" {
		archive, err := pack(os.DirFS(documents))
		if err != nil {
			return err
		}
		if err := os.WriteFile(archivePath, archive, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.ReadFile(archivePath)
	if err != nil {
		return err
	}
	text, err := generate(archive)
	if err != nil {
		return err
	}
	return os.WriteFile(textPath, text, 0o644)
}
