package krmfn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// testWriting writes a test for a manifest, with what the policies do to it now. The test is in the directory of
// the manifest.
func (r *refactorer) testWriting(d *manifest.Document) []editor.Refactoring {
	if engine.IsPolicy(d.Kind()) {
		return nil
	}
	all := r.manifests()
	i := slices.IndexFunc(all, func(m *engine.Manifest) bool {
		return m.Document.Kind() == d.Kind() && m.Document.Name() == d.Name() && m.Document.Namespace() == d.Namespace()
	})
	if i < 0 {
		return nil
	}
	w := &testWriter{refactorer: r, id: all[i].ID, name: strings.ToLower(d.Kind().Kind) + "-" + d.Name()}
	for _, v := range all[i].Verdicts {
		w.policies = append(w.policies, v.By.Policy)
	}
	name := cmp.Or(d.Name(), d.TextAt("metadata", "generateName")+"*")
	writing := editor.Refactoring{Title: "Write a test for " + d.Kind().Kind + "/" + name, Kind: "refactor.rewrite", Created: r.created(r.testPath()), Later: w.write, Refused: readOnly(r.testPath())}
	switch {
	case redact.IsSecretKind(d.Kind().Kind):
		writing.Refused = errSecretTest.Error()
	case d.Name() == "":
		writing.Refused = "a test finds an object by its name, which a server would generate for this one"
	}
	return []editor.Refactoring{writing}
}

// testPath returns the path of the tests in the directory of the file.
func (r *refactorer) testPath() string {
	return r.openPath(filepath.Join(filepath.Dir(r.at.Path), testFile))
}

// manifests returns what the policies did to the manifests in the file.
func (r *refactorer) manifests() (all []*engine.Manifest) {
	outcome := r.last.check.reported.run.outcome
	if outcome == nil {
		return nil
	}
	for _, m := range outcome.Manifests {
		if m.Maker == nil && r.workspace.Path(m.Document.Stream().Name()) == r.at.Path {
			all = append(all, m)
		}
	}
	return all
}

var (
	errSecretTest = errors.New("the test would repeat values of a Secret")
	errTestFile   = errors.New(testFile + " has mistakes: mend these first")
)

// testWriter writes a test for a manifest.
type testWriter struct {
	refactorer *refactorer
	// id is the ID of the object, and name that of the test.
	id, name string
	// policies are the names of the policies that match the object.
	policies []string
}

// write adds the test to the file with the tests of the directory.
func (w *testWriter) write(ctx context.Context) (*editor.Rewrite, error) {
	r := w.refactorer
	path := r.testPath()
	before := r.textOf(path)
	stream, problems := manifest.Read(testFile, []byte(before))
	if source.HasErrors(problems) {
		return nil, errTestFile
	}
	w.nameUniquely(stream.Documents())
	text, err := w.text(ctx, path)
	if err != nil {
		return nil, err
	}
	after := withDocument(before, text)
	stream, _ = manifest.Read(testFile, []byte(after)) // both parts of it have been read
	at := editor.Offset(after, stream.Documents()[len(stream.Documents())-1].At(change.Keys("metadata", "name")))
	return &editor.Rewrite{
		Edits:  []editor.Edit{editor.Replacing(path, 0, before, after)},
		Cursor: editor.Place{Path: path, From: at, To: at + len(w.name)},
	}, nil
}

// withDocument returns a text with one more document at its end, with the line breaks of the text.
func withDocument(text, document string) string {
	if strings.TrimSpace(text) != "" {
		document = "---\n" + document
		if !strings.HasSuffix(text, "\n") {
			document = "\n" + document
		}
	}
	if strings.Contains(text, "\r\n") {
		document = strings.ReplaceAll(document, "\n", "\r\n")
	}
	return text + document
}

// nameUniquely gives the test a name that no other test in the file has.
func (w *testWriter) nameUniquely(tests []*manifest.Document) {
	name := w.name
	for n := 2; slices.ContainsFunc(tests, func(d *manifest.Document) bool { return d.Name() == w.name }); n++ {
		w.name = name + "-" + strconv.Itoa(n)
	}
}

