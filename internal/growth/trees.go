package growth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/krmfn"
)

// helm renders a chart that has one template without expressions.
func helm(_ context.Context, program *krmfn.Program) ([]byte, error) {
	return os.ReadFile(filepath.Join(program.Dir, "templates", "m.yaml"))
}

// ofTrees are the dimensions of directories with charts, and of directories for output.
func ofTrees() []dimension {
	return append(ofOutput(), ofBuilds()...)
}

// treeManifest is a manifest of a tree.
const treeManifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop, labels: {app: a}}\ndata: {a: b}\n"

// eachIn returns a directory with a manifest, and with n times what add adds.
func eachIn(n int, add func(files map[string]string, i int)) map[string]string {
	files := map[string]string{policiesFile: labels(1), "in/m.yaml": treeManifest}
	for i := range n {
		add(files, i)
	}
	return files
}

// ofOutput are the dimensions of directories for output.
func ofOutput() []dimension {
	return []dimension{
		{name: "prune/files", commands: []string{"render"}, flags: []string{"--output-dir", "out", "--prune", "in"}, n: 25, files: func(n int) map[string]string {
			return eachIn(n, func(files map[string]string, i int) {
				name := fmt.Sprintf("gone-%d.yaml", i)
				files["out/"+name] = treeManifest
				files["out/.preadmit-sums"] += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(treeManifest)), name)
			})
		}},
		{name: "copy/files", commands: []string{"render"}, flags: []string{"--output-dir", "out", "--copy-others", "--prune", "in"}, n: 25, files: func(n int) map[string]string {
			return eachIn(n, func(files map[string]string, i int) { files[fmt.Sprintf("in/f-%d.txt", i)] = "text" })
		}},
	}
}

// ofBuilds are the dimensions of --build.
func ofBuilds() []dimension {
	chart := func(files map[string]string, i int) {
		files[fmt.Sprintf("in/c-%d/Chart.yaml", i)] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
		files[fmt.Sprintf("in/c-%d/templates/m.yaml", i)] = treeManifest
	}
	built := []string{"diff", "explain", "check"}
	return []dimension{
		{name: "build/charts", commands: built, flags: []string{"--build", "in"}, program: helm, n: 16, files: func(n int) map[string]string {
			return eachIn(n, chart)
		}},
		{name: "build/manifests", commands: built, flags: []string{"--build", "in"}, program: helm, n: 25, files: func(n int) map[string]string {
			files := eachIn(n, func(files map[string]string, i int) {
				files[fmt.Sprintf("in/m-%d.yaml", i)] = strings.ReplaceAll(treeManifest, "name: c,", fmt.Sprintf("name: c-%d,", i))
			})
			chart(files, 0)
			return files
		}},
		{name: "build/releases", commands: built, flags: []string{"--build", "in"}, program: helm, n: 16, files: func(n int) map[string]string {
			files := eachIn(1, chart)
			files[configurationFile] = "directories:\n- path: in/c-0\n  chart:\n" + lines(n, "  - {release: r-#}\n")
			return files
		}},
	}
}
