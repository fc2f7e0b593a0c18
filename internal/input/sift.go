package input

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Kind is the kind of a file without manifests, in the singular and in the plural. Manifests have
// the zero value.
type Kind struct{ One, Many string }

// The kinds of files without manifests.
var (
	ChartTemplate     = Kind{"template of a chart", "templates of charts"}
	ChartFile         = Kind{"chart", "charts"}
	ChartValues       = Kind{"values file of a chart", "values files of charts"}
	KustomizationFile = Kind{"kustomization", "kustomizations"}
	KustomizePart     = Kind{"patch or part of a kustomization", "patches and parts of kustomizations"}
	OtherFile         = Kind{"file without apiVersion and kind", "files without apiVersion and kind"}
	Kinds             = []Kind{ChartTemplate, ChartFile, ChartValues, KustomizationFile, KustomizePart, OtherFile}
)

// Skipped is a file in a directory that was skipped because it holds no manifests.
type Skipped struct {
	Name string
	Kind Kind
}

// Site has the charts and kustomizations in the directories that were read.
type Site struct {
	charts, kustomizations []string
	// taken are charts and kustomizations that others use, and the files that kustomizations name
	// as resources. parts are files that kustomizations use but that are not objects, such as
	// patches.
	taken, parts map[string]bool
}

// Charts returns how many charts there are, and the directories of those that no other chart uses.
func (t *Site) Charts() (int, []string) { return len(t.charts), t.free(t.charts) }

// Kustomizations returns how many kustomizations there are, and the directories of those that no
// other kustomization uses.
func (t *Site) Kustomizations() (int, []string) {
	return len(t.kustomizations), t.free(t.kustomizations)
}

func (t *Site) free(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return t.taken[dir] })
}

// Uses reports whether a chart or a kustomization uses a file that was found in a directory.
func (t *Site) Uses(f File) bool { return t.taken[f.Found] || t.isInChart(f.Found) }

// KustomizationNames are the names of the files that make a directory a kustomization.
var KustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// ChartName is the name of the file that makes a directory a chart.
const ChartName = "Chart.yaml"

// survey notes the chart or kustomization in a directory.
func (w *walker) survey(dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		switch full := filepath.Join(dir, e.Name()); {
		case modeOf(full, e).IsDir():
		case e.Name() == ChartName:
			w.noteChart(full)
		case isKustomization(e.Name()):
			w.noteKustomization(full)
		}
	}
}

// readPlain reads a file that holds no manifests.
func (w *walker) readPlain(full string) (*manifest.Stream, []source.Diagnostic, error) {
	r := w.set.reader
	real, err := r.Contained(w.path, full)
	if err != nil {
		return nil, nil, err
	}
	data, _, err := r.read(real)
	if err != nil {
		return nil, nil, err
	}
	f := NewFile(r.Name(w.path, full), data)
	stream, problems := manifest.ReadPlain(f.Name, f.Text)
	return stream, problems, nil
}

func isKustomization(name string) bool { return slices.Contains(KustomizationNames, name) }

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
func (w *walker) noteKustomization(full string) {
	stream, problems, err := w.readPlain(full)
	if err != nil {
		if filepath.Ext(full) == "" { // otherwise addFile reports it
			w.fail(err)
		}
		return
	}
	if !slices.ContainsFunc(problems, isTemplate) {
		w.set.Problems = append(w.set.Problems, problems...)
	}
	for _, d := range stream.Documents() {
		if group := d.Kind().Group; d.Kind().Version != "" && group != kustomizeGroup {
			return
		}
	}
	site, dir := &w.set.Site, filepath.Dir(full)
	site.kustomizations = append(site.kustomizations, dir)
	for _, d := range stream.Documents() {
		object := d.Object()
		if d.Kind().Kind == "Component" {
			site.taken[dir] = true
		}
		for _, field := range takenFields {
			eachText(object[field], func(text string) { site.taken[filepath.Join(dir, filepath.FromSlash(text))] = true })
		}
		for _, field := range partFields {
			eachText(object[field], func(text string) {
				if _, path, ok := strings.Cut(text, "="); ok {
					text = path // of a generator: key=path
				}
				site.parts[filepath.Join(dir, filepath.FromSlash(text))] = true
			})
		}
	}
}

