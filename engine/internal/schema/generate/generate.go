// Package generate makes the compact texts of the built-in kinds that package schema embeds:
// builtin.txt for the default version of Kubernetes, and the differences for each other version. The
// program in its directory command writes them.
//
// What the documents do not say comes from the tables of Go types in gotypes; bash gotypes/generate
// renews them. An archive holds the documents, without descriptions, of what a server with default feature
// gates serves.
//
// The files in order: generate.go (the files), archive.go (the archives), descriptions.go (what fields are),
// gotypes.go (the tables of Go types), text.go (the compact text).
package generate

import (
	"fmt"
	"os"

	"github.com/preadmit/preadmit/engine/internal/release"
)

// The files of a minor version.
const (
	archivePath     = "openapi/v1.%d.tar.gz"
	textPath        = "builtin.txt"
	differencesPath = "versions/1.%d.txt"
)

// Renew writes new archives of minor versions of Kubernetes, from the directories of the module
// k8s.io/kubernetes, and the descriptions of the fields in the default version. Without such it writes the texts,
// from the archives. It runs in the directory of package schema.
func Renew(modules map[int]string) error {
	for minor, dir := range modules {
		archive, err := pack(os.DirFS(dir), minor)
		if err != nil {
			return err
		}
		if err := os.WriteFile(fmt.Sprintf(archivePath, minor), archive, 0o644); err != nil {
			return err
		}
		if minor != release.Default {
			continue
		}
		descriptions, err := described(os.DirFS(dir), minor)
		if err != nil {
			return err
		}
		if err := os.WriteFile(descriptionsPath, descriptions, 0o644); err != nil {
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
