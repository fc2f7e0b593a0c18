package krmfn

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// maker is a kind from which a controller in the cluster creates other objects.
type maker struct {
	group, kind, one, many string
	// program is a command that prints these objects.
	program string
	// sources are the fields that name a directory, as a map with a path, or a list of such maps. fields of these
	// maps change the objects of the directory, which may be evaluated without them.
	sources []string
	fields  []string
	// components is the field of such a map with paths of components of kustomize, relative to its path.
	components string
}

var makers = []maker{
	{
		"kustomize.toolkit.fluxcd.io", "Kustomization", "Kustomization of Flux", "Kustomizations of Flux", "flux build kustomization",
		[]string{"spec"},
		[]string{"commonMetadata", "components", "images", "namePrefix", "nameSuffix", "patches", "patchesJson6902", "patchesStrategicMerge", "postBuild", "targetNamespace"},
		"components",
	},
	{"helm.toolkit.fluxcd.io", "HelmRelease", "HelmRelease of Flux", "HelmReleases of Flux", "helm template", []string{"spec"}, []string{"postRenderers"}, ""},
	{
		"argoproj.io", "Application", "Application of Argo CD", "Applications of Argo CD", "argocd app manifests",
		[]string{"spec.source", "spec.sources"},
		[]string{"helm", "kustomize", "plugin"},
		"kustomize.components",
	},
	{
		"argoproj.io", "ApplicationSet", "ApplicationSet of Argo CD", "ApplicationSets of Argo CD", "argocd app manifests",
		[]string{"spec.template.spec.source", "spec.template.spec.sources"},
		[]string{"helm", "kustomize", "plugin"},
		"kustomize.components",
	},
}

// field returns the path of a field of maps.
func field(name string) change.Path { return change.Keys(strings.Split(name, ".")...) }

// directories returns the positions in an object of the maps that name a directory.
func (m *maker) directories(object map[string]any) (paths []change.Path) {
	for _, name := range m.sources {
		path := field(name)
		value, _ := path.Get(object)
		switch v := value.(type) {
		case map[string]any:
			paths = append(paths, path)
		case []any:
			for i := range v {
				paths = append(paths, path.Index(i))
			}
		}
	}
	return paths
}

// tellUnseen returns a note about manifests from which the cluster creates other objects.
// Policies change those in the cluster, but preadmit does not see them.
func tellUnseen(streams []*manifest.Stream) []source.Diagnostic {
	counts, applied := make(makes, len(makers)), map[string]int{}
	var first source.Position
	for _, s := range streams {
		for _, d := range s.Documents() {
			i := makerOf(d.Kind())
			if i < 0 {
				continue
			}
			if counts[i]++; !first.IsKnown() {
				first = d.At(nil)
			}
			for _, name := range makers[i].changed(d.Object()) {
				applied[name]++
			}
		}
	}
	what, programs := counts.name()
	if what == "" {
		return nil
	}
	note := source.Diagnostic{At: first, Severity: source.Info, Code: "made-in-cluster"}.
		Saying(source.Messagef("objects that the cluster creates from %s are not evaluated%s", source.Literal(what), source.Literal(notApplied(applied))))
	return []source.Diagnostic{note.With(adviseMade(programs))}
}

// makes are how many there are of each of the makers.
type makes []int

// name describes them, and the programs that print what they make.
func (n makes) name() (what string, programs []string) {
	var parts []string
	for i, m := range makers {
		if n[i] > 0 {
			parts = append(parts, plural(n[i], m.one, m.many))
			if !slices.Contains(programs, m.program) {
				programs = append(programs, m.program)
			}
		}
	}
	return strings.Join(parts, ", "), programs
}

// adviseMade says how to evaluate what programs print.
func adviseMade(programs []string) string {
	return "render them and evaluate the output: preadmit exec -- PROGRAM, with " + source.Alternatives(programs)
}

// changed returns the fields of an object that change what its directories have.
func (m *maker) changed(object map[string]any) (names []string) {
	for _, name := range m.fields {
		if slices.ContainsFunc(m.directories(object), func(at change.Path) bool {
			value, _ := at.Key(name).Get(object)
			return value != nil
		}) {
			names = append(names, name)
		}
	}
	return names
}