// kustomizeGroup is the group of kustomizations. Their apiVersion may be omitted.
const kustomizeGroup = "kustomize.config.k8s.io"

// noteChart notes a chart. A dependency of another chart and a library chart cannot be rendered
// alone.
func (w *walker) noteChart(full string) {
	site, dir := &w.set.Site, filepath.Dir(full)
	site.charts = append(site.charts, dir)
	if above := filepath.Dir(dir); filepath.Base(above) == "charts" && slices.Contains(site.charts, filepath.Dir(above)) {
		site.taken[dir] = true
	}
	stream, _, err := w.readPlain(full)
	if err != nil {
		return // addFile reports it
	}
	for _, d := range stream.Documents() {
		if d.TextAt("type") == "library" {
			site.taken[dir] = true
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

// Parsed is a file with its documents.
type Parsed struct {
	File     File
	Stream   *manifest.Stream
	Problems []source.Diagnostic
}

// Parse reads the files of the set, and empties it. It skips files in directories that clearly hold
// no manifests.
func (s *Set) Parse(read func(name string, data []byte) (*manifest.Stream, []source.Diagnostic)) []Parsed {
	var found []Parsed
	for _, f := range s.Files {
		parsed, kind := s.sift(f, read)
		if kind != (Kind{}) {
			s.Skipped = append(s.Skipped, Skipped{f.Name, kind})
			continue
		}
		found = append(found, parsed)
	}
	s.Files = nil
	return found
}

// sift reads a file. The kind is not zero if the file was found in a directory and clearly holds no
// manifests.
func (s *Set) sift(f File, read func(string, []byte) (*manifest.Stream, []source.Diagnostic)) (Parsed, Kind) {
	if kind := s.Site.kindOf(f.Found); kind != (Kind{}) && !(s.Policies && kind == ChartTemplate) {
		return Parsed{}, kind
	}
	stream, problems := read(f.Name, f.Text)
	if i := slices.IndexFunc(problems, isTemplate); i >= 0 {
		problems = problems[i : i+1] // as YAML, a template has many more errors
		if s.Site.isInChart(f.Found) && !s.Policies {
			return Parsed{}, ChartTemplate
		}
	}
	if f.Found != "" && !s.Whole && !holdsObjects(stream, problems) {
		return Parsed{}, OtherFile
	}
	return Parsed{f, stream, problems}, Kind{}
}

// kindOf returns the kind of a file that was found at a path, if the path shows that the file holds
// no manifests.
func (t *Site) kindOf(found string) Kind {
	if found == "" || len(t.charts)+len(t.kustomizations) == 0 {
		return Kind{}
	}
	name, dir := filepath.Base(found), filepath.Dir(found)
	switch {
	case isKustomization(name) && slices.Contains(t.kustomizations, dir):
		return KustomizationFile
	case name == ChartName:
		return ChartFile
	case t.parts[found] && !t.taken[found]:
		return KustomizePart
	case slices.Contains(valueNames, name) && slices.Contains(t.charts, dir):
		return ChartValues
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "templates" && slices.Contains(t.charts, filepath.Dir(dir)) {
			return ChartTemplate
		}
	}
	return Kind{}
}

// valueNames are the names of the files with the values of a chart.
var valueNames = []string{"values.yaml", "values.yml", "values.json", "values.schema.json"}

// isTemplate reports whether a diagnostic says that a file is a template.
func isTemplate(d source.Diagnostic) bool { return d.Code == source.CodeTemplate }

// isInChart reports whether a file that was found at a path is part of a chart.
func (t *Site) isInChart(found string) bool {
	return found != "" && slices.ContainsFunc(t.charts, func(dir string) bool { return IsWithin(found, dir) })
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
	objectKey = lazyregexp.New(`(?i)apiVersion|\bkind["']?\s*:|\?\s*["']?kind\b`)
	// escapes matches escapes in strings in double quotes.
	escapes = lazyregexp.New(`\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})`)
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
