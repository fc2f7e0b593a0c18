package input

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Site has the charts and kustomizations in the directories that were read.
type Site struct {
	charts, kustomizations directories
	// components are the kustomizations that only others can render.
	components directories
	// taken are charts and kustomizations that others use, and the files that kustomizations name
	// as resources. parts are files that kustomizations use but that are not objects, such as
	// patches, and commented those that they would use if some comments were none.
	taken, parts, commented map[string]bool
	// dependencies are the directories that charts name as their dependencies, and libraries the
	// charts that render nothing.
	dependencies, libraries map[string]bool
}

// directories are directories in the order in which they were found.
type directories struct {
	list []string
	has  map[string]bool
}

func (d *directories) add(dir string) {
	d.list = append(d.list, dir)
	d.has[dir] = true
}

func newSite() Site {
	none := func() directories { return directories{has: map[string]bool{}} }
	return Site{
		charts: none(), kustomizations: none(), components: none(),
		taken: map[string]bool{}, parts: map[string]bool{}, commented: map[string]bool{},
		dependencies: map[string]bool{}, libraries: map[string]bool{},
	}
}

// Charts returns how many charts there are, and the directories of those that no other chart and no
// kustomization uses.
func (t *Site) Charts() (int, []string) { return len(t.charts.list), t.free(t.charts.list) }

// DependencyCharts returns the directories of the charts that other charts name as dependencies,
// and that a user can render alone: neither libraries nor within another chart.
func (t *Site) DependencyCharts() []string {
	return slices.DeleteFunc(slices.Clone(t.charts.list), func(dir string) bool {
		return !t.dependencies[dir] || t.libraries[dir] || t.isInChart(dir)
	})
}

// Kustomizations returns how many kustomizations there are, and the directories of those that no
// other kustomization uses.
func (t *Site) Kustomizations() (int, []string) {
	return len(t.kustomizations.list), t.free(t.kustomizations.list)
}

func (t *Site) free(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return t.taken[dir] || t.parts[dir] || t.components.has[dir]
	})
}

// UnusedComponents returns the directories of the components that no kustomization uses.
func (t *Site) UnusedComponents() []string {
	return slices.DeleteFunc(slices.Clone(t.components.list), func(dir string) bool { return t.taken[dir] })
}

// definitionsDirectory is the directory of a chart with objects that Helm does not render but applies.
const definitionsDirectory = "crds"

// IsBesideTemplates reports whether a file is in a chart, but in no directory whose files Helm applies.
func (t *Site) IsBesideTemplates(f File) bool {
	if !t.isInChart(f.Found) {
		return false
	}
	for dir := filepath.Dir(f.Found); !t.charts.has[dir]; dir = filepath.Dir(dir) {
		if name := filepath.Base(dir); (name == "templates" || name == definitionsDirectory) && t.charts.has[filepath.Dir(dir)] {
			return false
		}
	}
	return true
}

// Uses reports whether a chart or a kustomization uses a file that was found in a directory.
func (t *Site) Uses(f File) bool { return t.taken[f.Found] || t.isInChart(f.Found) }

// AddPart notes a file that is used for rendering but that is not an object.
func (t *Site) AddPart(found string) { t.parts[found] = true }

// isInChart reports whether a file that was found at a path is part of a chart.
func (t *Site) isInChart(found string) bool {
	if found == "" || len(t.charts.has) == 0 {
		return false
	}
	for dir := filepath.Dir(found); ; dir = filepath.Dir(dir) {
		if t.charts.has[dir] || dir == filepath.Dir(dir) {
			return t.charts.has[dir]
		}
	}
}

// KustomizationNames are the names of the files that make a directory a kustomization.
var KustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// ChartName is the name of the file that makes a directory a chart.
const ChartName = "Chart.yaml"

// survey notes the chart or kustomization in a directory, if its files are sifted.
func (w *walker) survey(dir string, entries []fs.DirEntry) {
	if w.set.Whole || w.pattern != "" {
		return
	}
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

// takenFields are the fields of a kustomization that name other kustomizations and objects.
var takenFields = []string{"resources", "bases", "components"}

// partFields are the fields of a kustomization that name files which are not objects, with the keys of
// their items that have a path; an item without a key is a path itself. So kustomize 5.8 reads them.
var partFields = map[string][]string{
	"patches": {"", "path"}, "patchesStrategicMerge": {""}, "patchesJson6902": {"path"}, "replacements": {"path"},
	"configurations": {""}, "crds": {""}, "openapi": {"path"}, "generators": {""}, "transformers": {""}, "validators": {""},
	"configMapGenerator": {"files", "envs", "env"}, "secretGenerator": {"files", "envs", "env"},
	"helmCharts": {"valuesFile", "additionalValuesFiles"}, "helmChartInflationGenerator": {"values"},
}

// pluginFields are the fields that name configurations of plugins, which name further files.
var pluginFields = []string{"generators", "transformers", "validators"}

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
	site.kustomizations.add(dir)
	for _, d := range stream.Documents() {
		if d.Kind().Kind == "Component" {
			site.components.add(dir)
		}
		site.noteFields(d.Object(), dir)
		for _, field := range pluginFields {
			eachText(d.Object()[field], func(text string) { w.notePlugin(filepath.Join(dir, filepath.FromSlash(text)), dir) })
		}
	}
	for _, name := range commentedOut(stream.Text()) {
		site.commented[filepath.Join(dir, filepath.FromSlash(name))] = true
	}
}

