package krmfn

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// The annotations in which kustomize and kpt write where a document came from. Both write the
// old names in addition to the new ones.
const (
	pathAnnotation        = "internal.config.kubernetes.io/path"
	oldPathAnnotation     = "config.kubernetes.io/path"
	indexAnnotation       = "internal.config.kubernetes.io/index"
	oldIndexAnnotation    = "config.kubernetes.io/index"
	packagePathAnnotation = "internal.config.kubernetes.io/package-path"
	originAnnotation      = "config.kubernetes.io/origin"
)

var (
	functionConfigKind = gvk.Kind{Group: "preadmit.dev", Version: "v1alpha1", Kind: "Preadmit"}
	configMapKind      = gvk.Kind{Version: "v1", Kind: "ConfigMap"}
)

// functionConfig reads the options that the functionConfig of a ResourceList gives.
type functionConfig struct {
	// further are additional fields that the document may have.
	further  []string
	document *manifest.Document
	// lines returns the lines of the text that contains the document.
	lines  func() []string
	config *config
	// from has the base directory and the bounds of paths in the document.
	from path
	// strings are the paths of strings in the document that contain YAML, by stream name.
	strings     map[string]change.Path
	diagnostics []source.Diagnostic
}

// readFunctionConfig sets the values of a functionConfig in a config. items are the items of
// the same ResourceList.
func (p *Process) readFunctionConfig(d *manifest.Document, text []byte, items []*manifest.Document, c *config) *functionConfig {
	f := &functionConfig{document: d, config: c, strings: map[string]change.Path{}}
	f.lines = sync.OnceValue(func() []string { return strings.SplitAfter(string(text), "\n") })
	object := d.Object()
	f.from = p.pathsOf(object, items)
	switch kind := d.Kind(); {
	case kind == functionConfigKind:
		f.fields(object)
	case kind == configMapKind:
		f.configMap(object)
	case engine.IsPolicy(kind):
		c.documents[settings.Policies].add(inputs{inline: []*manifest.Stream{f.object(object, nil)}})
	default:
		f.fail(nil, "function-config-kind", fmt.Sprintf("unknown functionConfig with apiVersion %q and kind %q", kind.APIVersion(), kind.Kind),
			"expected "+functionConfigKind.APIVersion()+" "+functionConfigKind.Kind+", a v1 ConfigMap, or a policy")
	}
	source.Sort(f.diagnostics)
	return f
}

// pathsOf returns the base directory and the bounds of the paths in a functionConfig. The base
// is the directory of the functionConfig's file, which may be in a kpt package. The bounds are
// the working directory and that package. The client writes the annotations, but the author of
// the functionConfig can write them, too. So a package outside of the working directory counts
// only if it has a Kptfile.
func (p *Process) pathsOf(object map[string]any, items []*manifest.Document) path {
	from := path{base: p.Dir, within: &bounds{
		dirs: []string{p.Dir}, names: "the working directory and of the package",
		advice: "a functionConfig can only name files below them; name other files with the flag -p or in PREADMIT_POLICIES",
	}}
	annotations := annotationsOf(object)
	dir := annotations[packagePathAnnotation]
	if dir == "" && object["kind"] == configMapKind.Kind {
		dir = packageOf(items)
	}
	if dir != "" {
		dir = p.absolute(dir)
		if _, err := os.Stat(filepath.Join(dir, "Kptfile")); err == nil || input.IsWithin(dir, p.Dir) {
			from.base = dir
			from.within.dirs = append(from.within.dirs, dir)
		}
	}
	file := annotations[pathAnnotation]
	if file == "" {
		file = annotations[oldPathAnnotation]
	}
	from.base = filepath.Join(from.base, filepath.Dir(filepath.FromSlash(file)))
	return from
}

// packageOf returns the directory of the kpt package that the items belong to, or "". If the
// Kptfile contains the options, kpt writes the package only into the items. A function also
// gets the items of subpackages, so its package is the one that contains all others.
func packageOf(items []*manifest.Document) string {
	var dirs []string
	for _, d := range items {
		if dir := annotationsOf(d.Object())[packagePathAnnotation]; dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if !slices.ContainsFunc(dirs, func(other string) bool { return !input.IsWithin(other, dir) }) {
			return dir
		}
	}
	return ""
}

