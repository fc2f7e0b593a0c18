package krmfn

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// A directory of a repository holds more than manifests. Files in it without Kubernetes objects
// are skipped and counted. A file that looks like a Kubernetes object but cannot be read is an
// error. These rules do not apply to a file that the user names.

// foreign is the type of a file without manifests, in the singular and in the plural.
type foreign struct{ one, many string }

var (
	chartTemplate     = foreign{"template of a chart", "templates of charts"}
	chartFile         = foreign{"chart", "charts"}
	kustomizationFile = foreign{"kustomization", "kustomizations"}
	kustomizePart     = foreign{"patch or part of a kustomization", "patches and parts of kustomizations"}
	otherFile         = foreign{"file without apiVersion and kind", "files without apiVersion and kind"}
	foreigns          = []foreign{chartTemplate, chartFile, kustomizationFile, kustomizePart, otherFile}
)

// passedOver is a file in a directory that was skipped because it holds no manifests.
type passedOver struct {
	name string
	what foreign
}

// site has the charts and kustomizations in the directories that were read. taken are charts
// and kustomizations that others use. parts are files that kustomizations use but that are not
// objects, such as patches.
type site struct {
	charts, kustomizations []string
	taken, parts           map[string]bool
}

// survey notes the chart or kustomization in a directory.
func (s *fileSet) survey(dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		switch name := e.Name(); {
		case name == chartName:
			s.site.charts = append(s.site.charts, dir)
			s.noteChart(dir)
		case isKustomization(name):
			s.site.kustomizations = append(s.site.kustomizations, dir)
			s.noteParts(dir, name)
		}
	}
}

func isKustomization(name string) bool { return slices.Contains(kustomizationFiles, name) }

// takenFields are the fields of a kustomization that name other kustomizations.
var takenFields = []string{"resources", "bases", "components"}

// partFields are the fields of a kustomization that name files which are not objects.
var partFields = []string{
	"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "configurations", "openapi", "transformers", "generators", "validators",
	"configMapGenerator", "secretGenerator", "helmCharts",
}

// noteParts notes the kustomizations and files that a kustomization uses. It ignores a
// kustomization that cannot be read.
func (s *fileSet) noteParts(dir, name string) {
	data, err := s.input.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return
	}
	stream, _ := manifest.ReadPlain(name, data)
	for _, d := range stream.Documents() {
		object := d.Object()
		if d.Kind().Kind == "Component" {
			s.site.taken[dir] = true
		}
		for _, field := range takenFields {
			eachText(object[field], func(text string) { s.site.taken[filepath.Join(dir, filepath.FromSlash(text))] = true })
		}
		for _, field := range partFields {
			eachText(object[field], func(text string) {
				if _, path, ok := strings.Cut(text, "="); ok {
					text = path // of a generator: key=path
				}
				s.site.parts[filepath.Join(dir, filepath.FromSlash(text))] = true
			})
		}
	}
}

// noteChart notes a chart that cannot be rendered alone: a dependency of another chart, or a
// library chart.
func (s *fileSet) noteChart(dir string) {
	if above := filepath.Dir(dir); filepath.Base(above) == "charts" && slices.Contains(s.site.charts, filepath.Dir(above)) {
		s.site.taken[dir] = true
	}
	data, err := s.input.ReadFile(filepath.Join(dir, chartName))
	if err != nil {
		return
	}
	stream, _ := manifest.ReadPlain(chartName, data)
	for _, d := range stream.Documents() {
		if d.TextAt("type") == "library" {
			s.site.taken[dir] = true
		}
	}
}

// eachText calls do for every string in a value.
func eachText(value any, do func(string)) {
	switch v := value.(type) {
	case string:
		do(v)
	case []any:
		for _, item := range v {
			eachText(item, do)
		}
	case map[string]any:
		for _, item := range v {
			eachText(item, do)
		}
	}
}