// kustomizeGroup is the group of kustomizations. Their apiVersion may be omitted.
const kustomizeGroup = "kustomize.config.k8s.io"

// noteFields notes the files and directories that a kustomization names.
func (t *Site) noteFields(kustomization map[string]any, dir string) {
	in := func(text string) string { return filepath.Join(dir, filepath.FromSlash(text)) }
	for _, field := range takenFields {
		eachText(kustomization[field], func(text string) { t.taken[in(text)] = true })
	}
	part := func(text string) {
		if _, path, ok := strings.Cut(text, "="); ok {
			text = path // of a generator: key=path
		}
		t.AddPart(in(text))
	}
	for field, keys := range partFields {
		eachItem(kustomization[field], func(item any) {
			fields, isMap := item.(map[string]any)
			for _, key := range keys {
				if isMap && key != "" {
					eachText(fields[key], part)
				} else if !isMap && key == "" {
					eachText(item, part)
				}
			}
		})
	}
	globals, _ := kustomization["helmGlobals"].(map[string]any)
	home, _ := globals["chartHome"].(string)
	if home == "" {
		home = "charts"
	}
	eachItem(kustomization["helmCharts"], func(item any) { // kustomize fetches a chart with a version into NAME-VERSION
		chart, _ := item.(map[string]any)
		name, _ := chart["name"].(string)
		version, _ := chart["version"].(string)
		if name != "" {
			t.taken[filepath.Join(in(home), name)], t.taken[filepath.Join(in(home), name+"-"+version, name)] = true, true
		}
	})
}

// notePlugin notes the files that the configuration of a plugin of kustomize names.
func (w *walker) notePlugin(full, dir string) {
	if info, err := os.Stat(full); err != nil || !info.Mode().IsRegular() {
		return
	}
	stream, _, err := w.readPlain(full)
	if err != nil {
		return // addFile reports it
	}
	for _, d := range stream.Documents() {
		eachText(d.Object(), func(text string) {
			if slices.Contains(extensions, filepath.Ext(text)) {
				w.set.Site.AddPart(filepath.Join(dir, filepath.FromSlash(text)))
			}
		})
	}
}

var (
	// topKey matches the line of a field at the top of a kustomization, also in a comment, and partItem
	// an item that names a file.
	topKey   = lazyregexp.New(`^#? ?([A-Za-z0-9]+):(.*)`)
	partItem = lazyregexp.New(`^(?:-\s+)?(?:path:\s*)?["']?([^\s"'#:]+\.(?:yaml|yml|json))["']?\s*(?:#.*)?$`)
)

// commentedOut returns the files that a kustomization would use but not as objects, if the lines that name
// them were no comments.
func commentedOut(text string) (names []string) {
	field := ""
	for line := range strings.Lines(text) {
		if key := topKey().FindStringSubmatch(line); key != nil {
			if line[0] != '#' || partFields[key[1]] != nil || slices.Contains(takenFields, key[1]) {
				field = key[1]
			}
		}
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if item := partItem().FindStringSubmatch(strings.TrimSpace(comment)); isComment && item != nil && partFields[field] != nil {
			names = append(names, item[1])
		}
	}
	return names
}

// noteChart notes a chart. A dependency of another chart and a library chart cannot be rendered
// alone.
func (w *walker) noteChart(full string) {
	site, dir := &w.set.Site, filepath.Dir(full)
	site.charts.add(dir)
	if above := filepath.Dir(dir); filepath.Base(above) == "charts" && site.charts.has[filepath.Dir(above)] {
		site.taken[dir] = true
	}
	stream, _, err := w.readPlain(full)
	if err != nil {
		return // addFile reports it
	}
	for _, d := range stream.Documents() {
		if d.TextAt("type") == "library" {
			site.taken[dir], site.libraries[dir] = true, true
		}
		eachItem(d.Object()["dependencies"], func(item any) {
			dependency, _ := item.(map[string]any)
			repository, _ := dependency["repository"].(string)
			if path, isLocal := strings.CutPrefix(repository, "file://"); isLocal {
				used := filepath.Join(dir, filepath.FromSlash(path))
				site.taken[used], site.dependencies[used] = true, true
			}
		})
	}
}

// eachItem calls do for every item of a list, or for a value that is no list.
func eachItem(value any, do func(any)) {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for _, item := range items {
		do(item)
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
