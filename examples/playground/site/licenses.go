package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// library is third-party software in the site.
type library struct{ name, version, dir string }

// licenses writes the licences of all software in the site: packages in the scripts, modules in the
// engine, and Go.
func (b *builder) licenses(packages string, bundled []string) error {
	libraries, err := b.modules()
	if err != nil {
		return err
	}
	for _, name := range bundled {
		dir := filepath.Join(packages, filepath.FromSlash(name))
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			return err
		}
		var described struct{ Version string }
		if err := json.Unmarshal(data, &described); err != nil {
			return err
		}
		libraries = append(libraries, library{name, described.Version, dir})
	}
	libraries = append([]library{{"preadmit", "", b.root}}, libraries...)
	var out bytes.Buffer
	for _, l := range libraries {
		text, err := l.license()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\n%s %s\n%[1]s\n\n%[4]s\n\n", strings.Repeat("=", 72), l.name, l.version, strings.TrimSpace(text))
	}
	return b.write("licenses.txt", out.Bytes())
}

// license returns the text of the licence with its notices.
func (l library) license() (string, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(l.dir, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, string(data))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("%s has no licence in %s", l.name, l.dir)
	}
	return strings.Join(texts, "\n"), nil
}

// modules returns the modules in the engine, and Go.
func (b *builder) modules() ([]library, error) {
	list := exec.Command("go", "list", "-deps", "-json=Module,Standard", "./wasm")
	list.Dir = b.own()
	list.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	libraries := []library{{"Go", "", strings.TrimSpace(string(goroot))}}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p struct {
			Module *struct{ Path, Version, Dir string }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil || p.Module.Version == "" || strings.HasPrefix(p.Module.Path, "github.com/preadmit/") {
			continue
		}
		l := library{p.Module.Path, p.Module.Version, p.Module.Dir}
		if !slices.Contains(libraries, l) {
			libraries = append(libraries, l)
		}
	}
	slices.SortFunc(libraries[1:], func(a, b library) int { return strings.Compare(a.name, b.name) })
	return libraries, nil
}