// notApplied says which fields change the objects in the cluster, with how many objects have each of them.
func notApplied(counts map[string]int) string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(counts)) {
		fields = append(fields, fmt.Sprintf("%s (%d)", field, counts[field]))
	}
	switch last := len(fields) - 1; last {
	case -1:
		return ""
	case 0:
		return "; what they change with " + fields[0] + " is not applied"
	default:
		return "; what they change with " + strings.Join(fields[:last], ", ") + " and " + fields[last] + " is not applied"
	}
}

func makerOf(kind gvk.Kind) int {
	for i, m := range makers {
		if m.group == kind.Group && m.kind == kind.Kind {
			return i
		}
	}
	return -1
}

// use is a place that names a directory for a controller.
type use struct {
	// maker is the index of its kind.
	maker int
	at    source.Position
	// file is the path of its file, whose directory is in the repository that the directory is in.
	file string
}

// uses has the places that name directories, by the paths of these. Paths are relative to the root of a repository,
// of which only that it is above the file is known.
type uses map[string][]use

// find adds the places in files that name directories.
func (u uses) find(files []input.File, read readFunc) {
	for _, f := range files {
		if !slices.ContainsFunc(makers, func(m maker) bool { return bytes.Contains(f.Text, []byte(m.group)) }) {
			continue
		}
		stream, _ := read(f.Name, f.Text) // whoever evaluates the file reports its mistakes
		for _, d := range stream.Documents() {
			if i := makerOf(d.Kind()); i >= 0 {
				u.add(i, d, f.Found)
			}
		}
	}
}

// add adds the directories that an object names, and the components that it adds to them.
func (u uses) add(kind int, d *manifest.Document, file string) {
	m, object := &makers[kind], d.Object()
	text := func(at change.Path) string {
		value, _ := at.Get(object)
		name, _ := value.(string)
		return name
	}
	for _, at := range m.directories(object) {
		dir := text(at.Key("path"))
		if strings.Contains(dir, "{{") || strings.Contains(dir, "${") {
			dir = "" // it differs by generated object
		}
		u.note(dir, use{kind, d.At(at.Key("path")), file})
		if m.components == "" {
			continue
		}
		components := slices.Concat(at, field(m.components))
		items, _ := components.Get(object)
		list, _ := items.([]any)
		for i := range list {
			u.note(filepath.Join(dir, text(components.Index(i))), use{kind, d.At(components.Index(i)), file})
		}
	}
}

func (u uses) note(name string, one use) {
	for name = filepath.ToSlash(filepath.Clean(name)); strings.HasPrefix(name, "../"); {
		name = name[len("../"):]
	}
	if name = strings.TrimPrefix(name, "/"); name != "" && name != "." && name != ".." {
		u[name] = append(u[name], one)
	}
}

// of returns the places that name a directory, which may be several of one object.
func (u uses) of(dir string) (found []use) {
	for root := filepath.Dir(dir); root != filepath.Dir(root); root = filepath.Dir(root) {
		below, err := filepath.Rel(root, dir)
		if err != nil {
			break
		}
		for _, one := range u[filepath.ToSlash(below)] {
			if input.IsWithin(one.file, root) {
				found = append(found, one)
			}
		}
	}
	return found
}

// adviseVariables adds advice to errors in lines with variables, which Flux substitutes after
// kustomize.
func adviseVariables(streams []*manifest.Stream, diagnostics []source.Diagnostic) {
	files := map[string]*manifest.Stream{}
	for _, s := range streams {
		files[s.Name()] = s
	}
	for i, d := range diagnostics {
		s := files[d.At.File]
		if d.Code != source.CodeManifestInvalid || s == nil || len(s.Documents()) == 0 {
			continue
		}
		if line := s.Documents()[0].Line(d.At); strings.Contains(line, "${") {
			diagnostics[i].Advice = "the line has a variable that Flux would substitute (postBuild); evaluate the output of Flux: preadmit exec -- flux build kustomization NAME"
		}
	}
}