// text returns the test. It runs the policies to find out what to expect, and then the test. If the result is
// another one than in the workspace, the test also reads the other files of the workspace.
func (w *testWriter) text(ctx context.Context, path string) (string, error) {
	var failure string
	spec := w.spec(filepath.Dir(path))
	for _, more := range [][]any{nil, w.others(filepath.Dir(path))} {
		if paths, _ := spec["contextPaths"].([]any); len(paths)+len(more) > 0 {
			spec["contextPaths"] = append(paths, more...)
		}
		spec["objects"] = []any{map[string]any{"object": w.id, "unchanged": true}}
		r, failed := w.run(ctx, path, w.test(spec))
		if r.run.outcome == nil {
			failure = failed
			continue
		}
		objects, err := w.expectations(r)
		if err != nil {
			return "", err
		}
		spec["objects"] = objects
		if r, failure = w.run(ctx, path, w.test(spec)); failure == "" && w.isAsInWorkspace(r) {
			return w.test(spec), nil
		}
	}
	if failure != "" {
		return "", errors.New("the test would fail: " + firstLine(failure))
	}
	return "", errors.New("a test by itself does not have the result of the workspace")
}

// isAsInWorkspace reports whether the policies did the same to all objects as in the workspace.
func (w *testWriter) isAsInWorkspace(r *testRun) bool {
	results := func(run *admission) map[string]string {
		all := map[string]string{}
		for _, m := range run.outcome.Manifests {
			all[m.ID] = editsOf(m) // the documents of the workspace are not edited
		}
		for _, d := range run.diagnostics {
			if isDenial(d) {
				all[d.Subject] = firstLine(d.Text())
			}
		}
		return all
	}
	here := results(w.refactorer.last.check.reported.run)
	for id, result := range results(r.run) {
		if here[id] != result {
			return false
		}
	}
	return true
}

// editsOf returns what policies have changed in a manifest, as text.
func editsOf(m *engine.Manifest) string {
	var b strings.Builder
	for _, e := range m.Edits {
		fmt.Fprintln(&b, e.Op, e.Path, string(manifest.JSON(e.New)))
	}
	return b.String()
}

// test returns a test as YAML.
func (w *testWriter) test(spec map[string]any) string {
	return string(manifest.YAML(map[string]any{
		"apiVersion": testKind.APIVersion(), "kind": testKind.Kind, "metadata": map[string]any{"name": w.name}, "spec": spec,
	}))
}

// run runs a test that need not be in a file.
func (w *testWriter) run(ctx context.Context, path, text string) (r *testRun, failure string) {
	p := *w.refactorer.last.process
	p.ledger, p.callers, p.buffers = output.NewLedger(), &callers{}, map[string]string{}
	for path, text := range w.refactorer.at.Buffers {
		p.buffers[input.RealPath(path)] = text
	}
	t := &tester{process: &p, ctx: ctx, given: arguments{command: "test"}}
	p.configure(&t.given) // the check has reported its problems
	t.given.apply(&t.config)
	stream, _ := manifest.Read(testFile, []byte(text)) // it was written by this program
	r = t.own(stream.Documents()[0], []byte(text), path)
	return r, t.cases[0].Failure
}

// spec returns the manifests, the policies and the context of the test.
func (w *testWriter) spec(dir string) map[string]any {
	r := w.refactorer
	spec := map[string]any{"manifests": []any{filepath.Base(r.at.Path)}}
	documents := &r.last.check.reported.config.documents
	policies := w.relative(dir, r.named(documents[settings.Policies].paths))
	if len(policies) == 0 {
		var paths []string
		for _, name := range w.policies {
			for _, s := range r.last.linked[name] {
				paths = append(paths, r.workspace.Path(s.Name()))
			}
		}
		policies = w.relative(dir, paths)
	}
	if len(policies) > 0 {
		spec["policyPaths"] = policies
	}
	contexts := r.named(documents[settings.Context].paths)
	for _, s := range r.last.context {
		if !slices.ContainsFunc(contexts, func(path string) bool { return input.IsWithin(r.workspace.Path(s.Name()), path) }) {
			contexts = append(contexts, r.workspace.Path(s.Name()))
		}
	}
	if paths := w.relative(dir, contexts); len(paths) > 0 {
		spec["contextPaths"] = paths
	}
	return spec
}

// named returns the absolute paths of an option.
func (r *refactorer) named(paths []path) (all []string) {
	for _, p := range paths {
		all = append(all, r.workspace.process.absolute(p.name))
	}
	return all
}

