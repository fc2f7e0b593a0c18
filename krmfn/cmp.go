package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// layout is what the directory of an application may hold, and how manifests are made
// of it. The order is that in which Argo CD decides.
type layout struct {
	// name is how messages call the directory, files are those that tell.
	name  string
	files []string
	read  func(a *application, ctx context.Context, f *files) []*manifest.Stream
}

const (
	kustomization  = "a kustomization"
	chart          = "a Helm chart"
	plainManifests = "plain manifests"
)

// The files that tell what a directory is.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

const chartName = "Chart.yaml"

var layouts = []layout{
	{kustomization, kustomizationFiles, (*application).kustomize},
	{chart, []string{chartName}, (*application).helm},
	{plainManifests, nil, (*application).plain},
}

// application is an application of Argo CD v3, as its environment tells of it.
type application struct {
	process *Process
	config  *config
	layout  layout
	// bounds are those of the paths that the application's author gives.
	bounds *bounds
}

// newApplication finds out what the working directory holds, and where its repository
// starts.
func (p *Process) newApplication(c *config) *application {
	a := &application{process: p, config: c, bounds: &bounds{
		dirs: []string{p.Dir}, names: "the repository of the application",
		advice: "parameters are for files of the application; flags in plugin.yaml may name others",
	}}
	below := filepath.Clean(filepath.FromSlash(p.getenv("ARGOCD_APP_SOURCE_PATH")))
	if root, ok := strings.CutSuffix(p.Dir, string(filepath.Separator)+below); ok && filepath.IsLocal(below) {
		a.bounds.dirs = append(a.bounds.dirs, root)
	}
	a.layout = layouts[slices.IndexFunc(layouts, func(l layout) bool {
		return l.files == nil || slices.ContainsFunc(l.files, func(name string) bool {
			file := filepath.Join(p.Dir, name)
			if _, err := os.Stat(file); err != nil {
				return false
			}
			p.ledger.noteRead(name, realPath(file))
			return true
		})
	})]
	return a
}

// path is a path that the application's author gives.
func (a *application) path(name, label string) path {
	return path{name: name, base: a.process.Dir, within: a.bounds, label: label}
}

// cmp is a config management plugin: the command that makes manifests, or the one that
// announces parameters.
func (p *Process) cmp(ctx context.Context, given arguments) int {
	actions := map[string]func(ctx context.Context, given arguments) int{"generate": p.generate, "parameters": p.announce}
	err := errors.New("expected generate or parameters")
	if len(given.operands) > 0 {
		name := given.operands[0]
		switch action := actions[name]; {
		case action == nil:
			err = fmt.Errorf("unknown action %q; expected generate or parameters", name)
		case len(given.operands) > 1:
			err = fmt.Errorf("unexpected argument %q", given.operands[1])
		default:
			return action(ctx, given)
		}
	}
	return p.misused(err, "preadmit cmp --help")
}

// generate prints the manifests of the application as the policies change them. What
// flags say, who installs the plugin has said; that wins over the environment.
func (p *Process) generate(ctx context.Context, given arguments) int {
	var c config
	app := p.newApplication(&c)
	c.unlisted = true
	c.engine.Namespace = p.getenv("ARGOCD_APP_NAMESPACE")
	version := p.kubeVersion()
	c.engine.KubernetesVersion = version
	problems := app.readParameters(p.getenv("ARGOCD_APP_PARAMETERS"))
	given.apply(&c)
	if c.engine.KubernetesVersion == version && version != "" && !engine.KnowsKubernetesVersion(version) {
		problems = append(problems, c.useNearestVersion())
	}
	return p.mutate(ctx, &c, func(f *files) []*manifest.Stream {
		if f.diagnostics = append(f.diagnostics, problems...); source.HasErrors(problems) {
			return nil
		}
		return app.layout.read(app, ctx, f)
	})
}

// useNearestVersion takes the known version that is nearest to that of the cluster.
func (c *config) useNearestVersion() source.Diagnostic {
	version := c.engine.KubernetesVersion
	nearest := engine.NearestKubernetesVersion(version)
	if nearest == "" {
		return source.Errorf(source.Position{}, "option-value", "KUBE_VERSION: %q is not a version of Kubernetes", version).
			With("expected " + engine.KnownKubernetesVersions())
	}
	c.engine.KubernetesVersion = nearest
	return source.Warningf(source.Position{}, "version-nearest", "KUBE_VERSION: the cluster has version %s, which is not known; the policies run as in %s", version, nearest).
		With("known are " + engine.KnownKubernetesVersions() + "; the flag --kubernetes-version of preadmit cmp generate names another one")
}

// kubeVersion is the version of the cluster without what its distributor adds.
func (p *Process) kubeVersion() string {
	version, _, _ := strings.Cut(p.getenv("KUBE_VERSION"), "+")
	return version
}

// program is a program to run in the directory of the application.
func (f *files) program(args ...string) *Program {
	return &Program{Args: args, Dir: f.process.Dir, Stderr: f.process.Stderr, MaxOutput: f.input.Bytes}
}

// kustomize runs kustomize without any flag that lets it run other programs.
func (a *application) kustomize(ctx context.Context, f *files) []*manifest.Stream {
	return f.rendered(ctx, a.config, f.program("kustomize", "build", "."))
}

// skipMark marks files that Argo CD leaves out.
const skipMark = "+argocd:skip-file-rendering"

// plain reads the manifests in the directory, as Argo CD does: those below it only if
// asked to.
func (a *application) plain(_ context.Context, f *files) []*manifest.Stream {
	set := f.set()
	set.read, set.whole = a.config.within(f.bounds()), a.config.engine.Plain
	dir := a.path(".", "")
	dir.shallow = !a.config.recurse
	set.add(dir)
	set.found = slices.DeleteFunc(set.found, func(f file) bool { return bytes.Contains(f.data, []byte(skipMark)) })
	return f.filled(set.parse(), "the directory of the application", a.config)
}

const cmpText = `Be a config management plugin of Argo CD, version 2, without a shell: commands for its
plugin.yaml, run in the directory of an application.

Usage:
  %s

generate finds out what the directory is, makes manifests of it and prints them as the
policies change them. If anything fails, or there are no manifests, it prints nothing and
fails: Argo CD would delete what is not printed.
  kustomization.yaml, kustomization.yml or Kustomization: kustomize build .
  Chart.yaml: helm template, with the name and the namespace of the application, after
    helm dependency build if dependencies are missing
  otherwise: the *.yaml, *.yml and *.json files in it, without hidden ones and those with
    the mark of Argo CD, ` + skipMark + `

parameters prints the parameters that an application may have, for Argo CD's user
interface:
%s
Their paths are relative to the directory, and must not lead out of the repository. Flags
stand in plugin.yaml and win over parameters, or add to a list; their paths may lead
anywhere.

Example:
  spec:
    generate: {command: [preadmit, cmp, generate, -p, /policies]}
    parameters: {dynamic: {command: [preadmit, cmp, parameters]}}

Flags (those with PATH take files and directories, and may be repeated):
%s
%s  ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS, ARGOCD_APP_SOURCE_PATH,
  KUBE_VERSION and KUBE_API_VERSIONS are set by Argo CD

Exit status:
  0  done
  1  a policy denied a manifest
  2  a command failed or there are no manifests, or the input, a policy, a parameter or
     the command line is wrong
`

func cmpHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, cmpText, c.usage, parametersHelp(), flagsHelp(c), environmentText)
}
