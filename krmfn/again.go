package krmfn

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/triage"
)

// Templates of Helm have functions such as randAlphaNum, genSelfSignedCert and now. What they return is not
// the same in two renderings of one commit, so it is no difference between two commits.

// varying is a value of a rendered object that Helm renders otherwise each time.
type varying struct {
	document *manifest.Document
	path     change.Path
}

// isHelm reports whether templates of Helm render objects of the application.
func (o *origins) isHelm() bool {
	return o.program.name() == "helm" || slices.ContainsFunc(o.found, func(of origin) bool { return of.made.kind == helmGenerator })
}

// alike returns the rendering of an application in the base with the values of the working tree, head, where
// they vary in both, and which these are in the working tree.
//
// It renders the working tree again between two renderings of the base: a clock that goes on between them
// gives two values in the base, and one that does not gives the base's value in the working tree.
func (o *origins) alike(ctx context.Context, head *origins) (*manifest.Stream, []varying) {
	if o.rendered.Text() == head.rendered.Text() || !o.isHelm() || !head.isHelm() {
		return o.rendered, nil
	}
	headAgain, err := head.again(ctx)
	if err != nil {
		return o.rendered, nil
	}
	again, err := o.again(ctx)
	if err != nil {
		return o.rendered, nil
	}
	inHead, inHeadAgain, inAgain := counterparts(o, head), counterparts(head, headAgain), counterparts(o, again)
	var all []varying
	for _, d := range o.rendered.Documents() {
		h := inHead[d]
		if h == nil || inHeadAgain[h] == nil || inAgain[d] == nil {
			continue
		}
		objects := renderings{d.Object(), inAgain[d].Object(), h.Object(), inHeadAgain[h].Object()}
		object, paths := objects.alike()
		if len(paths) == 0 || d.Set(object, nil) != nil {
			continue
		}
		for _, path := range paths {
			all = append(all, varying{h, path})
		}
	}
	if len(all) == 0 {
		return o.rendered, nil
	}
	stream, _ := manifest.Reread(o.rendered.Name(), o.rendered.Bytes())
	return stream, all
}

// again renders an application once more.
func (o *origins) again(ctx context.Context) (*origins, error) {
	program := *o.program
	program.Stderr = new(limit.Buffer)
	output, found, err := o.files.process.renderOne(ctx, &program)
	if err != nil {
		return nil, err
	}
	output, _ = withoutTests(&program, o.rendered.Name(), output)
	stream, _ := o.files.bounds().Read(o.rendered.Name(), output)
	return newOrigins(o.files, &program, stream, found), nil
}

// counterparts returns the document of another rendering for each document of one: that of the same object.
// If what remains of a kind in a file are as many in both, only their names differ.
func counterparts(one, other *origins) map[*manifest.Document]*manifest.Document {
	found, taken := map[*manifest.Document]*manifest.Document{}, map[*manifest.Document]bool{}
	named := func(_ *origins, _ int, d *manifest.Document) string {
		return strings.Join([]string{d.Kind().String(), d.Namespace(), d.Name()}, "\n")
	}
	ofFile := func(o *origins, i int, d *manifest.Document) string {
		return strings.Join([]string{d.Kind().String(), d.Namespace(), o.templateOf(i, d)}, "\n")
	}
	for _, key := range []func(*origins, int, *manifest.Document) string{named, ofFile} {
		remaining, candidates := map[string][]*manifest.Document{}, map[string][]*manifest.Document{}
		for i, d := range one.rendered.Documents() {
			if found[d] == nil {
				remaining[key(one, i, d)] = append(remaining[key(one, i, d)], d)
			}
		}
		for i, d := range other.rendered.Documents() {
			if !taken[d] {
				candidates[key(other, i, d)] = append(candidates[key(other, i, d)], d)
			}
		}
		for name, documents := range remaining {
			if len(candidates[name]) != len(documents) {
				continue
			}
			for i, d := range documents {
				found[d] = candidates[name][i]
				taken[found[d]] = true
			}
		}
	}
	return found
}

// templateOf names what a document was rendered from.
func (o *origins) templateOf(i int, d *manifest.Document) string {
	if o.program.name() == "helm" {
		return o.sourceAt(d.At(nil).Line)
	}
	if i < len(o.found) {
		return o.found[i].made.kind
	}
	return ""
}

