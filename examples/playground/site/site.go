// Package site builds the playground and the reference as a directory of static files, for any web
// server or a local disk.
//
// The files in order: site.go (Build), examples.go, engine.go (the engine as WebAssembly),
// packages.go (npm packages), page.go (scripts and styles), reference.go (the pages of the reference
// and their search index), licenses.go.
package site

import (
	"fmt"
	"os"
	"path/filepath"
)

// builder builds a site.
type builder struct {
	// root is the root of the repository, dir the directory of the site.
	root, dir string
}

// own returns the path of a source file or directory of the playground.
func (b *builder) own(names ...string) string {
	return filepath.Join(append([]string{b.root, "examples", "playground"}, names...)...)
}

// Build builds the site of the repository at root in a directory. It creates the directory if
// necessary.
func Build(root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	b := &builder{root, dir}
	if err := os.MkdirAll(filepath.Join(dir, "reference"), 0o777); err != nil {
		return err
	}
	packages, err := b.installPackages()
	if err != nil {
		return err
	}
	size, err := b.engine()
	if err != nil {
		return err
	}
	bundled, err := b.page(packages, size)
	if err != nil {
		return err
	}
	if err := b.reference(); err != nil {
		return err
	}
	return b.licenses(packages, bundled)
}

// write writes a file of the site.
func (b *builder) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(b.dir, name), data, 0o666)
}

// copy copies a file of the sources.
func (b *builder) copy(name string) error {
	data, err := os.ReadFile(b.own("web", name))
	if err != nil {
		return err
	}
	return b.write(name, data)
}

// failed adds the output of a program to its error.
func failed(what string, output []byte, err error) error {
	return fmt.Errorf("%s: %w\n%s", what, err, output)
}