// sift returns the type of a file that was found in a directory. ok is false if the path does
// not show that the file holds no manifests.
func (t *site) sift(f file) (what foreign, ok bool) {
	if f.found == "" || len(t.charts)+len(t.kustomizations) == 0 {
		return what, false
	}
	name := filepath.Base(f.found)
	switch {
	case isKustomization(name):
		return kustomizationFile, true
	case name == chartName:
		return chartFile, true
	case t.parts[f.found]:
		return kustomizePart, true
	}
	for dir := filepath.Dir(f.found); ; dir = filepath.Dir(dir) {
		switch above := filepath.Dir(dir); {
		case filepath.Base(dir) == "templates" && slices.Contains(t.charts, above):
			return chartTemplate, true
		case above == dir:
			return what, false
		}
	}
}

// isTemplate reports whether a diagnostic says that a file is a template.
func isTemplate(d source.Diagnostic) bool { return d.Code == source.CodeTemplate }

// isInChart reports whether a file that was found in a directory is part of a chart.
func (t *site) isInChart(f file) bool {
	return f.found != "" && slices.ContainsFunc(t.charts, func(dir string) bool { return isWithin(f.found, dir) })
}

// holdsObjects reports whether a file in a directory should contain Kubernetes objects.
func holdsObjects(stream *manifest.Stream, problems []source.Diagnostic) bool {
	documents := stream.Documents()
	if source.HasErrors(problems) {
		return looksLikeObject(stream.Text()) || slices.ContainsFunc(documents, isObject)
	}
	return len(documents) == 0 || slices.ContainsFunc(documents, isObject)
}

// isObject reports whether a document should be a Kubernetes object. Configuration files of
// many programs have an apiVersion and a kind, but unlike objects no metadata.
func isObject(d *manifest.Document) bool {
	kind := d.Kind()
	if _, ok := d.Object()["metadata"].(map[string]any); ok {
		return kind.Kind != "" || kind.Version != ""
	}
	if kind.Kind == "" || kind.Version == "" {
		return false
	}
	return isOurs(kind) || engine.IsBuiltin(kind) || engine.IsPolicy(kind)
}

// isOurs reports whether a kind is for preadmit or for Kyverno's command. Documents of these
// kinds may have no metadata.
func isOurs(kind gvk.Kind) bool {
	return kind.Group == "preadmit.dev" || kind.Group == "cli.kyverno.io"
}

// looksLikeObject reports whether a text that cannot be parsed has an apiVersion or a kind. One
// of them is enough: a broken manifest must not be skipped.
func looksLikeObject(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "{") && !strings.HasPrefix(strings.TrimSpace(text), "{{") {
		return strings.Contains(text, `"apiVersion"`) || strings.Contains(text, `"kind"`)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "kind:") {
			return true
		}
	}
	return false
}

// tellForeign returns a note with the number of skipped files, or, if all is set, a note for
// each of them.
func (f *files) tellForeign(all bool) []source.Diagnostic {
	var notes []source.Diagnostic
	note := func(message string) *source.Diagnostic {
		notes = append(notes, source.Diagnostic{Severity: source.Info, Code: "no-manifest", Message: message})
		return &notes[len(notes)-1]
	}
	if all {
		for _, p := range f.foreign {
			note("not a manifest: " + p.what.one).At.File = p.name
		}
		return notes
	}
	var counts []string
	for _, what := range foreigns {
		n := 0
		for _, p := range f.foreign {
			if p.what == what {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, plural(n, what.one, what.many))
		}
	}
	if n := len(f.foreign); n > 0 {
		note(fmt.Sprintf("%s (%s); -v lists them", plural(n, "file is not a manifest", "files are not manifests"), strings.Join(counts, ", ")))
	}
	return notes
}

// tellUnrendered returns a note that the charts and kustomizations among the manifests are not
// rendered.
func (f *files) tellUnrendered() []source.Diagnostic {
	var what []string
	if n := len(f.unrendered.kustomizations); n > 0 {
		what = append(what, plural(n, "kustomization", "kustomizations"))
	}
	if n := len(f.unrendered.charts); n > 0 {
		what = append(what, plural(n, "chart", "charts"))
	}
	if len(what) == 0 {
		return nil
	}
	return []source.Diagnostic{source.Diagnostic{
		Severity: source.Info, Code: "not-rendered", Message: strings.Join(what, " and ") + " not rendered; manifests are evaluated as they are written",
	}.With("to render them, use --build with diff, explain or check, or preadmit exec")}
}
