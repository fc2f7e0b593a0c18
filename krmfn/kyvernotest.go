package krmfn

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// kyvernoTest is the part of a kyverno-test.yaml that is about mutation, as Kyverno 1.19
// reads it.
type kyvernoTest struct {
	tester     *tester
	document   *manifest.Document
	dir, suite string
	// policies are the policies, bindings and exceptions.
	policies []*manifest.Document
	// resources are the objects that are admitted. targets are existing objects that policies
	// may change, and context are the other existing objects of the cluster.
	resources, targets, context []*manifest.Document
	values, userInfo            inputs
	// chains are the runs of the policies, by resource and operation.
	chains map[kyvernoRequest][]*kyvernoRun
	// others says that there are results that are not about mutation.
	others bool
}

// kyvernoUnreadFields are the fields of a kyverno-test.yaml that preadmit does not support.
var kyvernoUnreadFields = []string{"checks", "jsonPayload", "jsonPayloads", "httpPayloads", "envoyPayloads"}

var clusterResourceKind = gvk.Kind{Group: kyvernoContextKind.Group, Version: kyvernoContextKind.Version, Kind: "ClusterResource"}

// kyverno checks the results of a kyverno-test.yaml.
func (t *tester) kyverno(d *manifest.Document, full string) {
	object := d.Object()
	k := &kyvernoTest{tester: t, document: d, dir: filepath.Dir(full), suite: d.At(nil).File, chains: map[kyvernoRequest][]*kyvernoRun{}}
	k.policies = append(k.read(object["policies"]), k.read(object["exceptions"])...)
	k.resources, k.targets = firsts(k.read(object["resources"])), firsts(k.read(object["targetResources"]))
	k.context = k.read(object["paramResources"])
	k.readCluster(object["clusterResources"])
	k.readContext(object["context"])
	k.readValues(object)
	k.userInfo.paths = k.pathsIn(object["userinfo"])
	for _, field := range kyvernoUnreadFields {
		if object[field] != nil {
			k.tell(source.Warningf(d.At(change.Keys(field)), "test-field", "the field %s of a %s is ignored", field, kyvernoTestFile))
		}
	}
	for _, item := range k.list(object, "results") {
		result, _ := item.value.(map[string]any)
		k.result(result, item.path)
	}
	if k.others {
		k.tell(source.Diagnostic{
			At: d.At(change.Keys("results")), Severity: source.Info, Code: "test-other-results",
			Message: "results that are not about mutation are not run",
		})
	}
}

func (k *kyvernoTest) tell(diagnostics ...source.Diagnostic) {
	k.tester.diagnostics = append(k.tester.diagnostics, diagnostics...)
}

// firsts returns the documents without later documents of the same object.
func firsts(documents []*manifest.Document) []*manifest.Document {
	type identity struct{ group, kind, namespace, name string }
	seen := map[identity]bool{}
	return slices.DeleteFunc(documents, func(d *manifest.Document) bool {
		id := identity{d.Kind().Group, d.Kind().Kind, namespaceOf(d), d.Name()}
		again := seen[id]
		seen[id] = true
		return again
	})
}

// namespaceOf returns the namespace of an object; "default" if it is empty, like Kyverno's
// command.
func namespaceOf(d *manifest.Document) string { return cmp.Or(d.Namespace(), "default") }

// item is an item of a list, and its path.
type item struct {
	path  change.Path
	value any
}

// list returns the items of the list at a path.
func (k *kyvernoTest) list(object map[string]any, keys ...string) []item {
	value, _ := change.Keys(keys...).Get(object)
	values, _ := value.([]any)
	items := make([]item, len(values))
	for i, value := range values {
		items[i] = item{change.Keys(keys...).Index(i), value}
	}
	return items
}

