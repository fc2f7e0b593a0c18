package krmfn

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	chartValues       = foreign{"values file of a chart", "values files of charts"}
	kustomizationFile = foreign{"kustomization", "kustomizations"}
	kustomizePart     = foreign{"patch or part of a kustomization", "patches and parts of kustomizations"}
	otherFile         = foreign{"file without apiVersion and kind", "files without apiVersion and kind"}
	foreigns          = []foreign{chartTemplate, chartFile, chartValues, kustomizationFile, kustomizePart, otherFile}
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
func (s *fileSet) survey(p path, dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		switch name := e.Name(); {
		case modeOf(filepath.Join(dir, name), e).IsDir():
		case name == chartName:
			s.site.charts = append(s.site.charts, dir)
			s.noteChart(dir)
		case isKustomization(name):
			s.noteKustomization(p, filepath.Join(dir, name))
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

// noteKustomization notes a kustomization, and the kustomizations and files that it uses. If it
// cannot be read, these are not known, so that is an error. A file may also have the name of a
// kustomization and hold an object, such as a Kustomization of Flux.
func (s *fileSet) noteKustomization(p path, full string) {
	real, err := s.contained(p, full)
	var data []byte
	if err == nil {
		data, err = s.input.ReadFile(real)
	}
	if err != nil {
		if filepath.Ext(full) == "" { // otherwise addFile reports it
			s.fail(p, err)
		}
		return
	}
	dir, f := filepath.Dir(full), newFile(s.nameOf(p, full), data)
	stream, problems := manifest.ReadPlain(f.name, f.data)
	if !slices.ContainsFunc(problems, isTemplate) {
		s.diagnostics = append(s.diagnostics, problems...)
	}
	for _, d := range stream.Documents() {
		if group := d.Kind().Group; d.Kind().Version != "" && group != kustomizeGroup {
			return
		}
	}
	s.site.kustomizations = append(s.site.kustomizations, dir)
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

// kustomizeGroup is the group of kustomizations. Their apiVersion may be omitted.
const kustomizeGroup = "kustomize.config.k8s.io"

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

// sift reads a file. what is not zero if the file was found in a directory and clearly holds no
// manifests.
func (s *fileSet) sift(f file) (stream *manifest.Stream, problems []source.Diagnostic, what foreign) {
	if what = s.site.typeOf(f.found); what != (foreign{}) && !(s.policies && what == chartTemplate) {
		return nil, nil, what
	}
	stream, problems = s.read(f.name, f.data)
	if i := slices.IndexFunc(problems, isTemplate); i >= 0 {
		problems = problems[i : i+1] // as YAML, a template has many more errors
		if s.site.isInChart(f.found) && !s.policies {
			return nil, nil, chartTemplate
		}
	}
	if f.found != "" && !s.whole && !holdsObjects(stream, problems) {
		return nil, nil, otherFile
	}
	return stream, problems, foreign{}
}

// typeOf returns the type of a file that was found at a path, if the path shows that the file holds
// no manifests.
func (t *site) typeOf(found string) foreign {
	if found == "" || len(t.charts)+len(t.kustomizations) == 0 {
		return foreign{}
	}
	name, dir := filepath.Base(found), filepath.Dir(found)
	switch {
	case isKustomization(name) && slices.Contains(t.kustomizations, dir):
		return kustomizationFile
	case name == chartName:
		return chartFile
	case t.parts[found] && !t.taken[found]:
		return kustomizePart
	case slices.Contains(valueNames, name) && slices.Contains(t.charts, dir):
		return chartValues
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "templates" && slices.Contains(t.charts, filepath.Dir(dir)) {
			return chartTemplate
		}
	}
	return foreign{}
}

// valueNames are the names of the files with the values of a chart.
var valueNames = []string{"values.yaml", "values.yml", "values.json", "values.schema.json"}

// isTemplate reports whether a diagnostic says that a file is a template.
func isTemplate(d source.Diagnostic) bool { return d.Code == source.CodeTemplate }

// isInChart reports whether a file that was found at a path is part of a chart.
func (t *site) isInChart(found string) bool {
	return found != "" && slices.ContainsFunc(t.charts, func(dir string) bool { return isWithin(found, dir) })
}

// holdsObjects reports whether a file in a directory should contain Kubernetes objects. That is so
// for a file that cannot be read, unless it has no apiVersion and no kind.
func holdsObjects(stream *manifest.Stream, problems []source.Diagnostic) bool {
	documents := stream.Documents()
	if source.HasErrors(problems) {
		return mentionsObject(stream.Text()) || slices.ContainsFunc(documents, isObject)
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

var (
	// objectKey matches what is an apiVersion in any place, or kind as a key in any spelling: in
	// quotes, before spaces and a colon, or after a question mark.
	objectKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)apiVersion|\bkind["']?\s*:|\?\s*["']?kind\b`)
	})
	// escapes matches escapes in strings in double quotes.
	escapes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})`)
	})
)

// mentionsObject reports whether a text that cannot be parsed has an apiVersion or a kind. One
// of them is enough: a broken manifest must not be skipped.
func mentionsObject(text string) bool {
	text = strings.ReplaceAll(text, "\x00", "") // of UTF-16 and UTF-32 without a byte order mark
	text = escapes().ReplaceAllStringFunc(text, func(escape string) string {
		if char, err := strconv.Unquote(`"` + escape + `"`); err == nil {
			return char
		}
		return escape
	})
	return objectKey().MatchString(text)
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
