package site

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// page builds the page with its scripts and styles, and returns the packages in it.
func (b *builder) page(packages string, size int) (bundled []string, err error) {
	examples, err := Examples(b.root)
	if err != nil {
		return nil, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	support := filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js")
	worker, _, err := b.bundle(packages, "src/worker.ts", map[string]string{"wasm_exec": support}, nil)
	if err != nil {
		return nil, err
	}
	script, bundled, err := b.bundle(packages, "src/main.ts", nil, map[string]any{
		"WORKER":   string(worker),
		"EXAMPLES": examples,
		"WASM":     map[string]any{"url": engineFile, "script": engineScript, "size": size},
	})
	if err != nil {
		return nil, err
	}
	style, _, err := b.bundle(packages, "playground.css", nil, nil)
	if err != nil {
		return nil, err
	}
	return bundled, errors.Join(b.write("playground.js", script), b.write("playground.css", style), b.copy("index.html"), b.copy("icon.svg"))
}

// bundle writes a script or style sheet and its imports into one file. It replaces names by values.
func (b *builder) bundle(packages, entry string, aliases map[string]string, names map[string]any) ([]byte, []string, error) {
	define := map[string]string{}
	for name, value := range names {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, nil, err
		}
		define[name] = string(data)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:   []string{b.own("web", entry)},
		AbsWorkingDir: b.own("web"),
		NodePaths:     []string{packages},
		Alias:         aliases,
		Define:        define,
		Bundle:        true,
		Format:        api.FormatIIFE,
		Target:        api.ES2022,
		LegalComments: api.LegalCommentsEndOfFile,
		// Some hosts do not send the encoding of scripts.
		Charset:          api.CharsetASCII,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true,
		Metafile: true,
		LogLevel: api.LogLevelSilent,
		Outfile:  "out",
	})
	if len(result.Errors) > 0 {
		messages := api.FormatMessages(result.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, nil, errors.New(strings.Join(messages, ""))
	}
	bundled, err := bundledIn(result.Metafile)
	return result.OutputFiles[0].Contents, bundled, err
}

// bundledIn returns the packages in a bundle.
func bundledIn(metafile string) ([]string, error) {
	var meta struct{ Inputs map[string]any }
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	var names []string
	for input := range meta.Inputs {
		_, rest, ok := strings.Cut(filepath.ToSlash(input), "node_modules/")
		if !ok {
			continue
		}
		parts := strings.SplitN(rest, "/", 3)
		name := parts[0]
		if strings.HasPrefix(name, "@") {
			name += "/" + parts[1]
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
