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

// evaluated says which directories --build has evaluated: dirs has their paths, and of the directory of each stream.
type evaluated struct {
	dirs []string
	of   map[*manifest.Stream]string
}

// add adds the streams that were evaluated for a directory.
func (e *evaluated) add(dir string, streams ...*manifest.Stream) {
	e.dirs = append(e.dirs, dir)
	for _, s := range streams {
		e.of[s] = dir
	}
}

// has reports whether the directory that an object of a stream names, or one below it, was evaluated. The name is
// relative to the root of the repository, which is above the stream.
func (e *evaluated) has(s *manifest.Stream, name string) bool {
	name = inRepository(name)
	if e == nil || name == "" {
		return false
	}
	for root := e.of[s]; root != ""; root = filepath.Dir(root) {
		dir := filepath.Join(root, name)
		if slices.ContainsFunc(e.dirs, func(one string) bool { return input.IsWithin(one, dir) }) {
			return true
		}
		if root == filepath.Dir(root) {
			break
		}
	}
	return false
}

// made counts the objects of controllers: how many of each of the makers, and how many change what their
// directories have with each of the fields.
type made struct {
	first   source.Position
	counts  makes
	applied map[string]int
}

func (m *made) add(d *manifest.Document, maker int, fields []string) {
	if m.counts == nil {
		m.counts, m.applied, m.first = make(makes, len(makers)), map[string]int{}, d.At(nil)
	}
	m.counts[maker]++
	for _, name := range fields {
		m.applied[name]++
	}
}

// note returns a note with the advice to render the objects, or nil if there are no objects.
func (m *made) note(message func(what string) string) []source.Diagnostic {
	if m.counts == nil {
		return nil
	}
	what, programs := m.counts.name()
	note := source.Diagnostic{At: m.first, Severity: source.Info, Code: "made-in-cluster"}.Saying(source.Messagef("%s", source.Literal(message(what))))
	return []source.Diagnostic{note.With(adviseMade(programs))}
}

// tellUnseen returns notes about manifests from which the cluster creates other objects.
// Policies change those in the cluster, but preadmit does not see them, or not as the cluster creates them.
func tellUnseen(streams []*manifest.Stream, done *evaluated) []source.Diagnostic {
	var unseen, partly made
	generated := artifacts{}
	for _, s := range streams {
		for _, d := range s.Documents() {
			generated.add(d)
		}
	}
	for _, s := range streams {
		for _, d := range s.Documents() {
			i := makerOf(d.Kind())
			if i < 0 {
				continue
			}
			m := &makers[i]
			fields, dirs := m.changed(d.Object()), m.directories(d.Object())
			switch isDone := func(at change.Path) bool {
				return slices.ContainsFunc(generated.directories(d, textAt(d, at.Key("path"))), func(dir string) bool { return done.has(s, dir) })
			}; {
			case len(dirs) == 0 || slices.ContainsFunc(dirs, func(at change.Path) bool { return !isDone(at) }):
				unseen.add(d, i, fields)
			case len(fields) > 0:
				partly.add(d, i, fields)
			}
		}
	}
	return append(unseen.note(func(what string) string {
		text := "objects that the cluster creates from " + what + " are not evaluated"
		if fields := namedFields(unseen.applied); fields != "" {
			text += "; what they change with " + fields + " is not applied"
		}
		return text
	}), partly.note(func(what string) string {
		return "the directories of " + what + " are evaluated, but what these change with " + namedFields(partly.applied) + " is not applied"
	})...)
}

// textAt returns the text at a path of a document, or "".
func textAt(d *manifest.Document, at change.Path) string {
	value, _ := at.Get(d.Object())
	text, _ := value.(string)
	return text
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

// namedFields lists the fields that change the objects in the cluster, with how many objects have each of them.
func namedFields(counts map[string]int) string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(counts)) {
		fields = append(fields, fmt.Sprintf("%s (%d)", field, counts[field]))
	}
	if last := len(fields) - 1; last > 0 {
		return strings.Join(fields[:last], ", ") + " and " + fields[last]
	}
	return strings.Join(fields, "")
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
	type object struct {
		maker    int
		document *manifest.Document
		file     string
	}
	var found []object
	generated := artifacts{}
	for _, f := range files {
		if !bytes.Contains(f.Text, []byte(generatorKind.Group)) && !slices.ContainsFunc(makers, func(m maker) bool { return bytes.Contains(f.Text, []byte(m.group)) }) {
			continue
		}
		stream, _ := read(f.Name, f.Text) // whoever evaluates the file reports its mistakes
		for _, d := range stream.Documents() {
			generated.add(d)
			if i := makerOf(d.Kind()); i >= 0 {
				found = append(found, object{i, d, f.Found})
			}
		}
	}
	for _, o := range found {
		u.add(o.maker, o.document, o.file, generated)
	}
}

// add adds the directories that an object names, and the components that it adds to them.
func (u uses) add(kind int, d *manifest.Document, file string, generated artifacts) {
	m := &makers[kind]
	for _, at := range m.directories(d.Object()) {
		name := textAt(d, at.Key("path"))
		if differs(name) {
			name = ""
		}
		for _, dir := range generated.directories(d, name) {
			u.note(dir, use{kind, d.At(at.Key("path")), file})
			if m.components == "" {
				continue
			}
			for _, component := range itemsAt(d, slices.Concat(at, field(m.components))) {
				u.note(filepath.Join(dir, textAt(d, component)), use{kind, d.At(component), file})
			}
		}
	}
}

func (u uses) note(name string, one use) {
	if name = inRepository(name); name != "" {
		u[name] = append(u[name], one)
	}
}

// differs reports whether the name of a directory differs by generated object.
func differs(name string) bool { return strings.Contains(name, "{{") || strings.Contains(name, "${") }

// inRepository returns the path of a directory from the root of a repository; "" for the root itself.
func inRepository(name string) string {
	for name = filepath.ToSlash(filepath.Clean(name)); strings.HasPrefix(name, "../"); {
		name = name[len("../"):]
	}
	if name = strings.TrimPrefix(name, "/"); name == "." || name == ".." {
		return ""
	}
	return name
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
