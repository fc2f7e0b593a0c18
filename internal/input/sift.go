package input

import (
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
	CommentedPart     = Kind{"patch or part that a kustomization comments out", "patches and parts that kustomizations comment out"}
	OtherFile         = Kind{"file without apiVersion and kind", "files without apiVersion and kind"}
	Kinds             = []Kind{ChartTemplate, ChartFile, ChartValues, KustomizationFile, KustomizePart, CommentedPart, OtherFile}
)

// Skipped is a file in a directory that was skipped because it holds no manifests.
type Skipped struct {
	Name string
	Kind Kind
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
			s.keep(f)
			continue
		}
		found = append(found, parsed)
	}
	s.Files = nil
	return found
}

// HoldsPolicies reports whether documents have a policy, or what belongs to one. The description of a cluster says that
// its policies are there, even if it has none.
func HoldsPolicies(s *manifest.Stream) bool {
	return slices.ContainsFunc(s.Documents(), func(d *manifest.Document) bool {
		return engine.IsPolicyGroup(d.Kind().Group) || d.Kind() == engine.ClusterKind
	})
}

// HoldsManifests reports whether a file is one that Parse would not skip.
func (s *Set) HoldsManifests(f File, read func(name string, data []byte) (*manifest.Stream, []source.Diagnostic)) bool {
	parsed, kind := s.sift(f, read)
	return kind == Kind{} && len(parsed.Stream.Documents()) > 0
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
	if found == "" {
		return Kind{}
	}
	name, dir := filepath.Base(found), filepath.Dir(found)
	switch {
	case isKustomization(name) && t.kustomizations.has[dir]:
		return KustomizationFile
	case name == ChartName && t.charts.has[dir]:
		return ChartFile
	case t.taken[found]:
	case t.parts[found]:
		return KustomizePart
	case t.commented[found]:
		return CommentedPart
	case slices.Contains(valueNames, name) && t.charts.has[dir]:
		return ChartValues
	}
	if len(t.charts.has) == 0 {
		return Kind{}
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "templates" && t.charts.has[filepath.Dir(dir)] {
			return ChartTemplate
		}
	}
	return Kind{}
}

// valueNames are the names of the files with the values of a chart.
var valueNames = []string{"values.yaml", "values.yml", "values.json", "values.schema.json"}

// isTemplate reports whether a diagnostic says that a file is a template.
func isTemplate(d source.Diagnostic) bool { return d.Code == source.CodeTemplate }

// isPointer reports whether a diagnostic says that a file is kept elsewhere.
func isPointer(d source.Diagnostic) bool { return d.Code == source.CodeLFSPointer }

// holdsObjects reports whether a file in a directory should contain Kubernetes objects. That is so
// for a file that cannot be read, unless it has no apiVersion and no kind.
func holdsObjects(stream *manifest.Stream, problems []source.Diagnostic) bool {
	documents := stream.Documents()
	if slices.ContainsFunc(problems, isPointer) {
		return true // as far as we know
	}
	if source.HasErrors(problems) {
		return mentionsObject(stream.Text()) || slices.ContainsFunc(documents, isObject)
	}
	return len(documents) == 0 || slices.ContainsFunc(documents, isObject)
}

// isObject reports whether a document should be a Kubernetes object. Configuration files of
// many programs have an apiVersion and a kind, but unlike objects no metadata.
func isObject(d *manifest.Document) bool {
	kind := d.Kind()
	if _, ok := d.Value("metadata").(map[string]any); ok {
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
