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

// A directory of a repository holds more than manifests. What is no Kubernetes object
// there is passed over and counted; what looks like one and cannot be read is an error. A
// file that is named itself is taken for what it is meant to be.

// foreign is what a file in a directory is that holds no manifests.
type foreign struct{ one, many string }

var (
	chartTemplate     = foreign{"template of a chart", "templates of charts"}
	chartFile         = foreign{"chart", "charts"}
	kustomizationFile = foreign{"kustomization", "kustomizations"}
	kustomizePart     = foreign{"patch or part of a kustomization", "patches and parts of kustomizations"}
	otherFile         = foreign{"without apiVersion and kind", "without apiVersion and kind"}
	foreigns          = []foreign{chartTemplate, chartFile, kustomizationFile, kustomizePart, otherFile}
)

// passedOver is a file in a directory that holds no manifests.
type passedOver struct {
	name string
	what foreign
}

// site is what is known of the directories that were read: where charts and
// kustomizations are, what is part of others, and which files kustomizations take for
// something else than objects.
type site struct {
	charts, kustomizations []string
	taken, parts           map[string]bool
}

// survey looks at what is in a directory.
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

// takenFields are fields of a kustomization that name others, which are part of it.
var takenFields = []string{"resources", "bases", "components"}

// partFields are fields of a kustomization that name files which are no objects of their
// own.
var partFields = []string{
	"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "configurations", "openapi", "transformers", "generators", "validators",
	"configMapGenerator", "secretGenerator", "helmCharts",
}

// noteParts notes what a kustomization takes in, and which files it takes for patches and
// the like. One that cannot be read names none.
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

// noteChart notes a chart that is part of another, or no application by itself.
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

// eachText does something for every text in a value.
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

// sift says what a file is that was found in a directory, by its place; ok is false if that
// does not tell.
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

// isTemplate reports whether a diagnostic says that a file is a template of a program.
func isTemplate(d source.Diagnostic) bool { return d.Code == source.CodeTemplate }

// isInChart reports whether a file that was found in a directory is part of a chart.
func (t *site) isInChart(f file) bool {
	return f.found != "" && slices.ContainsFunc(t.charts, func(dir string) bool { return isWithin(f.found, dir) })
}

// holdsObjects reports whether what was read from a file in a directory is meant to hold
// Kubernetes objects.
func holdsObjects(stream *manifest.Stream, problems []source.Diagnostic) bool {
	documents := stream.Documents()
	if source.HasErrors(problems) {
		return looksLikeObject(stream.Text()) || slices.ContainsFunc(documents, isObject)
	}
	return len(documents) == 0 || slices.ContainsFunc(documents, isObject)
}

// isObject reports whether a document is meant to be a Kubernetes object. Many programs
// have files with an apiVersion and a kind, but no metadata; objects have them.
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

// isOurs reports whether a kind is for preadmit or for Kyverno's command, whose documents
// may have no metadata.
func isOurs(kind gvk.Kind) bool {
	return kind.Group == "preadmit.dev" || kind.Group == "cli.kyverno.io"
}

// looksLikeObject reports whether a text that cannot be read has an apiVersion or a kind: what
// is broken may lack the other, and must not be passed over.
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

// tellForeign says which files in directories were passed over: all, or how many.
func (f *files) tellForeign(all bool) []source.Diagnostic {
	var notes []source.Diagnostic
	note := func(message string) *source.Diagnostic {
		notes = append(notes, source.Diagnostic{Severity: source.Info, Code: "no-manifest", Message: message})
		return &notes[len(notes)-1]
	}
	if all {
		for _, p := range f.foreign {
			note("it is no manifest: " + p.what.one).At.File = p.name
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
		note(fmt.Sprintf("%s (%s); -v lists them", plural(n, "file is no manifest", "files are no manifests"), strings.Join(counts, ", ")))
	}
	return notes
}

// tellUnrendered says that the charts and kustomizations among the manifests are not
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
		Severity: source.Info, Code: "not-rendered", Message: strings.Join(what, " and ") + " not rendered; the manifests count as they are written",
	}.With("preadmit diff --build renders each of them, also explain and check; preadmit exec renders one")}
}