// others returns the files of the workspace that describe what is in the cluster besides the manifests: their
// namespaces, and objects of kinds that policies read.
func (w *testWriter) others(dir string) []any {
	r := w.refactorer
	namespaces, kinds := map[string]bool{}, r.readKinds()
	for _, m := range r.manifests() {
		namespaces[m.Namespace] = true
	}
	isContext := func(d *manifest.Document) bool {
		return kinds[d.Kind()] || d.Kind() == gvk.Kind{Version: "v1", Kind: "Namespace"} && namespaces[d.Name()]
	}
	var paths []string
	for path, s := range r.last.streams {
		if path != r.at.Path && !slices.Contains(r.last.context, s) && slices.ContainsFunc(s.Documents(), isContext) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return w.relative(dir, paths)
}

// readKinds returns the kinds of params, and that of ConfigMaps if policies of Kyverno may read them, but never
// that of Secrets.
func (r *refactorer) readKinds() map[gvk.Kind]bool {
	kinds := map[gvk.Kind]bool{}
	for _, s := range r.last.streams {
		for _, d := range s.Documents() {
			if !engine.IsPolicy(d.Kind()) {
				continue
			}
			if strings.HasSuffix(d.Kind().Group, "kyverno.io") {
				kinds[gvk.Kind{Version: "v1", Kind: "ConfigMap"}] = true
			}
			if k := gvk.Parse(d.TextAt("spec", "paramKind", "apiVersion"), d.TextAt("spec", "paramKind", "kind")); !redact.IsSecretKind(k.Kind) {
				kinds[k] = true
			}
		}
	}
	delete(kinds, gvk.Kind{})
	return kinds
}

// relative returns paths relative to a directory, each once.
func (w *testWriter) relative(dir string, paths []string) (all []any) {
	for _, path := range paths {
		name, err := filepath.Rel(input.RealPath(dir), input.RealPath(path))
		if name = filepath.ToSlash(name); err == nil && !slices.Contains(all, any(name)) {
			all = append(all, name)
		}
	}
	return all
}

// expectations returns what a run did to the object, and which other objects it denied.
func (w *testWriter) expectations(r *testRun) ([]any, error) {
	var all []any
	said := r.run.bySubject()
	secrets := r.run.secrets(&r.config)
	for _, m := range r.run.outcome.Manifests {
		entry := map[string]any{"object": m.ID}
		for _, d := range said[m.ID] {
			if isDenial(d) && entry["denied"] == nil {
				entry["denied"] = firstLine(d.Text())
			}
		}
		switch {
		case m.ID != w.id && entry["denied"] == nil:
			continue
		case m.ID == w.id:
			w.expect(entry, m)
			if m.Sensitive {
				return nil, errSecretTest
			}
		}
		if secrets.Holds(entry) {
			return nil, errSecretTest
		}
		if !slices.ContainsFunc(all, func(other any) bool { return change.Equal(other, entry) }) { // of another object with its name
			all = append(all, entry)
		}
	}
	return all, nil
}

// expect adds what a run did to the object, unless it was denied.
func (w *testWriter) expect(entry map[string]any, m *engine.Manifest) {
	if len(m.Audit) > 0 {
		annotations := map[string]any{}
		for _, a := range m.Audit {
			annotations[a.Key] = a.Value
		}
		entry["auditAnnotations"] = annotations
	}
	if entry["denied"] != nil {
		return
	}
	before, after := m.Document.Text()
	was, _ := manifest.Value(before)
	is, err := manifest.Value(after)
	if fields := map[string]any{}; err == nil && m.Document.Changed() {
		differing(was, is, nil, fields)
		if len(fields) > 0 {
			entry["fields"] = fields
			return
		}
	}
	entry["unchanged"] = true
}

// differing finds the fields with other values, with what they are now: null if they are gone.
func differing(was, is any, at change.Path, found map[string]any) {
	switch is := is.(type) {
	case map[string]any:
		if before, ok := was.(map[string]any); ok {
			for key, value := range is {
				differing(before[key], value, at.Key(key), found)
			}
			for key := range before {
				if _, ok := is[key]; !ok {
					found[at.Key(key).String()] = nil
				}
			}
			return
		}
	case []any:
		if before, ok := was.([]any); ok && len(before) == len(is) {
			for i := range is {
				differing(before[i], is[i], at.Index(i), found)
			}
			return
		}
	}
	if !change.Equal(was, is) {
		found[at.String()] = is
	}
}