// lasting returns IDs that stay from run to run for the objects that findings are about and whose names vary: with
// an asterisk for what varies in the name.
func (a *admission) lasting(ctx context.Context, findings []triage.Finding) map[string]string {
	about := map[string]bool{}
	for _, f := range findings {
		about[f.Subject] = true
	}
	ids, applications := map[*manifest.Document]string{}, map[string]bool{}
	if a.outcome != nil {
		for _, m := range a.outcome.Manifests {
			if about[m.ID] {
				ids[m.Document], applications[m.Document.At(nil).File] = m.ID, true
			}
		}
	}
	var all []*origins
	for _, name := range slices.Sorted(maps.Keys(applications)) {
		if o := a.places[name]; o != nil && o.isHelm() {
			all = append(all, o)
		}
	}
	others := make([]map[*manifest.Document]*manifest.Document, len(all))
	inParallel(len(all), func(i int) {
		if again, err := all[i].again(ctx); err == nil {
			others[i] = counterparts(all[i], again)
		}
	})
	lasting := map[string]string{}
	for _, pairs := range others {
		for d, other := range pairs {
			if id, ok := strings.CutSuffix(ids[d], d.Name()); ok && d.Name() != other.Name() {
				lasting[ids[d]] = id + constant(d.Name(), other.Name())
			}
		}
	}
	return lasting
}

// constant returns a name with an asterisk for what is different in another one. The parts between hyphens and
// dots are compared, and not characters, of which random ones may be the same.
func constant(name, other string) string {
	parts, others := separated(name), separated(other)
	first, last := 0, 0
	for first < min(len(parts), len(others))-1 && parts[first] == others[first] {
		first++
	}
	for last < min(len(parts), len(others))-1-first && parts[len(parts)-1-last] == others[len(others)-1-last] {
		last++
	}
	return strings.Join(parts[:first], "") + "*" + strings.Join(parts[len(parts)-last:], "")
}

// separated returns the parts of a name, and the hyphens and dots between them.
func separated(name string) (parts []string) {
	for {
		i := strings.IndexAny(name, "-.")
		if i < 0 {
			return append(parts, name)
		}
		parts, name = append(parts, name[:i], name[i:i+1]), name[i+1:]
	}
}

// renderings are two renderings of an object in the base, and two in the working tree.
type renderings struct{ base, baseAgain, head, headAgain map[string]any }

// alike returns the object of the base with the values of the working tree where they vary in both, and the
// paths of these.
func (r renderings) alike() (map[string]any, []change.Path) {
	var paths []change.Path
	copies := change.Copies{}
	object := copies.Object(r.base)
	for _, path := range r.vary() {
		base, inBase := path.Get(object)
		baseAgain, _ := path.Get(r.baseAgain)
		head, inHead := path.Get(r.head)
		headAgain, _ := path.Get(r.headAgain)
		if !inBase || !inHead || change.Equal(base, baseAgain) && !change.Equal(base, headAgain) {
			continue
		}
		value := linesAlike(base, head, headAgain)
		if copies.Apply(object, change.Change{Op: change.Replace, Path: path, Old: base, New: value}) == nil {
			paths = append(paths, path)
		}
	}
	return object, paths
}

// vary returns the paths of values that are not the same in both renderings of the working tree: of the map or
// list, if it has other members.
func (r renderings) vary() []change.Path {
	var paths []change.Path
	for _, c := range change.Diff(r.head, r.headAgain, nil) {
		if c.Op != change.Replace {
			c.Path = c.Path[:len(c.Path)-1]
		}
		if last := len(paths) - 1; len(c.Path) > 0 && (last < 0 || paths[last].String() != c.Path.String()) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// linesAlike returns the value of the working tree. Of a text with as many lines in all renderings, only the
// lines that vary are from there.
func linesAlike(base, head, headAgain any) any {
	lines := func(value any) []string {
		text, _ := value.(string)
		return strings.SplitAfter(text, "\n")
	}
	was, is, other := lines(base), lines(head), lines(headAgain)
	switch {
	case len(is) == 1:
		return head
	case len(was) != len(is) || len(other) != len(is):
		return base
	}
	for i := range is {
		if is[i] != other[i] {
			was[i] = is[i]
		}
	}
	return strings.Join(was, "")
}

// tellVarying adds a note for each value that was not compared because it varies.
func (r *reported) tellVarying(all []varying) {
	if r.run.outcome == nil {
		return
	}
	names := map[*manifest.Document]string{}
	for _, m := range r.run.outcome.Manifests {
		names[m.Document] = m.ID
	}
	for _, one := range all {
		d := source.Diagnostic{
			Severity: source.Info, Code: "rendering-not-deterministic", At: one.document.At(one.path), Subject: names[one.document], Field: one.path.String(),
			Message: "Helm renders another value each time, so it is not compared",
		}
		r.run.add(d.With("give the chart a fixed value, so that a change of it is seen"))
	}
}