// annotationsOf returns the annotations of an object whose values are strings.
func annotationsOf(object map[string]any) map[string]string {
	found, _ := change.Keys("metadata", "annotations").Get(object)
	given, _ := found.(map[string]any)
	annotations := make(map[string]string, len(given))
	for name, value := range given {
		if text, ok := value.(string); ok {
			annotations[name] = text
		}
	}
	return annotations
}

// fields reads the options in a document whose spec has the fields of a functionConfig.
func (f *functionConfig) fields(object map[string]any) {
	object = maps.Clone(object)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(object, key)
	}
	settings.Read(f, &f.config.options, object, nil, f.further...)
}

// Name implements settings.Tree.
func (f *functionConfig) Name(o *settings.Option) string {
	if o.Field == "" {
		return ""
	}
	return "spec." + o.Field
}

// Text implements settings.Tree.
func (f *functionConfig) Text(o *settings.Option, value any) (text, problem string) {
	return o.Scalar(value)
}

// File implements settings.Tree.
func (f *functionConfig) File(o *settings.Option, name string, at change.Path) error {
	from := f.from
	from.at, from.subject, from.label = f.document.At(at), f.subject(), at.String()
	return f.config.set(o, name, from)
}

// Texts implements settings.Tree.
func (f *functionConfig) Texts(o *settings.Option, value any, at change.Path) {
	target := &f.config.documents[o.Texts].inline
	settings.List(f, value, at, func(item any, at change.Path) {
		switch item := item.(type) {
		case map[string]any:
			*target = append(*target, f.object(item, at))
		case string:
			*target = append(*target, f.string(item, at))
		default:
			f.Fail(at, "expected an object, or a string that holds YAML, not "+settings.Describe(item))
		}
	})
}

// Unknown implements settings.Tree.
func (f *functionConfig) Unknown(at change.Path, advice string) {
	f.fail(at, "option-unknown", "unknown field", advice)
}

// Fail implements settings.Tree.
func (f *functionConfig) Fail(at change.Path, problem string) {
	f.fail(at, "option-value", problem, "")
}

// configMap reads the options in the data of a ConfigMap. kpt passes the arguments after "--"
// in this form. Lists are separated by commas or line breaks.
func (f *functionConfig) configMap(object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "data", "immutable"}, key) {
			f.fail(change.Keys(key), "option-unknown", "a functionConfig must not have this field", "write options into data")
		}
	}
	data, ok := object["data"].(map[string]any)
	if !ok && object["data"] != nil {
		f.fail(change.Keys("data"), "option-value", "expected a map", "")
	}
	key := func(o *settings.Option) string { return o.Key }
	for _, name := range slices.Sorted(maps.Keys(data)) {
		at := change.Keys("data", name)
		o := settings.Find(name, key)
		if o == nil {
			f.unknown(at, "unknown option", settings.Suggest(name, key))
			continue
		}
		text, problem := f.Text(o, data[name])
		switch {
		case problem != "":
			f.fail(at, "option-value", problem, "quote the value")
		case o.IsList():
			for _, item := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == '\n' }) {
				settings.SetScalar(f, &f.config.options, o, strings.TrimSpace(item), at)
			}
		default:
			settings.SetScalar(f, &f.config.options, o, text, at)
		}
	}
}

// fail adds an error about the field at a path.
func (f *functionConfig) fail(at change.Path, code, message, advice string) {
	d := source.Errorf(f.document.At(at), code, "%s", message).With(advice)
	d.Field, d.Subject = at.String(), f.subject()
	f.diagnostics = append(f.diagnostics, d)
}

// unknown reports an unknown key.
func (f *functionConfig) unknown(at change.Path, message string, advice source.Advice) {
	f.fail(at, "option-unknown", message, "")
	last := &f.diagnostics[len(f.diagnostics)-1]
	*last = last.AdvisedAt(f.document.Key(at), advice)
}

// subject names the functionConfig.
func (f *functionConfig) subject() string {
	name := "functionConfig "
	if f.document.Kind() == testKind {
		name = testKind.Kind + " "
	}
	return strings.TrimSpace(name + f.document.Name())
}
