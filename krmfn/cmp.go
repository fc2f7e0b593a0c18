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
	"github.com/preadmit/preadmit/internal/input"
)

// layout is a type of application directory, and how to render it.
type layout struct {
	// name describes the directory in messages. A directory has this layout if it has one of
	// files.
	name  string
	files []string
	read  func(a *application, ctx context.Context, f *files) []*manifest.Stream
}

const (
	kustomization  = "a kustomization"
	chart          = "a Helm chart"
	plainManifests = "plain manifests"
)

// layouts are tried in the order of Argo CD.
var layouts = []layout{
	{kustomization, input.KustomizationNames, (*application).kustomize},
	{chart, []string{input.ChartName}, (*application).helm},
	{plainManifests, nil, (*application).plain},
}

// application is an Argo CD v3 application, as the environment of its plugin describes it.
type application struct {
	process *Process
	config  *config
	layout  layout
	// bounds are the directories that paths in parameters must not leave.
	bounds *bounds
}

// newApplication finds the layout of the working directory and the root of its repository.
func (p *Process) newApplication(c *config) *application {
	a := &application{process: p, config: c, bounds: &bounds{
		dirs: []string{p.Dir}, names: "the repository of the application",
		advice: "parameters can only name files in the repository; flags in plugin.yaml may name other files",
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
			p.ledger.NoteRead(name, input.RealPath(file))
			return true
		})
	})]
	return a
}

// path returns a path given by the author of the application.
func (a *application) path(name, label string) path {
	return path{name: name, base: a.process.Dir, within: a.bounds, label: label}
}

// cmp runs one of the commands of an Argo CD config management plugin: generate prints
// manifests, parameters announces the parameters.
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

// generate prints the manifests of the application as the policies change them. Flags come
// from whoever installs the plugin and win over the environment.
func (p *Process) generate(ctx context.Context, given arguments) int {
	var c config
	app := p.newApplication(&c)
	c.unlisted = true
	c.givePolicies = "give policies with -p in plugin.yaml, or in the directory of the application: Argo CD does not show warnings of a plugin"
	c.options.Engine.Namespace = p.getenv("ARGOCD_APP_NAMESPACE")
	version := p.kubeVersion()
	c.options.Engine.KubernetesVersion = version
	problems := app.readParameters(p.getenv("ARGOCD_APP_PARAMETERS"))
	given.apply(&c)
	if c.options.Engine.KubernetesVersion == version && version != "" && !engine.KnowsKubernetesVersion(version) {
		problems = append(problems, c.useNearestVersion())
	}
	return p.mutate(ctx, &c, func(f *files) []*manifest.Stream {
		if f.diagnostics = append(f.diagnostics, problems...); source.HasErrors(problems) {
			return nil
		}
		return app.layout.read(app, ctx, f)
	})
}

// useNearestVersion selects the known version nearest to the version of the cluster.
func (c *config) useNearestVersion() source.Diagnostic {
	version := c.options.Engine.KubernetesVersion
	nearest := engine.NearestKubernetesVersion(version)
	if nearest == "" {
		return source.Errorf(source.Position{}, "option-value", "KUBE_VERSION: %q is not a version of Kubernetes", version).
			With("expected " + engine.KnownKubernetesVersions())
	}
	c.options.Engine.KubernetesVersion = nearest
	return source.Warningf(source.Position{}, "version-nearest", "KUBE_VERSION: the cluster has version %s, which is not known; the policies run as in %s", version, nearest).
		With("known are " + engine.KnownKubernetesVersions() + "; the flag --kubernetes-version of preadmit cmp generate names another one")
}

// kubeVersion returns the version of the cluster without the suffix of its distributor.
func (p *Process) kubeVersion() string {
	version, _, _ := strings.Cut(p.getenv("KUBE_VERSION"), "+")
	return version
}

// program returns a program to run in the directory of the application.
func (f *files) program(args ...string) *Program {
	return &Program{Args: args, Dir: f.process.Dir, Stderr: f.process.Stderr, MaxOutput: f.reader.Limit.Bytes}
}

// kustomize runs kustomize without any flag that lets it run other programs.
func (a *application) kustomize(ctx context.Context, f *files) []*manifest.Stream {
	return f.rendered(ctx, a.config, f.program("kustomize", "build", "."))
}

// skipMark marks files that Argo CD skips.
const skipMark = "+argocd:skip-file-rendering"

// plain reads the manifests in the directory as Argo CD does. It reads subdirectories only
// with the parameter recurse.
func (a *application) plain(_ context.Context, f *files) []*manifest.Stream {
	set := f.set()
	set.read, set.set.Whole = a.config.within(f.bounds()), a.config.options.Engine.Plain
	dir := a.path(".", "")
	dir.shallow = !a.config.recurse
	set.addAny(dir)
	set.set.Files = slices.DeleteFunc(set.set.Files, func(f input.File) bool { return bytes.Contains(f.Text, []byte(skipMark)) })
	return f.filled(set.parse(), "the directory of the application", a.config)
}

const cmpText = `Run as a config management plugin of Argo CD (version 2). plugin.yaml names these commands,
and Argo CD runs them in the directory of an application, without a shell.

Usage:
  %s

generate renders the directory and prints the manifests as the policies change them. If
anything fails, or if there are no manifests, it prints nothing and fails, because Argo CD
deletes objects that are not printed. How it renders depends on the files in the directory:
  kustomization.yaml, kustomization.yml or Kustomization: kustomize build .
  Chart.yaml: helm template, with the name and the namespace of the application, after
    helm dependency build if dependencies are missing
  otherwise: the *.yaml, *.yml and *.json files, without hidden files and files with Argo
    CD's mark ` + skipMark + `

parameters prints the parameters that an application can set, for Argo CD's user
interface:
%s
Paths in parameters are relative to the directory and must not leave the repository. Flags
in plugin.yaml win over parameters, or add to a list; their paths may lead anywhere.

Example:
  spec:
    generate: {command: [preadmit, cmp, generate, -p, /policies]}
    parameters: {dynamic: {command: [preadmit, cmp, parameters]}}

Flags (those with PATH take files and directories, and may be repeated):
%s
%s  Argo CD sets ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PARAMETERS,
  ARGOCD_APP_SOURCE_PATH, KUBE_VERSION and KUBE_API_VERSIONS

Exit status:
  0  success
  1  a policy denied a manifest
  2  a command failed, there are no manifests, or the input, a policy, a parameter or the
     command line is wrong
`

func cmpHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, cmpText, c.usage, parametersHelp(), flagsHelp(c), environmentText)
}