func stringsOf(value any) []string {
	list, _ := value.([]any)
	var texts []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// pathsIn returns the path that a value names; nil if it is not a string.
func (k *kyvernoTest) pathsIn(value any) []path {
	if name, ok := value.(string); ok && name != "" {
		return []path{{name: name, base: k.dir}}
	}
	return nil
}

func (k *kyvernoTest) add(name, failure string) {
	k.tester.cases = append(k.tester.cases, report.Case{Suite: k.suite, Name: name, Failure: failure})
}

// read reads the documents in the files that a list names.
func (k *kyvernoTest) read(value any) []*manifest.Document {
	f := k.tester.process.files(&k.tester.config)
	set := f.set()
	for _, name := range stringsOf(value) {
		set.addAll([]path{{name: name, base: k.dir}})
	}
	var documents []*manifest.Document
	for _, s := range set.parse() {
		documents = append(documents, s.Documents()...)
	}
	k.tell(f.diagnostics...)
	return documents
}

// readContext reads a Context of Kyverno's command: objects of the cluster, and the answers of
// image registries.
func (k *kyvernoTest) readContext(value any) {
	for _, d := range k.read([]any{value}) {
		if d.Kind() != kyvernoContextKind {
			k.tell(source.Errorf(d.At(nil), "test-field", "the field context of a %s names a document of apiVersion %q and kind %q", kyvernoTestFile, d.Kind().APIVersion(), d.Kind().Kind).
				With("expected a " + kyvernoContextKind.APIVersion() + " " + kyvernoContextKind.Kind))
			continue
		}
		k.context = append(k.context, d)
	}
}

// readCluster reads ClusterResources, which contain objects and names of files with
// CustomResourceDefinitions. Other documents are objects of the cluster.
func (k *kyvernoTest) readCluster(value any) {
	for _, d := range k.read(value) {
		if d.Kind() != clusterResourceKind {
			k.context = append(k.context, d)
			continue
		}
		for _, item := range k.list(d.Object(), "spec", "resources") {
			object, ok := item.value.(map[string]any)
			if !ok || object["apiVersion"] == nil || object["kind"] == nil {
				k.tell(source.Errorf(d.At(item.path), "test-field", "expected an object with apiVersion, kind and a name"))
				continue
			}
			k.context = append(k.context, streamOf(d, item.path, object).Documents()...)
		}
		definitions, _ := change.Keys("spec", "crds").Get(d.Object())
		k.context = append(k.context, k.read(definitions)...)
	}
}

// streamOf returns a stream for an object inside of a document. Its positions are positions in
// that document.
func streamOf(d *manifest.Document, in change.Path, object map[string]any) *manifest.Stream {
	at := func(p change.Path) source.Position { return d.At(slices.Concat(in, p)) }
	return manifest.Made(d.At(in).File, "", object, at)
}

// kyvernoAnswers are the fields of a test that Values have, too. They hold answers of API calls.
var kyvernoAnswers = []string{"apiCallResponses", "globalContextEntries"}

// readValues reads the values. Values in the test win over values in a file.
func (k *kyvernoTest) readValues(object map[string]any) {
	inline, ok := object["values"].(map[string]any)
	var namespaces []map[string]any
	if ok {
		values := maps.Clone(inline)
		values["apiVersion"], values["kind"] = kyvernoContextKind.APIVersion(), "Values"
		k.values.inline = append(k.values.inline, streamOf(k.document, change.Keys("values"), values))
		namespaces = append(namespaces, inline)
	} else {
		k.values.paths = k.pathsIn(object["variables"])
		for _, d := range k.read([]any{object["variables"]}) {
			namespaces = append(namespaces, d.Object())
		}
	}
	answers := map[string]any{"apiVersion": kyvernoContextKind.APIVersion(), "kind": "Values"}
	for _, field := range kyvernoAnswers {
		if object[field] != nil {
			answers[field] = k.resolved(object[field])
		}
	}
	k.values.inline = append(k.values.inline, streamOf(k.document, nil, answers))
	for _, values := range namespaces {
		k.addNamespaces(values)
	}
}

// resolved returns entries of the global context with the objects of the files that they name.
func (k *kyvernoTest) resolved(value any) any {
	entries, _ := value.([]any)
	entries = slices.Clone(entries)
	for i, value := range entries {
		entry, _ := value.(map[string]any)
		names, ok := entry["resourceFiles"]
		if !ok {
			continue
		}
		entry = maps.Clone(entry)
		delete(entry, "resourceFiles")
		var objects []any
		for _, d := range k.read(names) {
			objects = append(objects, d.Object())
		}
		entry["resources"], entries[i] = objects, entry
	}
	return entries
}

// addNamespaces adds the namespaces in values to the context if they are not there yet. All
// policy languages see them.
func (k *kyvernoTest) addNamespaces(values map[string]any) {
	known := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(k.resources, k.context), func(d *manifest.Document) bool {
			return d.Kind() == gvk.Kind{Version: "v1", Kind: "Namespace"} && d.Name() == name
		})
	}
	add := func(name, metadata any) {
		text, _ := name.(string)
		if text == "" || known(text) {
			return
		}
		object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
		k.context = append(k.context, streamOf(k.document, nil, object).Documents()...)
	}
	for _, item := range k.list(values, "namespaces") {
		metadata, _ := change.Keys("metadata").Get(item.value)
		fields, _ := metadata.(map[string]any)
		add(fields["name"], fields)
	}
	for _, item := range k.list(values, "namespaceSelector") {
		fields, _ := item.value.(map[string]any)
		add(fields["name"], map[string]any{"name": fields["name"], "labels": fields["labels"]})
	}
}

// isPolicyItself reports whether a document is a policy, not a binding or an exception.
func isPolicyItself(d *manifest.Document) bool {
	return engine.IsPolicy(d.Kind()) && !strings.HasSuffix(d.Kind().Kind, "Binding") && d.Kind().Kind != "PolicyException"
}
